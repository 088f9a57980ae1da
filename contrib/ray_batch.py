#!/usr/bin/env python3
"""Runs OpenAI Batch requests on a Ray cluster, against a server or against vLLM started in the workers.

    pip install ray
    python ray_batch.py requests.jsonl --out results.jsonl --base-url http://judge:8000/v1
    python ray_batch.py requests.jsonl --out results.jsonl --model openai/gpt-oss-20b

Each input line is {custom_id, method: "POST", url: "/v1/chat/completions" or "/v1/completions", body}; each line of
--out is {id, custom_id, response: {status_code, request_id, body}, error}, one for each request, in any order. What
--out holds already is not asked again, so the same command goes on after any stop; a worker that dies loses only what
was with the server at that moment, and that is asked again.

Exit codes: 0 all answered; 2 usage; 3 bad input, or an --out that cannot be written; 4 no cluster, no server, a wrong
key or a spent quota; 5 every request has its line, but some are failures; 7 stopped early. After 4 and 7 the same
command goes on.
"""

import argparse
import collections
import json
import os
import shlex
import signal
import socket
import sys
import time
import urllib.parse

import ray_batch_worker as worker
from ray_batch_files import Requests, Results, Stop, tell

GRACE_SECONDS = 20
# A request whose workers died so often is given up; so is the run after so many deaths without a result in between.
DEATHS_OF_A_REQUEST = 5
DEATHS_IN_A_ROW = 20
# So many refusals in a row (no server, wrong key) do not concern single requests.
REFUSALS_IN_A_ROW = 20


# --- the run ---------------------------------------------------------------------------------------------------------


class Seat:
    """A place for one worker: an actor that Ray starts again, here or elsewhere, when its process dies."""

    def __init__(self, make):
        self.make = make
        self.actor = make()
        self.greeting = None  # what `hello` will return, while it is not known that the worker is there
        self.ready = False
        self.failures = 0
        self.life = 0  # goes up with each death, so that what two chunks tell of one death counts once
        self.greet_after = 0.0
        self.running = 0


