"""What ray_batch.py runs in the workers of a Ray cluster: it asks a server, or an engine of its own.

It needs the standard library only. Ray carries this module to the workers; nothing is installed there for it.
"""

import concurrent.futures
import contextlib
import email.utils
import http.client
import importlib.util
import json
import os
import queue
import random
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid

# vLLM closes idle connections after 5 s: ours end before.
IDLE_SECONDS = 4
CONNECT_SECONDS = 10
# Of replies. The longest judgement is a few hundred KB, with the probabilities of its tokens.
MAX_REPLY_BYTES = 64 * 1024 * 1024
LONGEST_PAUSE = 3600
SHORTEST_KEY = 8
# Runs a command until it ends or stdin does.
GUARD = """
import subprocess, sys, threading
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
threading.Thread(target=lambda: (sys.stdin.read(), child.terminate()), daemon=True).start()
sys.exit(child.wait())
"""


def result(name, status, request_id, body):
    response = {"status_code": status, "request_id": request_id, "body": body}
    return {"id": f"batch_req_{uuid.uuid4().hex}", "custom_id": name, "response": response, "error": None}


def failure(name, code, message):
    error = {"code": code, "message": message}
    return {"id": f"batch_req_{uuid.uuid4().hex}", "custom_id": name, "response": None, "error": error}


def finite(text):
    number = float(text)
    return number if abs(number) != float("inf") else None


def retry_after(headers):
    """Seconds that a server asks to wait, or None: `retry-after-ms`, or `Retry-After` as seconds or as a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * unit
        except ValueError:
            try:
                seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
            except (ValueError, TypeError, OverflowError):
                continue
        # "not a number" is not a time either
        if seconds == seconds:
            return max(seconds, 0.0)
    return None


class Endpoint:
    """One base URL. A pause that it asked for is felt by all threads of the worker."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.url, self.secure, self.host, self.port = url, parts.scheme == "https", parts.hostname, parts.port
        self.path = parts.path.rstrip("/")
        self.paused_until = 0.0
        self.context = ssl.create_default_context() if self.secure else None

    def connect(self, timeout):
        """An open connection, whose reads give up after `timeout` seconds."""
        if self.secure:
            connection = http.client.HTTPSConnection(
                self.host, self.port, timeout=CONNECT_SECONDS, context=self.context
            )
        else:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=CONNECT_SECONDS)
        try:
            connection.connect()
        except TimeoutError:
            raise ConnectionError(f"no connection within {CONNECT_SECONDS} s") from None
        connection.sock.settimeout(timeout)
        return connection


class Client:
    """Asks one request until its answer is final, from any number of threads."""

    def __init__(self, urls, key, timeout, retries):
        self.endpoints = [Endpoint(url) for url in urls]
        self.key, self.timeout, self.retries = key, timeout, retries
        self.stopping = threading.Event()
        self.local = threading.local()

    def ask(self, home, request):
        """(custom_id, line, kind); kind is `ok`, `failed`, or `refused` where no request may get through. None when
        the run is stopping."""
        name, last = request["custom_id"], None
        payload = json.dumps(request["body"], allow_nan=False).encode()
        for attempt in range(self.retries + 1):
            endpoint = self.choose(home)
            if endpoint is None:
                return None
            wait = None
            try:
                status, headers, raw = self.post(endpoint, request["url"].removeprefix("/v1"), payload)
            except TimeoutError:
                last, again = (failure(name, "timeout", f"no whole reply within {self.timeout:g} s"), "failed"), True
            except (OSError, http.client.HTTPException) as fault:
                # DNS, refused, reset, cut: the server may come back, or another may be there
                what = f"no reply from the server: {type(fault).__name__}: {fault}"
                last, again = (failure(name, "unreachable", what), "refused"), True
            else:
                wait = retry_after(headers)
                line, kind, again = self.read(name, status, headers, raw)
                last = (line, kind)
            if not again or attempt == self.retries or (wait or 0) > LONGEST_PAUSE:
                break
            if wait is None:
                # full jitter: replicas and threads that failed together do not come back together
                home += 1
                self.stopping.wait(random.uniform(0, min(60.0, 0.5 * 2**attempt)))
            else:
                endpoint.paused_until = max(endpoint.paused_until, time.monotonic() + wait)
        return name, json.dumps(last[0]), last[1]

    def choose(self, home):
        """The endpoint `home`, or the next that is not paused; waits where all are. None when the run is stopping."""
        while not self.stopping.is_set():
            turn = [self.endpoints[(home + k) % len(self.endpoints)] for k in range(len(self.endpoints))]
            best = min(turn, key=lambda endpoint: max(endpoint.paused_until - time.monotonic(), 0.0))
            left = best.paused_until - time.monotonic()
            if left <= 0:
                return best
            # those that waited come back one after the other, not at once
            self.stopping.wait(left + random.uniform(0, min(1.0, left)))
        return None

    def post(self, endpoint, path, payload):
        """(status, headers, body); a connection that the server closed while it was idle is replaced once."""
        connections = self.local.__dict__.setdefault("connections", {})
        connection, used = connections.pop(endpoint.url, (None, 0.0))
        if connection is not None and time.monotonic() - used > IDLE_SECONDS:
            connection.close()
            connection = None
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": "scholareval-ray-batch",
        }
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        kept = connection is not None
        while True:
            connection = connection or endpoint.connect(self.timeout)
            deadline = time.monotonic() + self.timeout
            try:
                connection.sock.settimeout(self.timeout)
                connection.request("POST", endpoint.path + path, payload, headers)
                reply = connection.getresponse()
                break
            except (ConnectionError, http.client.BadStatusLine):
                connection.close()
                if not kept:
                    raise
                connection, kept = None, False
            except BaseException:
                connection.close()
                raise
        try:
            raw = self.receive(connection, reply, deadline)
        except BaseException:
            connection.close()
            raise
        if reply.will_close:
            connection.close()
        else:
            connections[endpoint.url] = (connection, time.monotonic())
        return reply.status, reply.headers, raw

    @staticmethod
    def receive(connection, reply, deadline):
        parts, size = [], 0
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if connection.sock is not None:
                connection.sock.settimeout(left)
            part = reply.read1(65536)
            if not part:
                break
            parts.append(part)
            size += len(part)
            if size > MAX_REPLY_BYTES:
                raise http.client.HTTPException(f"a reply of more than {MAX_REPLY_BYTES} bytes")
        # `read1` ends without a word where a body is shorter than announced
        if reply.length:
            raise http.client.IncompleteRead(b"", reply.length)
        reply.close()
        return b"".join(parts)

    def read(self, name, status, headers, raw):
        """(line, kind, whether to ask again) for a reply that arrived whole."""
        text = raw.decode("utf-8", "replace")
        if status != 200 and self.key and len(self.key) >= SHORTEST_KEY:
            # servers repeat a wrong key in their answer; a short one is none, and may be a word of the answer
            text = text.replace(self.key, "***")
        try:
            body = json.loads(text, parse_constant=lambda _: None, parse_float=finite)
        except (ValueError, RecursionError):
            body = None
        again = status in (408, 409, 425, 429) or (status >= 500 and status not in (501, 505))
        if status == 200 and not isinstance(body, dict):
            return failure(name, "invalid_reply", f"status 200 without a JSON object: {text[:200]}"), "failed", True
        if not isinstance(body, dict):
            body = {"error": {"message": text[:2000], "type": "no_json", "param": None, "code": None}}
        line = result(name, status, headers.get("x-request-id") or uuid.uuid4().hex, body)
        if status == 200:
            return line, "ok", False
        spent = status == 429 and "insufficient_quota" in text
        return line, "refused" if status in (401, 403) or spent else "failed", again and not spent


