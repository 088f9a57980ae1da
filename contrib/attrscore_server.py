#!/usr/bin/env python3
"""Serves an encoder-decoder model, such as osunlp/attrscore-flan-t5-xl, behind an OpenAI-compatible /v1/completions.

    pip install torch transformers sentencepiece protobuf
    python attrscore_server.py --model osunlp/attrscore-flan-t5-xl --port 8000

Routes: POST /v1/completions, GET /v1/models, GET /health. The address is printed on stdout when the model is loaded.
The prompt goes to the encoder as it is; the reply is what the decoder writes. Concurrent requests are run together as
one padded batch. A prompt that is too long is refused, never cut; a field that would be ignored is refused as well.
A request that gives no temperature is answered greedily, one that gives no max_tokens with 10 tokens at most.
"""

import argparse
import contextlib
import dataclasses
import faulthandler
import hmac
import http.server
import json
import math
import os
import queue
import signal
import socket
import socketserver
import sys
import threading
import time
import traceback
import urllib.parse
import uuid
from concurrent.futures import Future

MAX_BODY_BYTES = 32 * 1024 * 1024
MAX_LOGPROBS = 20
# How long a connection may be silent, and how long running requests are waited for at the end.
IDLE_SECONDS = 120
GRACE_SECONDS = 20
# JSON has no infinity: what a logit of minus infinity becomes.
LOWEST_LOGPROB = -9999.0
# Fields that are understood.
READ = {"model", "prompt", "max_tokens", "temperature", "top_p", "seed", "logprobs", "stream", "user"}
# Fields of OpenAI and vLLM that are accepted while they say nothing: name -> values that change nothing.
NEUTRAL = {
    "n": (1,), "best_of": (1,), "echo": (False,), "suffix": ("",), "stop": ("", []), "logit_bias": ({},),
    "presence_penalty": (0,), "frequency_penalty": (0,), "repetition_penalty": (1,), "top_k": (-1, 0), "min_p": (0,),
}  # fmt: skip


class ApiError(Exception):
    """A refusal, sent as an OpenAI error object."""

    def __init__(self, status, message, code=None, kind="invalid_request_error", param=None):
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}


def server_error(status, message, code):
    return ApiError(status, message, code, kind="server_error")


@dataclasses.dataclass
class Sampling:
    """How one request wants its tokens chosen. `temperature` 0 is greedy; `logprobs` None is none."""

    max_tokens: int
    temperature: float
    top_p: float
    seed: int | None
    logprobs: int | None


@dataclasses.dataclass
class Row:
    """One prompt on its way to the model."""

    ids: list
    sampling: Sampling
    answer: Future = dataclasses.field(default_factory=Future)


@dataclasses.dataclass
class Token:
    """A generated token, its log probability, and the likeliest tokens in its place as pairs (id, log probability)."""

    id: int
    logprob: float
    likeliest: list


# --- what a request says ---------------------------------------------------------------------------------------------


def parse_json(raw):
    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")

    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError) as fault:
        raise ApiError(400, f"the body is not JSON: {fault}", "invalid_json") from None
    if not isinstance(body, dict):
        raise ApiError(400, "the body must be a JSON object", "invalid_json")
    return body


def number(body, name, default, low, high, whole=False):
    """The number `name`, checked to be from `low` to `high`; `default` if it is missing or null."""
    value = body.get(name)
    if value is None:
        return default
    wanted = int if whole else (int, float)
    # In Python, True is the number 1; in a request it is a mistake.
    if isinstance(value, bool) or not isinstance(value, wanted) or not low <= value <= high:
        what = "a whole number" if whole else "a number"
        raise ApiError(400, f"{name} must be {what} from {low} to {high}", "invalid_value", param=name)
    return value


