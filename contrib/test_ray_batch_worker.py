"""Tests of what ray_batch.py does without a cluster, asking and files: `python test_ray_batch_worker.py`, or pytest."""

import email.utils
import json
import pathlib
import sys
import time
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# the tests leave nothing in the clone
sys.dont_write_bytecode = True

import ray_batch
import ray_batch_files
import ray_batch_worker
from fake_openai import Folder, request

KEY = "sk-test-0123456789"


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


if __name__ == "__main__":
    # connections that are kept for the next request end with the process
    unittest.main(warnings="ignore")