class Engine:
    """vLLM's own server as a child on this machine; it ends with the worker, however that ends."""

    def __init__(self, model, names, options, wait):
        if importlib.util.find_spec("vllm") is None:
            raise ModuleNotFoundError(
                "no vllm on this node: pip install vllm on every node that has GPUs, for Ray's Python"
            )
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model, "--host", "127.0.0.1"]
        command += ["--port", str(port), *(["--served-model-name", *names] if names else []), *options]
        self.process = subprocess.Popen([sys.executable, "-c", GUARD, *command], stdin=subprocess.PIPE)
        # whoever ends the worker's process closes the pipe; an engine that ends takes the worker along: Ray starts anew
        begun = time.monotonic()
        while not self.ready(port):
            if self.process.poll() is not None:
                raise RuntimeError(
                    f"vLLM ended with exit code {self.process.returncode}; its words are in Ray's log of this worker"
                )
            if time.monotonic() - begun > wait:
                self.process.stdin.close()
                raise RuntimeError(f"vLLM was not ready within {wait:g} s; --engine-wait gives it longer")
            time.sleep(0.5)
        threading.Thread(target=lambda: (self.process.wait(), os._exit(1)), daemon=True).start()

    @staticmethod
    def ready(port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


class BatchWorker:
    """A Ray actor: threads that ask, and a generator for each chunk that gives results as they come."""

    def __init__(self, setup):
        self.fault, urls = None, setup["urls"] or []
        if setup["engine"]:
            try:
                urls = [Engine(*setup["engine"]).url]
            except (ImportError, OSError, RuntimeError) as fault:
                # told when asked: what a constructor raises reaches the other side as a page of text
                self.fault = str(fault)
        self.client = Client(urls, setup["key"], setup["timeout"], setup["retries"])
        self.threads = concurrent.futures.ThreadPoolExecutor(setup["concurrency"])

    def hello(self):
        """What keeps this worker from working, or None."""
        return self.fault

    def run(self, home, requests):
        """Gives lists of (custom_id, line, kind), each as soon as there is one; fewer when the run is stopping."""
        ready = queue.SimpleQueue()
        for request in requests:
            self.threads.submit(self.ask, home, request).add_done_callback(lambda done: ready.put(done.result()))
        left = len(requests)
        while left:
            items = [ready.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    items.append(ready.get_nowait())
            left -= len(items)
            yield [item for item in items if item is not None]

    def ask(self, home, request):
        try:
            return self.client.ask(home, request)
        except Exception as fault:  # noqa: BLE001 a fault of ours on one request must not cost the others
            name = request["custom_id"]
            return name, json.dumps(failure(name, "internal", f"{type(fault).__name__}: {fault}")), "failed"

    def stop(self):
        self.client.stopping.set()
