"""Tests of ray_batch.py on a Ray cluster of two workers, against a fake server: `python test_ray_batch.py`, or pytest.

Needs ray (`.ci/ray-venv` installs it); without, what runs on a cluster is skipped and says so.
"""

import collections
import email.utils
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import uuid

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
# the tests leave nothing in the clone
sys.dont_write_bytecode = True
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
# Ray hands it on to all its processes: only those are ours to kill
MARK = f"RAY_BATCH_TEST={uuid.uuid4().hex}"
os.environ.update([MARK.split("=")])

try:
    import ray
except ImportError as missing:
    ray = None
    print(f"skipped: {missing}; bash .ci/ray-venv prints a Python that has it", file=sys.stderr)

import ray_batch
import ray_batch_files
import ray_batch_worker

KEY = "sk-test-0123456789"
CONCURRENCY = 8


class FakeServer(http.server.ThreadingHTTPServer):
    """Answers with what the request's `user` asks for, and counts by prompt what was asked and what was replied."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, latency=0.0, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.latency, self.lock = latency, threading.Lock()
        self.asked, self.replied, self.keys = collections.Counter(), collections.Counter(), set()
        self.connections = 0
        self.at = {}  # so many replies -> an event
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def after(self, replies):
        return self.at.setdefault(replies, threading.Event())

    def end(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # what an idle connection gets
    timeout = 30
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        with self.server.lock:
            self.server.connections += 1

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=(), length=None):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(length or len(raw)))
        self.end_headers()
        self.wfile.write(raw)
        self.wfile.flush()

    def do_GET(self):
        self.answer(200 if self.path == "/health" else 404, {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        chat = self.path == "/v1/chat/completions"
        prompt = body["messages"][0]["content"] if chat else body["prompt"]
        server = self.server
        with server.lock:
            server.asked[prompt] += 1
            server.keys.add(self.headers["Authorization"])
            time_asked = server.asked[prompt]
        time.sleep(server.latency)
        self.play(body.get("user", "ok"), time_asked, prompt)
        with server.lock:
            server.replied[prompt] += 1
            count = sum(server.replied.values())
        if count in server.at:
            server.at[count].set()

    def play(self, fault, time_asked, prompt):
        wish, _, rest = fault.partition(" ")
        good = {"id": "x", "choices": [{"message": {"content": f"reply to {prompt}"}, "text": f"reply to {prompt}"}]}
        wrong = {"error": {"message": f"{wish} it is", "code": 7}}
        if wish == "ok" or (rest.startswith("once") and time_asked > 1):
            self.answer(200, good, [("x-request-id", f"r-{prompt}")])
        elif wish.isdigit():
            headers = [("Retry-After", rest.removeprefix("once "))] if rest.startswith("once ") else []
            self.answer(int(wish), wrong, headers)
        elif wish == "key":
            self.answer(401, {"error": {"message": f"wrong key: {self.headers['Authorization']}"}})
        elif wish == "quota":
            self.answer(429, {"error": {"message": "no money", "code": "insufficient_quota"}})
        elif wish == "html":
            self.answer(200, b"<html>busy</html>")
        elif wish == "nan":
            self.answer(200, b'{"choices": [], "logprob": -Infinity, "big": 1e999, "odd": "\\ud800 \xe2\x80\xa8"}')
        elif wish == "idle":
            # a reply, and then the end of the connection without a word
            self.answer(200, good)
            self.close_connection = True
        else:
            if wish == "cut":
                self.answer(200, good, length=5000)
            elif wish == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            self.close_connection = True


def request(name, user="ok", chat=True, **fields):
    words = {"messages": [{"role": "user", "content": name}]} if chat else {"prompt": name}
    url = "/v1/chat/completions" if chat else "/v1/completions"
    return {"custom_id": name, "method": "POST", "url": url, "body": {"model": "m", "user": user} | words | fields}


class Folder(unittest.TestCase):
    """A folder for each test, and the files in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out.jsonl"

    def write(self, requests, name="in.jsonl"):
        path = self.folder / name
        path.write_text("".join(json.dumps(one) + "\n" for one in requests), encoding="utf-8")
        return str(path)

    def lines(self):
        return [json.loads(line) for line in self.out.read_text(encoding="utf-8").splitlines()]

    def serve(self, latency=0.0):
        server = FakeServer(latency)
        self.addCleanup(server.end)
        return server


