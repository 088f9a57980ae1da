"""The files of ray_batch.py: requests, checked whole before the first is asked, and results, appended as they come."""

import contextlib
import fcntl
import json
import os
import sys

PATHS = ("/v1/chat/completions", "/v1/completions")
SHOWN_FAULTS = 20


class Stop(Exception):
    """Ends the run with an exit code and a reason."""

    def __init__(self, code, reason):
        super().__init__(reason)
        self.code = code


def tell(text):
    print("".join(c if c.isprintable() or c == "\n" else "�" for c in text), file=sys.stderr, flush=True)


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def parse_request(raw):
    """(custom_id, line) of one input line; a ValueError says what is wrong with it."""
    line = json.loads(raw.decode("utf-8"), parse_constant=refuse_constant)
    if not isinstance(line, dict):
        raise ValueError("expected a JSON object {custom_id, method, url, body}")
    name, body = line.get("custom_id"), line.get("body")
    if not isinstance(name, str) or not name:
        raise ValueError("custom_id: expected a text that is not empty")
    if line.get("method") != "POST":
        raise ValueError(f'custom_id {name!r}: method: expected "POST"')
    if line.get("url") not in PATHS:
        raise ValueError(f"custom_id {name!r}: url: expected {' or '.join(PATHS)}")
    if not isinstance(body, dict):
        raise ValueError(f"custom_id {name!r}: body: expected a JSON object")
    if not isinstance(body.get("model", ""), str):
        raise ValueError(f"custom_id {name!r}: body.model: expected a text")
    if body.get("stream"):
        raise ValueError(
            f'custom_id {name!r}: body.stream: a batch has no streams; leave it out or give "stream": false'
        )
    return name, line


class Requests:
    """The input files, read once to check them; what is asked is read again by its place, so memory holds ids only."""

    def __init__(self, paths):
        self.paths = paths
        self.places = {}  # custom_id -> (index of the file, offset, number of the line)
        self.models = {}  # model -> where it was named first
        self.files = []
        faults = []
        for index, path in enumerate(paths):
            try:
                self.files.append(open(path, "rb"))
            except OSError as fault:
                raise Stop(3, f"{path}: cannot be read: {fault.strerror}") from None
            offset = 0
            for number, raw in enumerate(self.files[index], 1):
                try:
                    self.take((index, offset, number), raw)
                except (ValueError, RecursionError) as fault:
                    faults.append(f"{path}:{number}: {fault}")
                offset += len(raw)
        if faults:
            self.close()
            more = [f"and {len(faults) - SHOWN_FAULTS} more"] if len(faults) > SHOWN_FAULTS else []
            raise Stop(3, "\n".join(faults[:SHOWN_FAULTS] + more))
        if not self.places:
            raise Stop(3, f"no request in {', '.join(paths)}; `scholareval batch export` writes such files")

    def take(self, place, raw):
        raw = raw.removeprefix(b"\xef\xbb\xbf") if place[2] == 1 else raw
        if not raw.strip():
            return
        name, line = parse_request(raw)
        if name in self.places:
            first = self.where(self.places[name])
            raise ValueError(f"custom_id {name!r} is also in {first}; every request needs its own")
        self.places[name] = place
        self.models.setdefault(line["body"].get("model"), self.where(place))

    def close(self):
        for file in self.files:
            file.close()

    def where(self, place):
        return f"{self.paths[place[0]]}:{place[2]}"

    def read(self, name):
        index, offset, number = self.places[name]
        self.files[index].seek(offset)
        raw = self.files[index].readline()
        try:
            found, line = parse_request(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw)
        except ValueError:
            found = None
        if found != name:
            raise Stop(3, f"{self.where(self.places[name])} changed while this ran; run the same command again")
        return {"custom_id": name, "url": line["url"], "body": line["body"]}


def failed(line):
    response = line.get("response") or {}
    return line.get("error") is not None or response.get("status_code") != 200


class Results:
    """The file of results: what it holds at the start, and lines that are appended, whole or not at all."""

    def __init__(self, path, retry_failed):
        self.path = path
        self.done = {}  # custom_id -> whether it failed
        try:
            self.file = open(path, "a+b")
        except OSError as fault:
            raise Stop(3, f"{path}: cannot be written: {fault.strerror}") from None
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise Stop(3, f"{path}: another process writes it; wait for it, or name another --out") from None
        except OSError:
            tell(f"warning: {path} cannot be locked on this file system; let no second process write it")
        kept, dropped = self.load(retry_failed)
        if dropped:
            self.rewrite(kept)

    def load(self, retry_failed):
        """Reads what is there and cuts a torn last line; with `retry_failed`, also gives what is to be kept."""
        self.file.seek(0)
        kept, dropped, end = [], 0, 0
        for number, raw in enumerate(self.file, 1):
            try:
                if not raw.endswith(b"\n"):
                    raise ValueError("torn")
                line = json.loads(raw)
                name, bad = line["custom_id"], failed(line)
            except (ValueError, KeyError, TypeError, AttributeError):
                if raw.endswith(b"\n"):
                    self.file.close()
                    fault = "no result of a batch; name another --out, or mend that line"
                    raise Stop(3, f"{self.path}:{number}: {fault}") from None
                tell(f"note: {self.path}:{number}: the last line is torn and was cut; its request is asked again")
                self.file.truncate(end)
                break
            end += len(raw)
            if retry_failed and bad:
                dropped += 1
                continue
            if retry_failed:
                kept.append(raw)
            self.done[name] = bad
        return kept, dropped

    def rewrite(self, kept):
        """Replaces the file by its good lines in one step; the new file is locked before it has the name."""
        fresh = f"{self.path}.new"
        try:
            file = open(fresh, "wb")
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.writelines(kept)
            file.flush()
            os.fsync(file.fileno())
            os.replace(fresh, self.path)
        except OSError as fault:
            raise Stop(3, f"{fresh}: cannot be written: {fault.strerror}") from None
        self.file.close()
        self.file = file

    def add(self, items):
        """Appends the lines of the (custom_id, line, kind) that are not there yet."""
        fresh = {name: (line, kind) for name, line, kind in items if name not in self.done}
        try:
            self.file.write("".join(line + "\n" for line, _ in fresh.values()).encode())
            self.file.flush()
        except OSError as fault:
            todo = "make room and run the same command again"
            raise Stop(3, f"{self.path}: cannot be written: {fault.strerror}; {todo}") from None
        self.done.update((name, kind != "ok") for name, (_, kind) in fresh.items())