def sampling_of(body, max_output_tokens):
    """Checks all fields but `model` and `prompt`."""
    if body.get("stream"):
        raise ApiError(400, "streaming is not supported; send stream: false", "unsupported_parameter", param="stream")
    for name, value in body.items():
        neutral = NEUTRAL.get(name, ())
        if name not in READ and value is not None and value not in neutral:
            raise ApiError(400, f"{name} is not supported here; leave it out", "unsupported_parameter", param=name)
    top_p = number(body, "top_p", 1.0, 0, 1)
    if top_p == 0:
        raise ApiError(400, "top_p must be above 0; temperature 0 is greedy", "invalid_value", param="top_p")
    return Sampling(
        max_tokens=number(body, "max_tokens", min(10, max_output_tokens), 1, max_output_tokens, whole=True),
        temperature=number(body, "temperature", 0.0, 0, 2),
        top_p=top_p,
        seed=number(body, "seed", None, -(2**63), 2**63 - 1, whole=True),
        logprobs=number(body, "logprobs", None, 0, MAX_LOGPROBS, whole=True),
    )


def prompts_of(body):
    """The prompts, of which there is at least one."""
    prompt = body.get("prompt")
    prompts = [prompt] if isinstance(prompt, str) else prompt
    if not isinstance(prompts, list) or not prompts or not all(isinstance(text, str) for text in prompts):
        raise ApiError(400, "prompt must be a string or a list of strings", "invalid_value", param="prompt")
    try:
        "".join(prompts).encode()
    except UnicodeEncodeError:
        raise ApiError(400, "prompt holds half a surrogate pair", "invalid_value", param="prompt") from None
    return prompts


# --- the model -------------------------------------------------------------------------------------------------------


class Chooser:
    """The last logits processor of one batch: draws for the rows that sample, and notes log probabilities.

    Each row that samples has a generator of its own, so that a seed gives the same text in any batch. What is noted is
    the model's distribution before temperature and top_p.
    """

    def __init__(self, rows, device):
        import torch

        self.rows = rows
        self.steps = []
        self.generators = {}
        for index, row in enumerate(rows):
            if row.sampling.temperature > 0:
                generator = torch.Generator(device=device)
                seed = row.sampling.seed
                generator.manual_seed(int.from_bytes(os.urandom(7), "big") if seed is None else seed)
                self.generators[index] = generator

    def __call__(self, input_ids, scores):
        scores = scores.float()
        logprobs = scores.log_softmax(-1)
        for index, generator in self.generators.items():
            drawn = self.draw(scores[index], self.rows[index].sampling, generator)
            scores[index] = -math.inf
            scores[index, drawn] = 0.0
        chosen = scores.argmax(-1)
        count = max((row.sampling.logprobs or 0) for row in self.rows)
        values, ids = logprobs.topk(min(max(count, 1), logprobs.shape[-1]), dim=-1)
        own = logprobs.gather(-1, chosen[:, None])[:, 0]
        self.steps.append((chosen.tolist(), own.tolist(), ids.tolist(), values.tolist()))
        return scores

    @staticmethod
    def draw(scores, sampling, generator):
        """One token by temperature and nucleus: the likeliest tokens until their probability reaches top_p."""
        # From the highest logit down, which no temperature can make overflow.
        probabilities, order = ((scores - scores.max()) / sampling.temperature).softmax(-1).sort(descending=True)
        before = probabilities.cumsum(-1) - probabilities
        probabilities[(before >= sampling.top_p) & (before > 0)] = 0.0
        return order[probabilities.multinomial(1, generator=generator)].item()

    def tokens(self, index, ends):
        """The tokens of a row up to its limit or an end token, and the finish reason."""
        row, tokens = self.rows[index], []
        for chosen, own, ids, values in self.steps[: row.sampling.max_tokens]:
            if chosen[index] in ends:
                return tokens, "stop"
            likeliest = list(zip(ids[index], values[index]))[: row.sampling.logprobs or 0]
            tokens.append(Token(chosen[index], own[index], likeliest))
        return tokens, "length"


