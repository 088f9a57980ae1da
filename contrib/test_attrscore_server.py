"""Tests of attrscore_server.py against a tiny T5 of random weights: `python test_attrscore_server.py`, or pytest.

Needs torch and transformers (`.ci/attrscore-venv` installs them); without, it says so and is skipped.
"""

import concurrent.futures
import http.client
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
# the tests leave nothing in the clone
sys.dont_write_bytecode = True
os.environ["HF_HUB_OFFLINE"] = "1"

try:
    import torch
    import transformers  # noqa: F401
except (ImportError, OSError, ValueError) as fault:
    torch = None
    print(f"skipped: {fault}; bash .ci/attrscore-venv prints a Python that has what is missing", file=sys.stderr)

import attrscore_server as server_module
import tiny_t5

KEY_VARIABLE = "ATTRSCORE_TEST_KEY"
NAME = "tiny"
LONG_MAX = 40


class Server:
    """The server as a child; it also ends when this process does."""

    def __init__(self, folder, *options, key=""):
        command = [sys.executable, str(HERE / "attrscore_server.py"), "--model", folder, "--served-name", NAME]
        self.process = subprocess.Popen(
            [*command, "--exit-with-stdin", "--device", "cpu", "--threads", "1", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | {KEY_VARIABLE: key},
        )  # fmt: skip
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(f"the server ended with exit code {self.process.wait(60)}")
        self.address = urllib.parse.urlsplit(self.url).netloc

    def connect(self):
        return http.client.HTTPConnection(self.address, timeout=120)

    def send(self, method, path, body=None, headers=None, over=None):
        """(status, parsed reply); `body` is bytes, or is made JSON."""
        connection = over or self.connect()
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, raw, headers or {})
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            if not over:
                connection.close()

    def complete(self, prompt, **fields):
        return self.send("POST", "/v1/completions", {"model": NAME, "prompt": prompt, "temperature": 0} | fields)

    def end(self):
        """Sends SIGTERM; returns the exit code."""
        self.process.terminate()
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            # It tells on stderr where its threads stand.
            self.process.send_signal(signal.SIGABRT)
            code = self.process.wait(60)
        self.process.stdin.close()
        self.process.stdout.close()
        return code