class Run:
    """Hands chunks to the workers and takes their results, until every request has one."""

    def __init__(self, ray, requests, results, seats, chunk):
        self.ray, self.requests, self.results, self.chunk = ray, requests, results, chunk
        self.seats = seats
        self.running = {}  # generator of a chunk -> (seat, its life, custom_ids without a result)
        self.deaths = collections.Counter()
        self.deaths_in_a_row = 0
        self.held, self.answered = [], 0
        self.stopped_at = None
        self.chunks = 0
        self.todo = [name for name in requests.places if name not in results.done]
        self.todo.reverse()
        self.alone = []  # requests whose worker died twice: each gets a chunk of its own

    def go(self):
        told = time.monotonic()
        while self.todo or self.alone or self.running:
            self.hand_out()
            if self.stopped_at is not None and (not self.running or time.monotonic() > self.stopped_at + GRACE_SECONDS):
                raise Stop(7, "stopped; the same command goes on")
            greetings = {seat.greeting: seat for seat in self.seats if seat.greeting is not None}
            waiting = [*self.running, *greetings]
            if not waiting:
                time.sleep(0.1)
                continue
            # all that is there, or whatever comes within half a second
            ready, _ = self.ray.wait(waiting, num_returns=1, timeout=0.5)
            for one in ready:
                if one in greetings:
                    self.greet(greetings[one])
                else:
                    self.take(one)
            if time.monotonic() > told + 10:
                told = time.monotonic()
                self.progress()
        if self.held and not self.answered:
            raise self.no_server()
        self.results.add(self.held)

    def progress(self):
        done = sum(name in self.results.done for name in self.requests.places)
        ready = sum(seat.ready for seat in self.seats)
        note = "" if ready else "; waiting for Ray to start a worker (`ray status` shows what the cluster is missing)"
        tell(f"{done} of {len(self.requests.places)} requests done, {ready} of {len(self.seats)} workers ready{note}")

    def hand_out(self):
        now = time.monotonic()
        for seat in self.seats:
            if not seat.ready and seat.greeting is None and now >= seat.greet_after and self.stopped_at is None:
                seat.greeting = seat.actor.hello.remote()
            # a second chunk waits in the worker, so that its threads never do
            while seat.ready and seat.running < 2 and (self.todo or self.alone) and self.stopped_at is None:
                names = [self.alone.pop()] if self.alone else [self.todo.pop() for _ in self.todo[-self.chunk :]]
                lines = [self.requests.read(name) for name in names]
                # neighbours in the file often begin with the same text: a chunk stays with one server
                generator = seat.actor.run.options(num_returns="streaming").remote(self.chunks, lines)
                self.chunks += 1
                self.running[generator] = (seat, seat.life, dict.fromkeys(names))
                seat.running += 1

    def greet(self, seat):
        greeting, seat.greeting = seat.greeting, None
        try:
            fault = self.ray.get(greeting)
        except self.ray.exceptions.RayError as error:
            self.lost(seat, error)
            return
        if fault:
            raise Stop(4, f"a worker cannot start: {fault}")
        seat.ready, seat.failures = True, 0

    def take(self, generator):
        seat, life, names = self.running[generator]
        try:
            items = self.ray.get(next(generator))
        except StopIteration:
            self.leave(generator)
            # left over when the run is stopping only
            self.todo.extend(reversed(names))
            return
        except self.ray.exceptions.RayError as error:
            self.leave(generator)
            for name in reversed(names):
                self.again(name)
            if life == seat.life:
                self.lost(seat, error)
            return
        for name, _, _ in items:
            names.pop(name, None)
        self.keep(items)

    def leave(self, generator):
        seat, _, _ = self.running.pop(generator)
        seat.running -= 1

    def again(self, name):
        self.deaths[name] += 1
        if self.deaths[name] >= DEATHS_OF_A_REQUEST:
            what = f"{DEATHS_OF_A_REQUEST} workers died while they had this request"
            self.results.add([(name, json.dumps(worker.failure(name, "worker_died", what)), "failed")])
        elif self.deaths[name] >= 2:
            self.alone.append(name)
        else:
            self.todo.append(name)

    def lost(self, seat, error):
        """A worker died, or is not back yet."""
        if seat.ready:
            tell(f"note: a worker died ({type(error).__name__}); what it had is asked again")
        seat.ready = False
        if isinstance(error, self.ray.exceptions.ActorDiedError):
            # Ray has given that one up
            seat.actor = seat.make()
        seat.life += 1
        seat.failures += 1
        seat.greet_after = time.monotonic() + min(5.0, 0.5 * 2**seat.failures)
        self.deaths_in_a_row += 1
        if self.deaths_in_a_row >= DEATHS_IN_A_ROW + len(self.seats):
            raise Stop(4, f"workers die and give no result: {str(error)[:500]}")

    def keep(self, items):
        """Writes results. Refusals wait for another answer: it shows that they are matters of single requests."""
        if not items:
            return
        self.deaths_in_a_row = 0
        self.held += [item for item in items if item[2] == "refused"]
        others = [item for item in items if item[2] != "refused"]
        if others:
            self.answered += len(others)
            self.results.add(self.held + others)
            self.held = []
        elif len(self.held) >= REFUSALS_IN_A_ROW:
            raise self.no_server()

    def no_server(self):
        line = json.loads(self.held[-1][1])
        error = line["error"]
        if error is None:
            error = line["response"]["body"].get("error")
            error = {
                "code": line["response"]["status_code"],
                "message": error["message"] if isinstance(error, dict) and "message" in error else error,
            }
        what = f"{error['code']}: {str(error['message'])[:300]}"
        kept = "nothing is written of them, the same command goes on"
        return Stop(4, f"the last {len(self.held)} requests were all refused ({what}); {kept}")

    def stop(self, *_):
        """A signal: what is with the server may finish, nothing else is asked. A second one ends at once."""
        if self.stopped_at is not None:
            os._exit(7)
        self.stopped_at = time.monotonic()
        tell(f"stopping: calls that are with the server get up to {GRACE_SECONDS} s")
        for seat in self.seats:
            if seat.ready:
                seat.actor.stop.remote()


# --- the command line ------------------------------------------------------------------------------------------------