class Seq2SeqModel:
    """Tokenizer and weights. `encode` and `pieces` may be called from any thread, `generate` from one."""

    def __init__(self, options):
        import torch
        import transformers

        config = transformers.AutoConfig.from_pretrained(options.model, revision=options.revision)
        if not config.is_encoder_decoder:
            sys.exit(f"{options.model} is not an encoder-decoder model; serve it with vLLM or llama.cpp")
        self.max_input_tokens, self.max_output_tokens = token_limits(config, options)
        if options.threads:
            torch.set_num_threads(options.threads)
        self.device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(options.model, revision=options.revision)
        named = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"
        dtype = {named: getattr(torch, options.dtype)}
        loader = transformers.AutoModelForSeq2SeqLM
        self.model = loader.from_pretrained(options.model, revision=options.revision, **dtype).to(self.device).eval()
        ends = self.model.generation_config.eos_token_id
        ends = self.tokenizer.eos_token_id if ends is None else ends
        self.ends = set(ends if isinstance(ends, list) else [ends])
        self.padding = self.tokenizer.pad_token_id or 0
        # Tokenizers change their own state while they work.
        self.lock = threading.Lock()

    def encode(self, text):
        with self.lock:
            return self.tokenizer(text, verbose=False)["input_ids"]

    def generate(self, rows):
        """Runs the rows as one padded batch; returns (tokens, finish reason) of each."""
        import torch
        import transformers

        longest = max(len(row.ids) for row in rows)
        ids = [row.ids + [self.padding] * (longest - len(row.ids)) for row in rows]
        mask = [[1] * len(row.ids) + [0] * (longest - len(row.ids)) for row in rows]
        chooser = Chooser(rows, self.device)
        with torch.inference_mode():
            self.model.generate(
                input_ids=torch.tensor(ids, device=self.device),
                attention_mask=torch.tensor(mask, device=self.device),
                max_new_tokens=max(row.sampling.max_tokens for row in rows),
                do_sample=False,
                num_beams=1,
                # BART's way to end at the limit would make a cut reply look like a whole one.
                forced_eos_token_id=None,
                logits_processor=transformers.LogitsProcessorList([chooser]),
            )
        return [chooser.tokens(index, self.ends) for index in range(len(rows))]

    def decode(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def pieces(self, tokens):
        """The text, where each token begins in it (one more: its end), and the texts of the likeliest tokens."""
        ids = [token.id for token in tokens]
        with self.lock:
            text = self.decode(ids)
            heads = [self.decode(ids[:end]) for end in range(len(ids))]
            others = [
                {other: self.piece(ids[:place], heads[place], other) for other, _ in tokens[place].likeliest}
                for place in range(len(ids))
            ]
        offsets = [0]
        for head in heads[1:]:
            # A character of several tokens is there only with the last of them.
            offsets.append(max(offsets[-1], len(os.path.commonprefix([head, text]))))
        return text, [*offsets[: len(ids)], len(text)], others

    def piece(self, before, head, token):
        """What `token` adds to the text after `before`; its name if it is a special token."""
        whole = self.decode([*before, token])
        if whole == head and token in self.tokenizer.all_special_ids:
            return self.tokenizer.convert_ids_to_tokens(token)
        return whole[len(head) :] if whole.startswith(head) else self.decode([token])


def token_limits(config, options):
    """(longest prompt, longest completion) in tokens."""
    # T5 knows only distances between tokens: its n_positions is the length it was trained with, and no hard limit.
    relative = hasattr(config, "relative_attention_num_buckets")
    hard = None if relative else getattr(config, "max_position_embeddings", None)
    longest = options.max_input_tokens or getattr(config, "n_positions", None) or hard or 512
    if hard and longest > hard:
        sys.exit(f"--max-input-tokens {longest}: {options.model} has positions for {hard} tokens only")
    return longest, min(options.max_output_tokens, hard or options.max_output_tokens)


class Batcher(threading.Thread):
    """The one thread that runs the model: takes the rows that come within a few milliseconds together."""

    def __init__(self, model, options):
        super().__init__(daemon=True, name="model")
        self.model = model
        self.size = options.batch_size
        self.patience = options.batch_wait_ms / 1000
        self.waiting = queue.SimpleQueue()

    def run(self):
        while True:
            rows = [self.waiting.get()]
            until = time.monotonic() + self.patience
            while len(rows) < self.size:
                try:
                    rows.append(self.waiting.get(timeout=max(0.0, until - time.monotonic())))
                except queue.Empty:
                    break
            self.answer(rows)

    def answer(self, rows):
        try:
            for row, outcome in zip(rows, self.model.generate(rows)):
                row.answer.set_result(outcome)
        except Exception as fault:  # whatever torch raises: the server goes on
            if len(rows) == 1:
                traceback.print_exc()
                rows[0].answer.set_exception(fault)
                return
            # Too much memory for all of them, or one that is broken: each for itself.
            for row in rows:
                self.answer([row])


# --- HTTP ------------------------------------------------------------------------------------------------------------


class Service:
    """Everything a request needs."""

    def __init__(self, model, options, api_key):
        self.model = model
        self.name = options.served_name or options.model
        self.root = options.model
        self.api_key = api_key
        self.verbose = options.verbose
        self.created = int(time.time())
        self.batcher = Batcher(model, options)
        # Requests of any kind, until the reply is sent; and completions, until the reply is known.
        self.running = 0
        self.completing = 0
        self.ending = False
        self.changed = threading.Condition()

    @contextlib.contextmanager
    def counted(self, counter):
        with self.changed:
            setattr(self, counter, getattr(self, counter) + 1)
        try:
            yield
        finally:
            with self.changed:
                setattr(self, counter, getattr(self, counter) - 1)
                self.changed.notify_all()

    def authorize(self, header):
        given = (header or "").encode("utf-8", "replace")
        if self.api_key and not hmac.compare_digest(given, f"Bearer {self.api_key}".encode()):
            raise ApiError(401, "wrong or missing API key; send Authorization: Bearer KEY", "invalid_api_key")

    def models(self):
        entry = {"id": self.name, "object": "model", "created": self.created, "owned_by": "local", "root": self.root}
        # Not max_model_len: prompt and completion have limits of their own here.
        limits = {"max_input_tokens": self.model.max_input_tokens, "max_output_tokens": self.model.max_output_tokens}
        return {"object": "list", "data": [entry | limits]}

    def complete(self, body):
        name = body.get("model")
        if not isinstance(name, str):
            raise ApiError(400, "model must be a string", "invalid_value", param="model")
        if name != self.name:
            message = f"the model {name!r} is not served here; ask for {self.name!r}"
            raise ApiError(404, message, "model_not_found", param="model")
        sampling = sampling_of(body, self.model.max_output_tokens)
        rows = [Row(self.encode(index, text), sampling) for index, text in enumerate(prompts_of(body))]
        for row in rows:
            self.batcher.waiting.put(row)
        try:
            outcomes = [row.answer.result() for row in rows]
        except Exception as fault:
            raise server_error(500, f"the model failed: {type(fault).__name__}: {fault}", "model_failed") from None
        read = sum(len(row.ids) for row in rows)
        written = sum(len(tokens) for tokens, _ in outcomes)
        return {
            "id": f"cmpl-{uuid.uuid4().hex}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": self.name,
            "choices": [self.choice(index, *outcome, sampling) for index, outcome in enumerate(outcomes)],
            "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
        }

    def encode(self, index, text):
        ids, limit = self.model.encode(text), self.model.max_input_tokens
        if len(ids) > limit:
            message = (
                f"this server's maximum context length is {limit} tokens of prompt; prompt {index} has {len(ids)}; "
                "shorten it, or start the server with a greater --max-input-tokens"
            )
            raise ApiError(400, message, "context_length_exceeded", param="prompt")
        return ids

    def choice(self, index, tokens, finish_reason, sampling):
        text, offsets, others = self.model.pieces(tokens)
        logprobs = None
        if sampling.logprobs is not None:
            pieces = [text[begin:end] for begin, end in zip(offsets, offsets[1:])]
            own = [max(token.logprob, LOWEST_LOGPROB) for token in tokens]
            logprobs = {
                "tokens": pieces,
                "token_logprobs": own,
                "top_logprobs": [top_logprobs(*place) for place in zip(pieces, own, tokens, others)],
                "text_offset": offsets[:-1],
            }
        return {"index": index, "text": text, "finish_reason": finish_reason, "logprobs": logprobs}


def top_logprobs(piece, logprob, token, others):
    """{text: log probability} of the likeliest tokens and the chosen one; of two with one text, the likelier."""
    found = {piece: logprob}
    for other, value in token.likeliest:
        if other != token.id:
            found.setdefault(others[other], max(value, LOWEST_LOGPROB))
    return dict(sorted(found.items(), key=lambda entry: -entry[1]))


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "attrscore-server"
    sys_version = ""
    timeout = IDLE_SECONDS
    # Head and body leave in one piece: in two, the second waits for the client's acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self):
        self.exchange()

    def do_POST(self):
        self.exchange()

    def exchange(self):
        begun = time.monotonic()
        try:
            with self.server.service.counted("running"):
                status, reply = self.outcome()
                self.send(status, reply)
        except OSError:
            self.close_connection = True  # the client went away
        else:
            if self.server.service.verbose:
                print(f"{self.command} {self.path!r} {status} {time.monotonic() - begun:.3f} s", file=sys.stderr)

    def outcome(self):
        """Status and body of the reply, whatever happens."""
        try:
            return 200, self.route(self.body())
        except ApiError as refusal:
            return refusal.status, refusal.body
        except OSError:
            raise
        except Exception:
            traceback.print_exc()
            return 500, server_error(500, "internal error, see the server's log", "internal").body

    def body(self):
        """The whole body, read before anything is refused: what stays unread would be taken for the next request."""
        length = self.headers.get("Content-Length")
        if self.headers.get("Transfer-Encoding") or (length is None and self.command == "POST"):
            self.close_connection = True
            raise ApiError(411, "send the body with a Content-Length", "length_required")
        if length is not None and not (length.isascii() and length.isdigit()):
            self.close_connection = True
            raise ApiError(400, "Content-Length must be a whole number", "invalid_value")
        if int(length or 0) > MAX_BODY_BYTES:
            self.close_connection = True
            raise ApiError(413, f"the body is longer than {MAX_BODY_BYTES} bytes", "body_too_long")
        return self.rfile.read(int(length or 0))

    def route(self, raw):
        service, path = self.server.service, urllib.parse.urlsplit(self.path).path
        if service.ending:
            self.close_connection = True
            raise server_error(503, "the server is shutting down", "shutting_down")
        if path == "/health" and self.command == "GET":
            return {"status": "ok", "completing": service.completing}
        service.authorize(self.headers.get("Authorization"))
        if path == "/v1/models" and self.command == "GET":
            return service.models()
        if path == "/v1/completions" and self.command == "POST":
            with service.counted("completing"):
                return service.complete(parse_json(raw))
        message = f"no {self.command} {path} here; there is POST /v1/completions, GET /v1/models and GET /health"
        raise ApiError(404, message, "not_found")

    def send(self, status, reply):
        raw = json.dumps(reply, allow_nan=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(raw)
        self.wfile.flush()

    def send_error(self, code, message=None, explain=None):
        """What the base class refuses (a broken request line, another method), as JSON too."""
        self.close_connection = True
        self.send(code, ApiError(code, message or "bad request", "bad_request").body)

    def log_message(self, format, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host, port):
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), Handler, bind_and_activate=False)
        # Bound now, so that a port in use is told before the weights are loaded; clients are refused until `listen`.
        # Not HTTPServer's own way, which asks the name service for this machine's name.
        socketserver.TCPServer.server_bind(self)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            traceback.print_exc()


