"""A fake OpenAI server that plays the faults a request asks for, for the tests of ray_batch.py."""

import collections
import http.server
import json
import pathlib
import socket
import struct
import tempfile
import threading
import time
import unittest


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