@unittest.skipIf(torch is None, "torch and transformers are not installed")
class ServerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.tokenizer, cls.model = tiny_t5.write(cls.folder)
        cls.server = Server(cls.folder, "--batch-size", "8", "--batch-wait-ms", "30")
        cls.addClassCleanup(cls.server.end)

    def direct(self, prompt, max_tokens=10):
        """What `generate` itself gives: (ids without the end token, log probabilities by step, whether it ended)."""
        out = self.model.generate(
            **self.tokenizer(prompt, return_tensors="pt"), max_new_tokens=max_tokens, do_sample=False,
            output_logits=True, return_dict_in_generate=True,
        )  # fmt: skip
        # the first token is the decoder's start token
        ids = out.sequences[0].tolist()[1:]
        steps = [logits[0].log_softmax(-1) for logits in out.logits]
        end = self.model.config.eos_token_id
        ended = end in ids
        return (ids[: ids.index(end)] if ended else ids), steps, ended

    def decode(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def assert_refused(self, status, code, answer):
        self.assertEqual(answer[0], status, answer)
        error = answer[1]["error"]
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        self.assertEqual(error["code"], code, error)
        self.assertTrue(error["message"])
        return error

    # --- completions

    def test_greedy_is_what_generate_gives_and_the_same_again(self):
        reasons = set()
        for prompt in tiny_t5.SENTENCES:
            ids, _, ended = self.direct(prompt)
            status, reply = self.server.complete(prompt)
            self.assertEqual(status, 200, reply)
            choice = reply["choices"][0]
            self.assertEqual(choice["text"], self.decode(ids))
            self.assertEqual(choice["finish_reason"], "stop" if ended else "length")
            self.assertIsNone(choice["logprobs"])
            self.assertEqual(self.server.complete(prompt)[1]["choices"], reply["choices"])
            reasons.add(choice["finish_reason"])
        self.assertEqual(reasons, {"stop", "length"}, "the tiny model must show both ends")

    def test_a_completion_has_the_documented_members(self):
        _, reply = self.server.complete("green tea", max_tokens=3)
        self.assertEqual(set(reply), {"id", "object", "created", "model", "choices", "usage"})
        self.assertEqual((reply["object"], reply["model"]), ("text_completion", NAME))
        self.assertEqual(set(reply["choices"][0]), {"index", "text", "finish_reason", "logprobs"})

    def test_usage_counts_the_prompt_with_its_end_token_and_the_written_tokens(self):
        prompts = tiny_t5.SENTENCES
        _, reply = self.server.complete(prompts, max_tokens=7, logprobs=0)
        read = sum(len(self.tokenizer(text)["input_ids"]) for text in prompts)
        written = [len(self.direct(text, 7)[0]) for text in prompts]
        self.assertEqual([len(choice["logprobs"]["tokens"]) for choice in reply["choices"]], written)
        total = read + sum(written)
        usage = {"prompt_tokens": read, "completion_tokens": sum(written), "total_tokens": total}
        self.assertEqual(reply["usage"], usage)

    def test_a_list_of_prompts_gives_what_each_gives_alone_in_order(self):
        prompts = tiny_t5.SENTENCES + tiny_t5.SENTENCES[:3]
        _, together = self.server.complete(prompts)
        self.assertEqual([choice["index"] for choice in together["choices"]], list(range(len(prompts))))
        alone = [self.server.complete(prompt)[1]["choices"][0]["text"] for prompt in prompts]
        self.assertEqual([choice["text"] for choice in together["choices"]], alone)

    def test_concurrent_requests_give_the_same_as_one_by_one(self):
        # different lengths, limits and ways of choosing in one batch
        asked = [
            {"prompt": text, "max_tokens": 2 + i % 9, "logprobs": 2, "seed": i, "temperature": 1.5 * (i % 2)}
            for i, text in enumerate(tiny_t5.SENTENCES * 2)
        ]
        alone = [self.server.complete(**fields)[1]["choices"][0] for fields in asked]
        start = threading.Barrier(len(asked))

        def ask(fields):
            start.wait(60)
            return self.server.complete(**fields)[1]["choices"][0]

        with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
            together = list(pool.map(ask, asked))
        for one, other in zip(alone, together):
            self.assertEqual(one["text"], other["text"])
            self.assertEqual(one["finish_reason"], other["finish_reason"])
            for a, b in zip(one["logprobs"]["token_logprobs"], other["logprobs"]["token_logprobs"], strict=True):
                # Sums in another order: logits of some tens in 32 bits, 7 digits. A wrong mask changes whole words.
                self.assertAlmostEqual(a, b, delta=1e-3)

    # --- logprobs

    def test_logprobs_are_those_of_the_model(self):
        for prompt in tiny_t5.SENTENCES:
            ids, steps, _ = self.direct(prompt)
            choice = self.server.complete(prompt, logprobs=3)[1]["choices"][0]
            found = choice["logprobs"]
            self.assertEqual("".join(found["tokens"]), choice["text"])
            expected = [step[token].item() for step, token in zip(steps, ids)]
            self.assertEqual(len(found["token_logprobs"]), len(ids))
            for place, (own, wanted) in enumerate(zip(found["token_logprobs"], expected)):
                self.assertAlmostEqual(own, wanted, delta=1e-3)
                top = found["top_logprobs"][place]
                # two tokens may have one text (and special tokens have none), so 3 alternatives can be 2 texts
                self.assertTrue(1 <= len(top) <= 4, top)
                self.assertEqual(list(top.values()), sorted(top.values(), reverse=True))
                self.assertEqual(max(top.values()), own, "greedy takes the likeliest")
                self.assertLessEqual(sum(map(math.exp, top.values())), 1 + 1e-5)
                self.assertEqual(found["text_offset"][place], len("".join(found["tokens"][:place])))

    def test_alternatives_are_the_likeliest_tokens_by_their_text(self):
        prompt = max(tiny_t5.SENTENCES, key=lambda text: len(self.direct(text)[0]))
        _, steps, _ = self.direct(prompt)
        found = self.server.complete(prompt, logprobs=20)[1]["choices"][0]["logprobs"]
        values, ids = steps[0].topk(20)
        expected = {}
        for token, value in zip(ids.tolist(), values.tolist()):
            # special tokens by name; at the very beginning "▁tea" and "tea" are one text: the likelier counts
            special = token in self.tokenizer.all_special_ids
            text = self.tokenizer.convert_ids_to_tokens(token) if special else self.decode([token])
            expected.setdefault(text, value)
        self.assertEqual(list(found["top_logprobs"][0]), list(expected))
        for text, value in found["top_logprobs"][0].items():
            self.assertAlmostEqual(value, expected[text], delta=1e-3)

    def test_logprobs_zero_gives_the_chosen_token_alone(self):
        found = self.server.complete("green tea", logprobs=0)[1]["choices"][0]["logprobs"]
        expected = [{piece: own} for piece, own in zip(found["tokens"], found["token_logprobs"])]
        self.assertEqual(found["top_logprobs"], expected)

    # --- sampling

    def test_a_seed_repeats_its_text_and_another_gives_another(self):
        texts = {}
        for seed in range(8):
            fields = {"temperature": 2, "seed": seed, "max_tokens": 12}
            texts[seed] = self.server.complete("green tea", **fields)[1]["choices"][0]["text"]
            self.assertEqual(self.server.complete("green tea", **fields)[1]["choices"][0]["text"], texts[seed])
        self.assertGreater(len(set(texts.values())), 1)

    def test_a_tiny_nucleus_is_greedy(self):
        greedy = self.server.complete("green tea")[1]["choices"][0]["text"]
        sampled = self.server.complete("green tea", temperature=1, top_p=1e-9)[1]["choices"][0]["text"]
        self.assertEqual(sampled, greedy)

    def test_the_nucleus_holds_the_likeliest_tokens_up_to_top_p(self):
        scores = torch.tensor([0.2, 0.5, 0.3]).log()
        generator = torch.Generator().manual_seed(1)

        def drawn(top_p, temperature=1.0):
            sampling = server_module.Sampling(1, temperature, top_p, None, None)
            return {server_module.Chooser.draw(scores, sampling, generator) for _ in range(300)}

        self.assertEqual(drawn(0.45), {1})  # 0.5 alone reaches 0.45
        self.assertEqual(drawn(0.6), {1, 2})  # 0.5 does not reach 0.6, 0.5 + 0.3 does
        self.assertEqual(drawn(1.0), {0, 1, 2})
        self.assertEqual(drawn(1.0, temperature=1e-6), {1})

    # --- refusals

    def test_a_prompt_of_the_greatest_length_is_taken_and_a_longer_one_refused(self):
        limit = tiny_t5.POSITIONS
        # each word is a token, and one more ends the prompt
        fits, exceeds = " ".join(["tea"] * (limit - 1)), " ".join(["tea"] * limit)
        self.assertEqual(len(self.tokenizer(fits)["input_ids"]), limit)
        self.assertEqual(self.server.complete(fits)[0], 200)
        error = self.assert_refused(400, "context_length_exceeded", self.server.complete(exceeds))
        self.assertIn(f"maximum context length is {limit} ", error["message"])
        self.assertIn(f"has {limit + 1}", error["message"])
        self.assertEqual(error["type"], "invalid_request_error")
        # one of several is enough, and is named
        error = self.assert_refused(400, "context_length_exceeded", self.server.complete([fits, exceeds]))
        self.assertIn("prompt 1", error["message"])

    def test_what_is_no_json_object_is_refused(self):
        bodies = [b"", b"{", b"[]", b'{"model": NaN}', b"\xff\xfe", b"[" * 100_000, json.dumps(NAME).encode()]
        for raw in bodies:
            self.assert_refused(400, "invalid_json", self.server.send("POST", "/v1/completions", raw))

    def test_wrong_values_are_refused_by_name(self):
        wrong = [
            ("prompt", None), ("prompt", []), ("prompt", [1, 2]), ("prompt", 7), ("prompt", "\ud800"),
            ("max_tokens", 0), ("max_tokens", 1.5), ("max_tokens", True), ("max_tokens", 10**9), ("max_tokens", "9"),
            ("temperature", -1), ("temperature", 3), ("temperature", "0"), ("top_p", 0), ("top_p", 1.1),
            ("logprobs", -1), ("logprobs", 21), ("logprobs", True), ("seed", 0.5), ("seed", 2**63), ("model", None),
        ]  # fmt: skip
        for name, value in wrong:
            body = {"model": NAME, "prompt": "tea", name: value}
            error = self.assert_refused(400, "invalid_value", self.server.send("POST", "/v1/completions", body))
            self.assertEqual(error["param"], name)

    def test_a_field_that_would_be_ignored_is_refused_unless_it_says_nothing(self):
        spoken = [("stream", True), ("n", 2), ("echo", True), ("stop", ["\n"]), ("top_k", 5), ("colour", "red")]
        for name, value in spoken:
            error = self.assert_refused(400, "unsupported_parameter", self.server.complete("tea", **{name: value}))
            self.assertEqual(error["param"], name)
        neutral = {"stream": False, "n": 1, "echo": False, "stop": None, "top_k": -1, "colour": None, "user": "me"}
        self.assertEqual(self.server.complete("tea", **neutral)[0], 200)

    def test_another_model_path_or_method_is_not_found(self):
        self.assert_refused(404, "model_not_found", self.server.complete("tea", model="gpt-4o"))
        for method, path in [("GET", "/v1/completions"), ("POST", "/v1/chat/completions"), ("GET", "/props")]:
            self.assert_refused(404, "not_found", self.server.send(method, path, {}))
        self.assert_refused(501, "bad_request", self.server.send("DELETE", "/v1/models"))

    def test_a_body_of_unknown_length_is_refused(self):
        connection = self.server.connect()
        connection.request("POST", "/v1/completions", iter([b"{}"]), encode_chunked=True)
        self.assertEqual(connection.getresponse().status, 411)
        connection.close()
        self.assert_refused(413, "body_too_long", self.server.send("POST", "/", b"{}", {"Content-Length": "999999999"}))

    # --- the server

    def test_one_connection_serves_many_requests_also_after_a_refusal(self):
        connection = self.server.connect()
        body = {"model": NAME, "prompt": "tea", "max_tokens": 1}
        for prompt, status in [("tea", 200), (5, 400), ("tea", 200)]:
            answer = self.server.send("POST", "/v1/completions", body | {"prompt": prompt}, over=connection)
            self.assertEqual(answer[0], status)
        connection.close()

    def test_models_and_health_tell_what_is_served(self):
        self.assertEqual(self.server.send("GET", "/health"), (200, {"status": "ok", "completing": 0}))
        status, reply = self.server.send("GET", "/v1/models")
        self.assertEqual((status, reply["object"], len(reply["data"])), (200, "list", 1))
        listed = reply["data"][0]
        self.assertEqual((listed["id"], listed["root"]), (NAME, self.folder))
        self.assertEqual((listed["max_input_tokens"], listed["max_output_tokens"]), (tiny_t5.POSITIONS, 512))

    def test_a_key_is_demanded_a_running_request_is_answered_at_sigterm_and_the_exit_code_is_0(self):
        options = ["--api-key-env", KEY_VARIABLE, "--max-input-tokens", "100", "--batch-wait-ms", "1500"]
        server = Server(self.folder, *options, "--max-output-tokens", str(LONG_MAX), key="sesame")
        try:
            self.assertEqual(server.send("GET", "/health")[0], 200)
            for header in [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "sesame"}]:
                self.assert_refused(401, "invalid_api_key", server.send("GET", "/v1/models", headers=header))
            right = {"Authorization": "Bearer sesame"}
            self.assertEqual(server.send("GET", "/v1/models", headers=right)[0], 200)
            # above the tiny model's 64: T5 has no hard limit
            body = {"model": NAME, "prompt": "tea " * 80, "max_tokens": LONG_MAX}
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                connection = server.connect()
                connection.request("POST", "/v1/completions", json.dumps(body), right)
                reply = pool.submit(connection.getresponse)
                while server.send("GET", "/health")[1]["completing"] == 0 and not reply.done():
                    pass
                ended = server.end()
                self.assertEqual(reply.result(60).status, 200)
                connection.close()
            self.assertEqual(ended, 0)
        finally:
            server.process.kill()

    def test_an_empty_key_variable_is_told_before_anything_is_loaded(self):
        command = [sys.executable, str(HERE / "attrscore_server.py"), "--model", self.folder]
        ended = subprocess.run(
            [*command, "--api-key-env", KEY_VARIABLE], capture_output=True, text=True,
            env=os.environ | {KEY_VARIABLE: ""}, timeout=120,
        )  # fmt: skip
        self.assertEqual(ended.returncode, 1)
        self.assertIn(f"{KEY_VARIABLE} is not set", ended.stderr)