# --- the program -----------------------------------------------------------------------------------------------------


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def parser():
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = made.add_argument
    add("--model", required=True, help="a directory, or a name on the Hugging Face hub")
    add("--revision", help="commit or tag of the model on the hub (default: the newest)")
    add("--served-name", help="the name that clients ask for (default: what --model says)")
    add("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)")
    add("--port", type=int, default=0, help="port to listen on (default: 0, a free one; see stdout)")
    add("--device", help="cpu, cuda, cuda:1, mps (default: cuda if there is one, else cpu)")
    halves = "half precision takes half the memory and can change a label"
    add("--dtype", default="float32", choices=["float32", "bfloat16", "float16"], help=f"default: float32; {halves}")
    add("--threads", type=positive, help="CPU threads (default: one per core)")
    add("--batch-size", type=positive, default=8, help="prompts run at once (default: 8)")
    add("--batch-wait-ms", type=float, default=5.0, help="how long a batch waits for company (default: 5)")
    limit = "longest prompt, a longer one is refused (default: the model's n_positions; T5, with 512, can take more)"
    add("--max-input-tokens", type=positive, help=limit)
    add("--max-output-tokens", type=positive, default=512, help="greatest max_tokens accepted (default: 512)")
    add("--api-key-env", metavar="NAME", help="variable with the key that clients must send (default: none needed)")
    add("--verbose", action="store_true", help="one line per request on stderr; never the texts")
    add("--exit-with-stdin", action="store_true", help="end when stdin is closed, for a parent that may be killed")
    return made


