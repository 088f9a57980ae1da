"""Dry runs of the Slurm scripts, with stand-ins for Slurm, vLLM and scholareval: `python test_slurm.py`, or pytest.

What Slurm itself does (queueing, signals at the time limit) is not tested here; shellcheck runs where it is installed.
"""

import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
JUDGE, SCORE, FINISH = (
    str(HERE / name) for name in ("judge_server.sbatch", "score_array.sbatch", "merge_and_finish.sh")
)

# Each stand-in writes down how it was called. A cache is a text with a reply a line.
STANDS = {
    "srun": """
        log("srun", words)
        os.execvp(words[1], words[1:])
    """,
    "scontrol": """
        log("scontrol", words)
    """,
    "vllm": """
        import http.server, signal
        log("vllm", words, os.environ.get("VLLM_API_KEY"))
        if "--broken" in words:
            sys.exit(9)
        class Handler(http.server.BaseHTTPRequestHandler):
            asked = 0
            def do_GET(self):
                # loading, the first two times
                Handler.asked += 1
                self.send_response(200 if Handler.asked > 2 else 503)
                self.end_headers()
            def log_message(self, *_): pass
        def end(*_):
            log("vllm ended", [])
            os._exit(0)
        signal.signal(signal.SIGTERM, end)
        http.server.HTTPServer(("0.0.0.0", int(words[words.index("--port") + 1])), Handler).serve_forever()
    """,
    "scholareval": """
        import signal, time
        option = lambda name: words[words.index(name) + 1]
        if words[:2] == ["cache", "merge"]:
            sources, into = words[2:words.index("--into")], option("--into")
            lines = []
            for path in [into, *sources]:
                if os.path.exists(path):
                    lines += [line for line in open(path).read().splitlines() if line not in lines]
            open(into, "w").write("".join(line + "\\n" for line in lines))
            log("merge", words)
            sys.exit(0)
        log("score", words, os.environ.get("SCHOLAREVAL_JUDGE_KEY"), os.environ.get("NO_PROXY"))
        with open(option("--cache"), "a") as cache:
            cache.write("reply " + (option("--slice") if "--slice" in words else "all") + "\\n")
        log("cache", [line.strip() for line in open(option("--cache"))])
        if os.environ.get("STAND_WAL"):
            open(option("--cache") + "-wal", "w").write("rest")
        if os.environ.get("STAND_WAITS"):
            def stop(*_):
                # a moment later, as one that lets its calls end
                time.sleep(0.5)
                os._exit(7)
            signal.signal(signal.SIGTERM, stop)
            log("waiting", [])
            time.sleep(60)
        sys.exit(int(os.environ.get("STAND_CODE", "0")))
    """,
}
HEAD = f"""#!{sys.executable}
import json, os, sys
words = sys.argv[1:]
def log(*what):
    with open(os.environ["STAND_LOG"], "a") as file:
        file.write(json.dumps(what) + "\\n")
"""


class SlurmTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        self.judge = self.root / "shared folder" / "judge"
        stands = self.root / "bin"
        stands.mkdir()
        for name, body in STANDS.items():
            lines = [line.removeprefix("        ") for line in body.splitlines()]
            (stands / name).write_text(HEAD + "\n".join(lines) + "\n")
            (stands / name).chmod(stat.S_IRWXU)
        (self.root / "local").mkdir()
        self.environment = {
            "PATH": f"{stands}:{os.environ['PATH']}", "HOME": str(self.root), "TMPDIR": str(self.root / "local"),
            "STAND_LOG": str(self.root / "log"), "JUDGE_DIR": str(self.judge), "JUDGE_POLL_SECONDS": "0.1",
            "no_proxy": "localhost", "OPENAI_API_KEY": "sk-not-for-this-judge",
        }  # fmt: skip

    def log(self, *names):
        path = self.root / "log"
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [line for line in lines if line[0] in names]

    def start(self, script, *words, **more):
        process = subprocess.Popen(
            ["bash", script, *words], env=self.environment | more, text=True, cwd=self.root,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        return process

    def finish(self, process, code):
        out, told = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, out + told)
        return out + told

    def until(self, there, process):
        for _ in range(600):
            if there():
                return
            self.assertIsNone(process.poll(), "the script ended")
            time.sleep(0.05)
        self.fail("it took too long")

    def slice(self, number, *, count=2, **more):
        task = {"SLURM_JOB_ID": f"90{number}", "SLURM_ARRAY_JOB_ID": "90", "SLURM_ARRAY_TASK_ID": str(number)}
        array = {"SLURM_ARRAY_TASK_COUNT": str(count), "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": str(count)}
        return self.start(SCORE, "answers", "--tests", "t.json", "--model", "m", **(task | array | more))

    def judge_is_there(self, url="http://gpu1:8000/v1"):
        (self.judge / "servers").mkdir(parents=True, exist_ok=True)
        (self.judge / "servers" / "77").write_text(url + "\n")
        (self.judge / "key").write_text("judge-key")

    def test_the_judge_tells_its_address_when_it_is_ready_and_takes_it_back_at_the_end(self):
        process = self.start(JUDGE, "org/model", "--max-model-len", "99", SLURM_JOB_ID="77")
        address = self.judge / "servers" / "77"
        self.until(address.exists, process)
        url = address.read_text().strip()
        self.assertRegex(url, r"^http://[^/ ]+:\d+/v1$")
        port = url.split(":")[2].removesuffix("/v1")
        serve = ["serve", "org/model", "--host", "0.0.0.0", "--port", port, "--max-model-len", "99"]
        key = (self.judge / "key").read_text()
        self.assertEqual(self.log("vllm"), [["vllm", serve, key]])
        self.assertEqual(self.log("srun"), [["srun", ["--ntasks=1", "vllm", *serve]]])
        # 24 bytes as hexadecimal digits, for the owner alone
        self.assertRegex(key, r"^[0-9a-f]{48}$")
        self.assertEqual(stat.S_IMODE((self.judge / "key").stat().st_mode), 0o600)
        process.send_signal(signal.SIGTERM)
        self.finish(process, 143)
        self.assertEqual(self.log("vllm ended"), [["vllm ended", []]])
        self.assertEqual(sorted(path.name for path in self.judge.iterdir()), ["key", "servers"])
        self.assertEqual(list((self.judge / "servers").iterdir()), [])

    def test_a_judge_that_cannot_start_says_so_and_leaves_no_address(self):
        told = self.finish(self.start(JUDGE, "org/model", "--broken", SLURM_JOB_ID="78"), 4)
        self.assertIn("vllm ended with exit code 9 before it was ready", told)
        self.assertEqual(list((self.judge / "servers").iterdir()), [])
        self.assertIn("usage:", self.finish(self.start(JUDGE, SLURM_JOB_ID="78"), 2))

    def test_slices_then_the_final_run_over_all_replies(self):
        self.judge_is_there()
        (self.judge / "servers" / "76").write_text("http://gpu0:8000/v1\n")
        for number in (1, 2):
            self.assertIn(f"slice {number} of 2: exit code 0", self.finish(self.slice(number), 0))
        urls = ["http://gpu0:8000/v1", "http://gpu1:8000/v1"]
        for number, (_, words, key, direct) in enumerate(self.log("score"), 1):
            self.assertEqual(words[:5], ["score", "answers", "--tests", "t.json", "--model"])
            options = dict(zip(words[4::2], words[5::2], strict=True))
            cache = options.pop("--cache")
            self.assertTrue(cache.startswith(str(self.root / "local")), "the cache lies on a local disk")
            self.assertEqual(options, {
                "--model": "m", "--slice": f"{number}/2", "--base-url": ",".join(urls), "--wait-server": "20m",
                "--time-limit": "230m", "--out": str(self.judge / f"run-{number}"),
                "--api-key-env": "SCHOLAREVAL_JUDGE_KEY",
            })  # fmt: skip
            self.assertEqual((key, direct), ("judge-key", "localhost,gpu0,gpu1"))
        self.assertEqual(list((self.root / "local").iterdir()), [], "nothing stays on the node")
        self.assertEqual(self.log("scontrol"), [])
        # the judge may be gone by now
        shutil.rmtree(self.judge / "servers")
        self.finish(self.start(FINISH, "answers", "--tests", "t.json", "--model", "m"), 0)
        words = self.log("score")[2][1]
        self.assertEqual(words[words.index("--base-url") + 1], ",".join(urls))
        self.assertNotIn("--slice", words)
        replies = (self.judge / "all.sqlite").read_text().splitlines()
        self.assertEqual(sorted(replies), ["reply 1/2", "reply 2/2", "reply all"])
        self.assertEqual(list((self.root / "local").iterdir()), [])

    def test_a_signal_stops_a_slice_keeps_its_replies_and_queues_it_again(self):
        self.judge_is_there()
        process = self.slice(2, STAND_WAITS="1")
        self.until(lambda: self.log("waiting"), process)
        process.send_signal(signal.SIGTERM)
        self.assertIn("stopped early", self.finish(process, 7))
        self.assertEqual(self.log("scontrol"), [["scontrol", ["requeue", "90_2"]]])
        self.assertEqual((self.judge / "slice-2.sqlite").read_text(), "reply 2/2\n")
        self.assertFalse((self.judge / "slice-2.done").exists())
        self.assertIn("not done: slice 1,2 of 2", self.finish(self.start(FINISH, "answers"), 3))
        # the next time it begins with what it had
        self.finish(self.slice(2), 0)
        self.assertEqual(self.log("cache")[-1], ["cache", ["reply 2/2", "reply 2/2"]])
        self.assertEqual((self.judge / "slice-2.done").read_text(), "0\n")

    def test_a_slice_that_reached_its_time_limit_is_queued_again_and_one_that_spent_its_budget_is_not(self):
        self.judge_is_there()
        self.finish(self.slice(1, STAND_CODE="7", SCORE_MINUTES="0"), 7)
        self.assertEqual(len(self.log("scontrol")), 1)
        # long before its 230 minutes
        self.assertIn("by a budget as it seems", self.finish(self.slice(1, STAND_CODE="7"), 7))
        (self.judge / "stop").touch()
        self.assertIn("not queued again because of", self.finish(self.slice(1, STAND_CODE="7", SCORE_MINUTES="0"), 7))
        self.assertEqual(len(self.log("scontrol")), 1)

    def test_a_lost_judge_is_tried_again_three_times_and_bad_input_never(self):
        self.judge_is_there()
        for queued, code in ((1, 7), (2, 7), (3, 7), (3, 4)):
            self.finish(self.slice(1, STAND_CODE="4"), code)
            self.assertEqual(len(self.log("scontrol")), queued)
        self.finish(self.slice(1, STAND_CODE="3"), 3)
        self.assertEqual(len(self.log("scontrol")), 3)
        # the count begins anew: a judge was there in between
        self.finish(self.slice(1, STAND_CODE="4"), 7)
        self.assertFalse((self.judge / "slice-1.done").exists())

    def test_a_slice_with_too_many_unscored_is_done_and_keeps_its_exit_code(self):
        self.judge_is_there()
        self.finish(self.slice(1, STAND_CODE="5"), 5)
        self.assertEqual((self.judge / "slice-1.done").read_text(), "5\n")

    def test_replies_are_copied_while_it_runs_and_also_where_the_process_was_killed(self):
        self.judge_is_there()
        process = self.slice(1, STAND_WAITS="1", SCORE_SAVE_EVERY="0.1")
        self.until((self.judge / "slice-1.sqlite").exists, process)
        process.send_signal(signal.SIGTERM)
        self.finish(process, 7)
        merges = len(self.log("merge"))
        self.assertGreater(merges, 0)
        # a log beside the file: the copy is SQLite's
        self.finish(self.slice(2, STAND_CODE="137", STAND_WAL="1"), 137)
        self.assertEqual(len(self.log("merge")), merges + 1)
        self.assertEqual((self.judge / "slice-2.sqlite").read_text(), "reply 2/2\n")

    def test_one_slice_alone_keeps_the_number_of_slices(self):
        self.judge_is_there()
        alone = {"SLURM_ARRAY_TASK_MIN": "2", "SLURM_ARRAY_TASK_MAX": "2"}
        self.assertIn("type --array=1-8", self.finish(self.slice(2, count=1, **alone), 2))
        self.finish(self.slice(1, count=4), 0)
        self.finish(self.slice(2, count=1, **alone), 0)
        words = self.log("score")[-1][1]
        self.assertEqual(words[words.index("--slice") + 1], "2/4")
        self.assertIn("was begun with 4 slices", self.finish(self.slice(5, count=9), 2))
        self.assertIn("slice 3,4 of 4", self.finish(self.start(FINISH, "answers"), 3))

    def test_without_a_judge_a_slice_says_what_to_start(self):
        self.assertIn("start one with judge_server.sbatch", self.finish(self.slice(1, SCORE_WAIT_URL="0"), 4))
        self.assertIn("no slices in", self.finish(self.start(FINISH, "answers", JUDGE_DIR=str(self.root)), 3))

    def test_the_scripts_are_clean(self):
        checker = shutil.which("shellcheck") or shutil.which(
            "shellcheck", path=str(pathlib.Path(sys.executable).parent)
        )
        for script in (JUDGE, SCORE, FINISH):
            self.assertEqual(subprocess.run(["bash", "-n", script], check=False).returncode, 0)
        if checker is None:
            print("skipped: no shellcheck; bash .ci/ray-venv installs it", file=sys.stderr)
            return
        done = subprocess.run(
            [checker, "-s", "bash", JUDGE, SCORE, FINISH], capture_output=True, text=True, check=False
        )
        self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()