class BatcherTest(unittest.TestCase):
    """Without a model: which rows run together."""

    class Options:
        batch_size = 4
        batch_wait_ms = 10_000.0

    class Recorder:
        def __init__(self, broken=()):
            self.batches, self.broken = [], broken

        def generate(self, rows):
            self.batches.append([row.ids for row in rows])
            if any(row.ids in self.broken for row in rows):
                raise MemoryError("too much")
            return [(row.ids, "stop") for row in rows]

    def run_rows(self, model, count):
        batcher = server_module.Batcher(model, self.Options)
        rows = [server_module.Row([index], None) for index in range(count)]
        for row in rows:
            batcher.waiting.put(row)
        batcher.start()
        return rows

    def test_rows_that_wait_run_together_up_to_the_batch_size(self):
        model = self.Recorder()
        rows = self.run_rows(model, 8)
        self.assertEqual([row.answer.result(60) for row in rows], [([index], "stop") for index in range(8)])
        self.assertEqual(model.batches, [[[0], [1], [2], [3]], [[4], [5], [6], [7]]])

    def test_a_row_that_fails_does_not_fail_its_neighbours(self):
        stderr, sys.stderr = sys.stderr, open(os.devnull, "w")
        try:
            rows = self.run_rows(self.Recorder(broken=([2],)), 4)
            self.assertEqual([rows[index].answer.result(60)[1] for index in (0, 1, 3)], ["stop"] * 3)
            with self.assertRaises(MemoryError):
                rows[2].answer.result(60)
        finally:
            sys.stderr.close()
            sys.stderr = stderr


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    unittest.main(verbosity=2)