def api_key_of(options):
    if options.api_key_env is None:
        return None
    key = os.environ.get(options.api_key_env, "").strip()
    if not key:
        sys.exit(f"{options.api_key_env} is not set; set it or leave out --api-key-env")
    return key


def end_with_stdin():
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def serve(server, service, announce, stop):
    """Serves until `stop` is set, then lets running requests end."""
    service.batcher.start()
    server.service = service
    server.server_activate()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    host, port = server.server_address[:2]
    print(f"http://[{host}]:{port}/v1" if ":" in host else f"http://{host}:{port}/v1", file=announce, flush=True)
    # Woken now and then: a signal that another thread receives is handled by this one, but does not wake it.
    while not stop.wait(0.2):
        pass
    service.ending = True
    backstop = threading.Timer(GRACE_SECONDS + 10, os._exit, [1])
    backstop.daemon = True
    backstop.start()
    server.shutdown()
    server.server_close()
    with service.changed:
        if not service.changed.wait_for(lambda: service.running == 0, GRACE_SECONDS):
            print(f"{service.running} requests were still running", file=sys.stderr)


def main():
    options = parser().parse_args()
    faulthandler.enable()
    api_key = api_key_of(options)
    # Libraries may print; stdout is for the address alone.
    announce = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        server = Server(options.host, options.port)
    except OSError as fault:
        sys.exit(f"cannot listen on {options.host} port {options.port}: {fault.strerror}")
    stop = threading.Event()

    def end(signum, frame):
        # A second signal ends the process at once.
        signal.signal(signum, signal.SIG_DFL)
        stop.set()

    if options.exit_with_stdin:
        threading.Thread(target=end_with_stdin, daemon=True).start()
    service = Service(Seq2SeqModel(options), options, api_key)
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, end)
    if api_key is None and options.host not in ("127.0.0.1", "::1", "localhost"):
        print(f"warning: {options.host} is open to the network and no key is asked; see --api-key-env", file=sys.stderr)
    serve(server, service, announce, stop)
    sys.stderr.flush()
    # Threads of torch and idle connections need not be waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