def base_urls(text):
    urls = []
    for one in filter(None, (part.strip() for part in text.split(","))):
        url = one if "://" in one else f"http://{one}"
        try:
            parts = urllib.parse.urlsplit(url)
            right = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            right = False
        if not right or parts.query or parts.fragment:
            raise argparse.ArgumentTypeError("expected addresses such as http://host:8000/v1, divided by commas")
        if parts.username is not None or parts.password is not None:
            raise argparse.ArgumentTypeError(
                "an address must hold no password; --api-key-env names a variable with the key"
            )
        urls.append(url.rstrip("/") if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/v1")
    if not urls:
        raise argparse.ArgumentTypeError("expected at least one address")
    return urls


def above(kind, least):
    def parse(text):
        value = kind(text)
        if not least <= value < float("inf"):
            raise ValueError(text)
        return value

    parse.__name__ = f"{'whole number' if kind is int else 'number'} from {least}"
    return parse


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("inputs", nargs="+", metavar="INPUT", help="files of requests, JSON lines")
    add("--out", required=True, metavar="FILE", help="results, appended as they come; what is there is not asked again")
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument(
        "--base-url", type=base_urls, metavar="URL[,URL..]", help="OpenAI-compatible servers of one model"
    )
    place.add_argument("--model", metavar="PATH", help="let each worker start vLLM with this model (name or folder)")
    add(
        "--address",
        default="auto",
        help="Ray cluster: auto (RAY_ADDRESS, or on this machine), HOST:PORT, or local: start one here [%(default)s]",
    )
    add(
        "--workers",
        type=above(int, 1),
        metavar="N",
        help="[with --base-url one a node, with --model as many as the GPUs allow]",
    )
    add(
        "--concurrency",
        type=above(int, 1),
        default=32,
        metavar="M",
        help="calls in flight in each worker [%(default)s]",
    )
    add(
        "--api-key-env",
        default="OPENAI_API_KEY",
        metavar="NAME",
        help="variable, here, that holds the key; it is handed to the workers [%(default)s]",
    )
    add(
        "--retries",
        type=above(int, 0),
        default=8,
        metavar="N",
        help="after 408, 409, 425, 429, 5xx, time-outs and broken connections [%(default)s]",
    )
    add(
        "--timeout",
        type=above(float, 0.1),
        default=600,
        metavar="SECONDS",
        help="longest time for one request [%(default)s]",
    )
    add("--retry-failed", action="store_true", help="drop the failures that --out holds, and ask them again")
    add(
        "--gpus-per-worker",
        type=above(float, 0),
        default=1,
        metavar="N",
        help="with --model: what Ray reserves [%(default)s]",
    )
    add(
        "--engine-args",
        type=shlex.split,
        default=[],
        metavar="WORDS",
        help='with --model: options for vLLM\'s server, as one text (--engine-args="--max-model-len 16384")',
    )
    add(
        "--engine-wait",
        type=above(float, 1),
        default=1800,
        metavar="SECONDS",
        help="with --model: for loading it [%(default)s]",
    )
    return parser.parse_args(words)


def connect(options, workers):
    """Ray, connected to the cluster."""
    # the ways of Ray that a batch run has no use for: reports to its makers, and workers' words among ours
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as fault:
        raise Stop(4, f"no Ray here ({fault}): pip install ray") from None
    # Ray tells of dead workers on stdout
    sys.stdout = sys.stderr
    start = "start one with `ray start --head`, name it with --address, or start one here with --address local"
    address = os.environ.get("RAY_ADDRESS", "auto") if options.address == "auto" else options.address
    host, _, port = address.rpartition(":")
    if port.isdigit() and "/" not in host:
        # Ray itself would try for most of a minute
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except OSError as fault:
            raise Stop(4, f"no Ray cluster at {address} ({fault}): {start}") from None
    here = {"num_cpus": workers or 2, "include_dashboard": False} if options.address == "local" else {}
    try:
        ray.init(address=options.address, log_to_driver=False, logging_level="ERROR", **here)
    except (ConnectionError, ValueError, RuntimeError) as fault:
        raise Stop(4, f"no Ray cluster at {options.address} ({fault}): {start}") from None
    # the workers need no copy of these files
    ray.cloudpickle.register_pickle_by_value(worker)
    return ray


def api_key(name):
    key = os.environ.get(name, "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise Stop(3, f"{name}: a key has no spaces, line breaks or letters beyond ASCII; set it again")
    return key or None


def start_workers(ray, options, requests):
    setup = {
        "urls": options.base_url, "key": api_key(options.api_key_env), "timeout": options.timeout,
        "retries": options.retries, "concurrency": options.concurrency, "engine": None,
    }  # fmt: skip
    alive = [node for node in ray.nodes() if node["Alive"]]
    needs = {"num_cpus": 1, "num_gpus": 0}
    number = options.workers or len(alive)
    if options.model:
        names = [name for name in requests.models if name is not None]
        setup |= {"engine": (options.model, names, options.engine_args, options.engine_wait), "key": None}
        needs["num_gpus"] = options.gpus_per_worker
        gpus = sum(node["Resources"].get("GPU", 0) for node in alive)
        number = options.workers or max(1, int(gpus // (options.gpus_per_worker or 1)))
    # a call that a dead worker had is not Ray's to repeat: it would repeat the whole chunk
    actor = ray.remote(worker.BatchWorker).options(
        max_restarts=-1, max_task_retries=0, max_concurrency=4, scheduling_strategy="SPREAD", **needs
    )
    return [Seat(lambda: actor.remote(setup)) for _ in range(number)]


def check_models(options, requests):
    """One engine serves one model, under any name; two names in the requests may mean two."""
    if options.model and len(requests.models) > 1:
        named = ", ".join(f"{name!r} ({where})" for name, where in list(requests.models.items())[:5])
        raise Stop(3, f"the requests name several models: {named}; run each in a command of its own")


def run(options):
    requests = Requests(options.inputs)
    check_models(options, requests)
    results = Results(options.out, options.retry_failed)
    there = sum(name in results.done for name in requests.places)
    tell(f"{len(requests.places)} requests, {there} done before")
    if there < len(requests.places):
        ray = connect(options, options.workers)
        try:
            work = Run(ray, requests, results, start_workers(ray, options, requests), options.concurrency)
            for name in (signal.SIGINT, signal.SIGTERM):
                signal.signal(name, work.stop)
            work.go()
        finally:
            ray.shutdown()
    total, bad = len(requests.places), sum(results.done[name] for name in requests.places)
    tell(f"{total} requests: {total - bad} answered, {bad} failed; results in {options.out}")
    return 5 if bad else 0


def main(words=None):
    options = parse_arguments(words)
    try:
        return run(options)
    except Stop as stop:
        tell(f"error: {stop}" if stop.code != 7 else str(stop))
        return stop.code


if __name__ == "__main__":
    sys.exit(main())