class ClientTest(Folder):
    """One request, asked until its answer is final, without a cluster. Time is told by what the client waits for."""

    def setUp(self):
        super().setUp()
        self.server = self.serve()
        self.waits = []

    def client(self, *urls, retries=3, key=None):
        client = ray_batch_worker.Client(urls or [self.server.url], key, 20, retries)
        self.now = 1000.0

        def wait(seconds):
            self.waits.append(seconds)
            self.now += seconds

        client.stopping = unittest.mock.Mock(is_set=lambda: False, wait=wait)
        for name, fake in (("time.monotonic", lambda: self.now), ("random.uniform", lambda low, high: high)):
            patch = unittest.mock.patch(f"ray_batch_worker.{name}", fake)
            patch.start()
            self.addCleanup(patch.stop)
        return client

    def ask(self, client, user, home=0):
        name = f"q-{user}-{len(self.server.asked)}"
        answer = client.ask(home, request(name, user))
        line = json.loads(answer[1])
        self.assertEqual(answer[0], name)
        self.assertEqual(set(line), {"id", "custom_id", "response", "error"})
        self.assertTrue((line["response"] is None) != (line["error"] is None), line)
        return line, answer[2], self.server.asked[name]

    def test_a_reply_becomes_a_result_line(self):
        line, kind, asked = self.ask(self.client(), "ok")
        self.assertEqual((kind, asked, line["response"]["status_code"]), ("ok", 1, 200))
        self.assertEqual(line["response"]["request_id"], f"r-{line['custom_id']}")
        self.assertEqual(line["response"]["body"]["choices"][0]["message"]["content"], f"reply to {line['custom_id']}")

    def test_retry_after_is_kept_to_by_everyone_and_then_the_waiting_come_back_spread(self):
        client = self.client()
        line, kind, asked = self.ask(client, "429 once 7")
        # 7 s, and up to 1 s more so that not all come at once
        self.assertEqual((kind, asked, self.waits), ("ok", 2, [8.0]))
        client.endpoints[0].paused_until = self.now + 3
        self.ask(client, "ok")
        self.assertEqual(self.waits, [8.0, 4.0], "another request waits, too: 3 s and 1 s")

    def test_retry_after_is_read_in_each_form(self):
        form = ray_batch_worker.retry_after
        self.assertEqual(form({"retry-after": "1.5"}), 1.5)
        self.assertEqual(form({"retry-after-ms": "250", "retry-after": "9"}), 0.25)
        self.assertEqual(form({"retry-after": "-4"}), 0.0)
        self.assertEqual(form({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}), 0.0)
        soon = email.utils.formatdate(time.time() + 500, usegmt=True)
        self.assertAlmostEqual(form({"retry-after": soon}), 500, delta=60)
        for nonsense in ({}, {"retry-after": "soon"}, {"retry-after": "nan"}):
            self.assertIsNone(form(nonsense), nonsense)

    def test_another_server_is_asked_while_one_pauses(self):
        other = self.serve()
        client = self.client(self.server.url, other.url)
        client.endpoints[0].paused_until = self.now + 60
        client.ask(0, request("moved"))
        self.assertEqual((self.server.asked["moved"], other.asked["moved"], self.waits), (0, 1, []))

    def test_a_server_that_is_gone_is_replaced_by_the_next(self):
        gone = self.serve()
        gone.end()
        line, kind, asked = self.ask(self.client(gone.url, self.server.url), "ok")
        # one failure: a wait of at most 0.5 s x 2^0
        self.assertEqual((kind, asked, self.waits), ("ok", 1, [0.5]))

    def test_overload_is_asked_again_with_growing_waits_until_the_attempts_are_used_up(self):
        for status in ("408", "429", "500", "502", "503", "529"):
            self.waits.clear()
            line, kind, asked = self.ask(self.client(retries=3), status)
            self.assertEqual((kind, asked, self.waits), ("failed", 4, [0.5, 1.0, 2.0]), status)
            self.assertEqual(line["response"]["status_code"], int(status))
            self.assertEqual(line["response"]["body"]["error"]["code"], 7)

    def test_a_wrong_request_is_asked_once_and_keeps_its_status(self):
        for status in ("400", "404", "413", "422", "501"):
            line, kind, asked = self.ask(self.client(), status)
            self.assertEqual((kind, asked, line["response"]["status_code"]), ("failed", 1, int(status)))

    def test_a_wrong_key_and_a_spent_quota_are_refusals_and_the_key_is_not_repeated(self):
        line, kind, asked = self.ask(self.client(key=KEY), "key")
        self.assertEqual((kind, asked, line["response"]["status_code"]), ("refused", 1, 401))
        self.assertEqual(self.server.keys, {f"Bearer {KEY}"})
        self.assertEqual(line["response"]["body"]["error"]["message"], "wrong key: Bearer ***")
        line, kind, asked = self.ask(self.client(), "quota")
        self.assertEqual((kind, asked, line["response"]["status_code"]), ("refused", 1, 429))

    def test_a_word_that_stands_for_no_key_changes_no_reply(self):
        line, kind, _ = self.ask(self.client(key="reply"), "ok")
        self.assertEqual(line["response"]["body"]["choices"][0]["text"], f"reply to {line['custom_id']}")

    def test_what_is_no_json_object_or_broke_off_is_asked_again_and_then_an_error(self):
        for user, code, kind in (("html", "invalid_reply", "failed"), ("cut", "unreachable", "refused"),
                                 ("reset", "unreachable", "refused"), ("close", "unreachable", "refused")):  # fmt: skip
            line, found, asked = self.ask(self.client(retries=1), user)
            self.assertEqual((line["error"]["code"], found, asked), (code, kind, 2), user)
            self.assertEqual(self.ask(self.client(), f"{user} once")[1:], ("ok", 2))

    def test_a_body_that_is_not_quite_json_becomes_json(self):
        line, kind, _ = self.ask(self.client(), "nan")
        body = line["response"]["body"]
        self.assertEqual((kind, body["logprob"], body["big"], body["odd"]), ("ok", None, None, "\ud800 \u2028"))

    def test_a_connection_is_used_again_and_replaced_when_the_server_closed_it(self):
        client = self.client()
        for _ in range(5):
            self.ask(client, "ok")
        self.assertEqual(self.server.connections, 1)
        self.ask(client, "idle")
        self.assertEqual((self.ask(client, "ok")[1:], self.server.connections), (("ok", 1), 2))
        # 1 s more than idle connections are kept
        self.now += ray_batch_worker.IDLE_SECONDS + 1
        self.assertEqual((self.ask(client, "ok")[1:], self.server.connections), (("ok", 1), 3))
        self.assertEqual(self.waits, [])

    def test_a_time_out_is_named(self):
        client = self.client(retries=0)
        client.timeout = 0.05
        self.server.latency = 1.0
        line, kind, _ = self.ask(client, "ok")
        self.assertEqual((line["error"]["code"], kind), ("timeout", "failed"))


