"""A judge on this machine, and files of answers."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

HOSTILE = "<script>alert(1)<&script>"


class Judge(BaseHTTPRequestHandler):
    """Says `met` if the answer names rain; its reply cannot be read if the answer says so."""

    protocol_version = "HTTP/1.1"
    delay = 0.0
    calls = 0

    def do_POST(self):
        text = self.rfile.read(int(self.headers["content-length"])).decode()
        type(self).calls += 1
        time.sleep(self.delay)
        level = "met" if "rain" in text else "not met"
        self.reply({"choices": [{"message": {"content": "?" if "odd" in text else json.dumps({"verdict": level})}}]})

    def do_GET(self):
        self.reply({"data": [{"id": "fake"}]})

    def reply(self, body):
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 256  # of a batch, many calls come at once
    daemon_threads = True


@pytest.fixture
def judge(monkeypatch):
    monkeypatch.setattr(Judge, "calls", 0)
    server = Server(("127.0.0.1", 0), Judge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {"model": "fake", "base_url": f"http://127.0.0.1:{server.server_port}"}
    server.shutdown()
    server.server_close()


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Answers of two systems to the cases 007 and 8, in the current directory."""
    monkeypatch.chdir(tmp_path)
    Path("answers").mkdir()
    for system, text in (("7", "rain and wind"), (HOSTILE, "nothing")):
        lines = [json.dumps({"case_id": case, "answer_text": text}) for case in ("007", "8")]
        Path("answers", f"{system}.jsonl").write_text("\n".join(lines))
    criteria = [{"text": "Names rain", "weight": 3}, "NA", {"text": "- gone", "weight": 0}]
    lines = [json.dumps({"case_id": case, "question": f"{case}?", "criteria": criteria}) for case in ("007", "8")]
    Path("tests.jsonl").write_text("\n".join(lines))
    return {"answers": "answers", "tests": "tests.jsonl"}
