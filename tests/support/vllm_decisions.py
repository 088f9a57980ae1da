"""A server of decisions made of vLLM's own types: requests are read as vLLM reads them, and replies are what it writes. Only the
model is missing: each option is as probable as its place says (1, 2, 3, .. of their sum).

    python vllm_decisions.py      prints {"address"}; ends when its standard input is closed

The files of vLLM are under `source` in the environment of this Python (.ci/python-venvs).
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

from pydantic import BaseModel, ConfigDict

MODEL = "vllm-decider"
# DecisionLimits of the strategy that reads one prefill a question.
QUESTIONS, OPTIONS = 64, 26


class OpenAIBaseModel(BaseModel):
    """As in vLLM, which logs unknown members besides."""

    model_config = ConfigDict(extra="allow")


def stand_in(name, **members):
    """A module of vLLM that needs torch, with what the types use of it."""
    module = ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


source = Path(sys.prefix) / "source" / "vllm"
stand_in("vllm", __path__=[str(source)])
stand_in("vllm.utils", random_uuid=lambda: "id")
stand_in("vllm.entrypoints.generate.base.protocol", validate_cache_salt=lambda salt: None)
stand_in("vllm.entrypoints.serve.engine.protocol", OpenAIBaseModel=OpenAIBaseModel)

from vllm.entrypoints.generate.structured_decisions import protocol as by_name  # noqa: E402
from vllm.entrypoints.openai.decisions import protocol as by_list  # noqa: E402
from vllm.entrypoints.openai.decisions.adapters import make_answer, make_read_question  # noqa: E402
from vllm.entrypoints.openai.decisions.question_types import build_question  # noqa: E402


def probabilities(count):
    return [place / (count * (count + 1) / 2) for place in range(1, count + 1)]


def system_one(body):
    request = by_name.StructuredDecisionRequest.model_validate(body)
    assert 0 < len(request.questions) <= QUESTIONS, "number of questions"
    answers = {}
    for name, asked in request.questions.items():
        assert not asked.model_extra, asked.model_extra
        question = build_question(name, asked.type, asked.instructions, asked.criteria, OPTIONS)
        answers[name] = question.type.answer(question, probabilities(len(question.options)), 0.9)
    usage = by_name.DecisionUsage(input_tokens=10, output_tokens=len(answers))
    diagnostics = {name: {"label_mass": 0.9, "argmax_is_label": True} for name in answers}
    return by_name.StructuredDecisionResponse(id="d", model=MODEL, answers=answers, usage=usage, diagnostics=diagnostics)


def decisions(body):
    request = by_list.DecisionRequest.model_validate(body)
    assert len(request.questions) <= QUESTIONS, "number of questions"
    answers = []
    for place, asked in enumerate(request.questions):
        question = make_read_question(place, asked, OPTIONS)
        answers.append(make_answer(asked, probabilities(len(question.options)), 0.9))
    usage = {"input_tokens": 10, "input_tokens_details": {}, "output_tokens": 1, "output_tokens_details": {}, "total_tokens": 11}
    return by_list.DecisionResponse(model=MODEL, answers=answers, usage=usage)


ROUTES = {"/v1/systemone": system_one, "/v1/decisions": decisions}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body):
        text = body.encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.reply(200, json.dumps({"object": "list", "data": [{"id": MODEL}]}))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            self.reply(200, ROUTES[self.path](json.loads(body)).model_dump_json())
        except Exception as error:
            self.reply(400, json.dumps({"error": {"message": repr(error), "type": "BadRequestError", "code": 400}}))


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(json.dumps({"address": "http://127.0.0.1:%d" % server.server_port}), flush=True)
sys.stdin.read()