class FilesTest(Folder):
    """What is read and written, without a cluster."""

    def fault(self, *paths):
        with self.assertRaises(ray_batch_files.Stop) as caught:
            ray_batch_files.Requests(paths)
        self.assertEqual(caught.exception.code, 3)
        return str(caught.exception)

    def test_a_custom_id_twice_is_an_error_that_names_both_lines(self):
        one, two = (
            self.write([request("a"), request("b")], "1.jsonl"),
            self.write([request("c"), request("a")], "2.jsonl"),
        )
        self.assertEqual(
            self.fault(one, two), f"{two}:2: custom_id 'a' is also in {one}:1; every request needs its own"
        )

    def test_every_bad_line_is_named_with_what_was_expected(self):
        bad = [b"{", b"[1]", b'{"custom_id": 3}', b"\xff"]
        for field, value in (("method", "GET"), ("url", "/v1/embeddings"), ("body", "x")):
            bad.append(json.dumps(request("q") | {field: value}).encode())
        bad += [json.dumps(request("s", stream=True)).encode(), json.dumps(request("m", model=["m"])).encode()]
        bad += [b'{"custom_id": "n", "body": NaN}']
        path = self.folder / "bad.jsonl"
        # the empty line 1 and line 2 are fine: a byte order mark and the ends of lines of Windows are read over
        path.write_bytes(b"\xef\xbb\xbf\r\n" + json.dumps(request("fine")).encode() + b"\r\n" + b"\n".join(bad))
        told = self.fault(str(path)).splitlines()
        self.assertEqual([line.split(":")[1] for line in told], [str(n) for n in range(3, 13)])
        for word, line in zip(
            ("", "object", "custom_id", "utf-8", "POST", "/v1/completions", "body", "stream", "model", "NaN"),
            told,
            strict=True,
        ):
            self.assertIn(word, line)

    def test_a_request_is_read_again_by_its_place(self):
        # longer than what is read ahead
        long = request("b", chat=False, stop="x" * 100_000)
        path = self.write([request("ä"), long])
        requests = ray_batch_files.Requests([path])
        self.addCleanup(requests.close)
        self.assertEqual(requests.read("b"), {k: v for k, v in long.items() if k != "method"})
        self.assertEqual(requests.read("ä")["custom_id"], "ä")
        self.write([request("x"), long])
        requests.read("b")
        with self.assertRaisesRegex(ray_batch_files.Stop, "changed while this ran"):
            requests.read("ä")

    def test_a_torn_last_line_is_cut_at_any_byte_and_whole_lines_stay(self):
        lines = [json.dumps(ray_batch_worker.result(name, 200, "r", {"text": "ü"})).encode() + b"\n" for name in "ab"]
        for cut in range(1, len(lines[1])):
            self.out.write_bytes(lines[0] + lines[1][:cut])
            with unittest.mock.patch("ray_batch_files.tell"):
                results = ray_batch_files.Results(str(self.out), False)
            results.add([("b", "{}", "ok"), ("a", "{}", "ok")])
            results.file.close()
            self.assertEqual(self.out.read_bytes(), lines[0] + b"{}\n")

    def test_a_line_that_is_no_result_is_an_error_and_stays(self):
        self.out.write_text("{}\n")
        with self.assertRaisesRegex(ray_batch_files.Stop, "out.jsonl:1: no result"):
            ray_batch_files.Results(str(self.out), False)
        self.assertEqual(self.out.read_text(), "{}\n")

    def test_two_processes_do_not_write_one_file(self):
        first = ray_batch_files.Results(str(self.out), False)
        with self.assertRaisesRegex(ray_batch_files.Stop, "another process writes it"):
            ray_batch_files.Results(str(self.out), False)
        first.file.close()

    def test_failures_are_dropped_where_they_are_to_be_asked_again(self):
        make = ray_batch_worker
        lines = [make.result("a", 200, "r", {}), make.result("b", 500, "r", {}), make.failure("c", "timeout", "t")]
        self.out.write_text("".join(json.dumps(line) + "\n" for line in lines))
        results = ray_batch_files.Results(str(self.out), True)
        self.addCleanup(results.file.close)
        self.assertEqual(results.done, {"a": False})
        self.assertEqual([line["custom_id"] for line in self.lines()], ["a"])

    def test_addresses_get_what_they_lack_and_hold_no_password(self):
        self.assertEqual(
            ray_batch.base_urls("gpu1:8000, https://h/api/v1/"), ["http://gpu1:8000/v1", "https://h/api/v1"]
        )
        for wrong in ("", "ftp://h", "http://u:p@h/v1", "http://h:x", "http://h/v1?k=v"):
            with self.assertRaises(ray_batch.argparse.ArgumentTypeError, msg=wrong):
                ray_batch.base_urls(wrong)


