"""Tests of ray_batch.py on a Ray cluster of two workers, against a fake server: `python test_ray_batch.py`, or pytest.

Needs ray (`.ci/ray-venv` installs it); without, what runs on a cluster is skipped and says so.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
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

from fake_openai import Folder, request

KEY = "sk-test-0123456789"
CONCURRENCY = 8

# Stands for vLLM's server.
ENGINE = """
import json, os, sys, time
import fake_openai
words = sys.argv[1:]
given = dict(zip(words[:6:2], words[1:6:2]))
server = fake_openai.FakeServer(latency=0.05, port=int(given["--port"]))
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
    unittest.main()