# Stands for vLLM's server.
ENGINE = """
import json, os, sys, time
import test_ray_batch
words = sys.argv[1:]
given = dict(zip(words[:6:2], words[1:6:2]))
server = test_ray_batch.FakeServer(latency=0.05, port=int(given["--port"]))
with open(f"FOLDER/engine.{os.getpid()}", "w") as file:
    json.dump({"words": words[6:], "model": given["--model"]}, file)
time.sleep(600)
"""


@unittest.skipIf(ray is None, "ray is not installed")
class ClusterTest(Folder):
    """The program on a cluster of its own that is there already: one node, room for two workers."""

    @classmethod
    def setUpClass(cls):
        # Ray's sockets want a short path
        temporary = tempfile.TemporaryDirectory(prefix="rb", dir="/tmp", ignore_cleanup_errors=True)
        cls.addClassCleanup(temporary.cleanup)
        # where the workers find a package `vllm`, once a test has written one
        cls.packages = pathlib.Path(temporary.name, "packages")
        cls.packages.mkdir()
        os.environ["PYTHONPATH"] = f"{cls.packages}:{HERE}"
        ray.init(
            address="local", num_cpus=2, num_gpus=2, include_dashboard=False, log_to_driver=False,
            logging_level="ERROR", object_store_memory=100_000_000, _temp_dir=temporary.name,
        )  # fmt: skip
        cls.addClassCleanup(ray.shutdown)
        cls.address = ray.get_runtime_context().gcs_address

    def start(self, *words, key="", path=None, where=None):
        environment = os.environ | {"OPENAI_API_KEY": key, "RAY_ADDRESS": self.address} | (path or {})
        return subprocess.Popen(
            [sys.executable, str(HERE / "ray_batch.py"), *words, "--out", str(self.out)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=self.folder,
        )  # fmt: skip

    def finish(self, process, code):
        self.addCleanup(process.kill)
        out, told = process.communicate(timeout=240)
        self.assertEqual((process.returncode, out), (code, ""), told)
        return told

    def batch(self, code, *words, **more):
        return self.finish(self.start(*words, "--concurrency", str(CONCURRENCY), **more), code)

    def worker_pids(self):
        """The processes of our cluster that run batches."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                ours = MARK.encode() in (folder / "environ").read_bytes().split(b"\0")
                if ours and (folder / "cmdline").read_bytes().startswith(b"ray::BatchWorker"):
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

    def assert_each_once(self, requests, replies=True):
        lines = self.lines()
        self.assertEqual(sorted(line["custom_id"] for line in lines), sorted(one["custom_id"] for one in requests))
        for line in lines if replies else ():
            self.assertIsNone(line["error"])
            self.assertEqual(line["response"]["status_code"], 200)
            choice = line["response"]["body"]["choices"][0]
            self.assertEqual(choice["text"], f"reply to {line['custom_id']}")

    def test_a_killed_worker_loses_no_request_and_nothing_is_written_twice(self):
        server = self.serve(latency=0.1)
        requests = [request(f"q{n}", chat=n % 3 > 0) for n in range(400)]
        files = [self.write(requests[:150], "1.jsonl"), self.write(requests[150:], "2.jsonl")]
        early, later = server.after(60), server.after(200)
        words = ("--base-url", server.url, "--workers", "2", "--concurrency", str(CONCURRENCY))
        process = self.start(*files, *words, key=KEY)
        for moment in (early, later):
            self.assertTrue(moment.wait(120))
            pids = self.worker_pids()
            self.assertTrue(pids)
            os.kill(pids[0], signal.SIGKILL)
        told = self.finish(process, 0)
        self.assert_each_once(requests)
        self.assertIn("a worker died", told)
        self.assertIn("400 requests: 400 answered, 0 failed", told)
        # a dead worker costs at most the two chunks that it had, a chunk being as large as its concurrency
        self.assertLessEqual(sum(server.asked.values()) - 400, 2 * 2 * CONCURRENCY)
        self.assertEqual(server.keys, {f"Bearer {KEY}"})
        self.assertNotIn(KEY, told + self.out.read_text())
        # nothing is asked, and no cluster needed, when all is there
        again = self.batch(0, *files, "--base-url", server.url, path={"RAY_ADDRESS": "127.0.0.1:1"})
        self.assertIn("400 requests, 400 done before", again)
        self.assert_each_once(requests)

    def test_a_run_that_was_killed_goes_on_behind_its_last_whole_line(self):
        server = self.serve(latency=0.1)
        requests = [request(f"q{n}", chat=False) for n in range(200)]
        file = self.write(requests)
        words = (file, "--base-url", server.url, "--workers", "2")
        process = self.start(*words, "--concurrency", str(CONCURRENCY))
        self.assertTrue(server.after(80).wait(120))
        process.kill()
        process.communicate()
        kept = len(self.out.read_bytes().splitlines())
        self.assertGreater(kept, 0)
        with open(self.out, "ab") as out:
            out.write(b'{"custom_id": "q1')
        told = self.batch(0, *words)
        self.assertIn("the last line is torn and was cut", told)
        self.assert_each_once(requests)
        # two workers with two chunks each
        self.assertLessEqual(sum(server.asked.values()) - 200, 2 * 2 * CONCURRENCY)

    def test_a_signal_ends_it_with_7_and_no_reply_is_paid_twice(self):
        server = self.serve(latency=0.1)
        requests = [request(f"q{n}", chat=False) for n in range(200)]
        words = (self.write(requests), "--base-url", server.url, "--workers", "1")
        process = self.start(*words, "--concurrency", str(CONCURRENCY))
        self.assertTrue(server.after(40).wait(120))
        process.terminate()
        self.assertIn("the same command goes on", self.finish(process, 7))
        self.assertLess(len(self.lines()), 200)
        self.batch(0, *words)
        self.assert_each_once(requests)
        self.assertEqual(sum(server.asked.values()), 200)

    def test_failures_become_lines_exit_5_and_can_be_asked_again(self):
        server = self.serve()
        users = {"a": "ok", "b": "400", "c": "500", "d": "html", "e": "429 once 0", "f": "401", "g": "reset once"}
        requests = [request(name, user, chat=False) for name, user in users.items()]
        words = (self.write(requests), "--base-url", server.url, "--workers", "2", "--retries", "1")
        self.assertIn("7 requests: 3 answered, 4 failed", self.batch(5, *words))
        self.assert_each_once(requests, replies=False)
        found = {line["custom_id"]: line for line in self.lines()}
        status = {name: (line["response"] or {}).get("status_code") for name, line in found.items()}
        self.assertEqual(status, {"a": 200, "b": 400, "c": 500, "d": None, "e": 200, "f": 401, "g": 200})
        self.assertEqual(found["d"]["error"]["code"], "invalid_reply")
        self.batch(5, *words)
        self.assertEqual(server.asked["b"], 1, "what has a line is not asked again")
        self.write([request(name, "ok", chat=False) for name in users])
        self.batch(0, *words, "--retry-failed")
        self.assert_each_once(requests)
        self.assertEqual((server.asked["a"], server.asked["b"]), (1, 2))

    def test_no_server_and_a_wrong_key_end_it_with_4_and_nothing_written(self):
        server = self.serve()
        file = self.write([request(f"q{n}", "key") for n in range(50)])
        told = self.batch(4, file, "--base-url", server.url, "--workers", "1", key=KEY)
        self.assertIn("401: wrong key: Bearer ***", told)
        # the limit, and what was on its way by then
        self.assertLessEqual(sum(server.asked.values()), 50)
        self.assertEqual(self.lines(), [])
        server.end()
        told = self.batch(4, file, "--base-url", server.url, "--workers", "1", "--retries", "0")
        self.assertIn("unreachable", told)
        self.assertEqual(self.lines(), [])

    def test_no_cluster_ends_it_with_4(self):
        file = self.write([request("q")])
        told = self.batch(4, file, "--base-url", "h", "--address", "127.0.0.1:1")
        self.assertIn("no Ray cluster at 127.0.0.1:1", told)

    def test_an_engine_that_is_not_installed_is_named(self):
        told = self.batch(4, self.write([request("q")]), "--model", "some/model", "--workers", "1")
        self.assertIn("pip install vllm", told)

    def test_an_engine_in_the_workers_answers_is_replaced_when_it_dies_and_ends_with_the_run(self):
        # vLLM needs a GPU: here is its command line and its address, and our fake server behind them
        package = self.packages / "vllm"
        self.addCleanup(shutil.rmtree, package)
        (package / "entrypoints" / "openai").mkdir(parents=True)
        for folder in (package, package / "entrypoints", package / "entrypoints" / "openai"):
            (folder / "__init__.py").touch()
        (package / "entrypoints" / "openai" / "api_server.py").write_text(ENGINE.replace("FOLDER", str(self.folder)))
        requests = [request(f"q{n}", chat=False) for n in range(200)]
        words = ("--model", "some/model", "--engine-args=--max-model-len 99", "--workers", "1", "--concurrency", "4")
        process = self.start(self.write(requests), *words, key=KEY)
        first = None
        for _ in range(600):
            # the first engine, once it has been at work
            if self.out.exists() and len(self.out.read_bytes().splitlines()) > 20:
                first = next(int(path.suffix[1:]) for path in self.folder.glob("engine.*"))
                os.kill(first, signal.SIGKILL)
                break
            time.sleep(0.1)
        self.assertIsNotNone(first)
        self.finish(process, 0)
        self.assert_each_once(requests)
        engines = {int(path.suffix[1:]): json.loads(path.read_text()) for path in self.folder.glob("engine.*")}
        self.assertEqual(len(engines), 2)
        for told in engines.values():
            self.assertEqual(told["words"], "--served-model-name m --max-model-len 99".split())
            self.assertEqual(told["model"], "some/model")
        for _ in range(600):
            left = [pid for pid in engines if pathlib.Path(f"/proc/{pid}").exists()]
            if not left:
                break
            time.sleep(0.1)
        self.assertEqual(left, [], "engines that still run")

    def test_a_key_with_a_line_break_is_refused_and_not_shown(self):
        told = self.batch(3, self.write([request("q")]), "--base-url", "h", key=f"{KEY}\n{KEY}")
        self.assertIn("OPENAI_API_KEY: a key has no", told)
        self.assertNotIn(KEY, told)

    def test_several_models_are_refused_where_one_engine_is_started(self):
        told = self.batch(3, self.write([request("q"), request("r", model="n")]), "--model", "some/model")
        self.assertIn("'n' (", told)


if __name__ == "__main__":
    # connections that are kept for the next request end with the process
    unittest.main(warnings="ignore")
