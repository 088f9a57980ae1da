"""What a reward costs from Python; see README.md. `python benches/rewards.py`, with the package and the program to measure."""

from __future__ import annotations

import asyncio
import itertools
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import scholareval

CRITERIA = ["Names rain", "Names wind", "Says when", "Says where"]
REPLY = {"choices": [{"message": {"content": json.dumps({"verdict": "met"})}}], "data": [{"id": "fake"}]}
NUMBERS = itertools.count()


async def serve(latency: float, port: Connection) -> None:
    """A judge that takes this long for each call."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
                await reader.readexactly(int(fields.get(b"content-length", 0)))
                if head.startswith(b"POST"):
                    await asyncio.sleep(latency)
                body = json.dumps(REPLY).encode()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    port.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def run_server(latency: float, port: Connection) -> None:
    asyncio.run(serve(latency, port))


def item(criteria: int) -> tuple[str, str, list[str]]:
    """An answer that no cache has."""
    return "Why is it wet?", f"Rain and wind, {next(NUMBERS)} times.", CRITERIA[:criteria]


def milliseconds(measured: Callable[[], object], times: int) -> float:
    """The median of these calls, after one that does not count."""
    measured()
    spent: list[float] = []
    for _ in range(times):
        begun = time.perf_counter()
        measured()
        spent.append(1000 * (time.perf_counter() - begun))
    return statistics.median(spent)


async def concurrent(count: int, **options: Any) -> None:
    await asyncio.gather(*(scholareval.areward(*item(1), **options) for _ in range(count)))


def main() -> None:
    context = multiprocessing.get_context("spawn")
    servers, judges = [], {}
    for latency in (0.0, 0.5, 1.0):
        receiver, sender = context.Pipe(duplex=False)
        servers.append(context.Process(target=run_server, args=(latency, sender), daemon=True))
        servers[-1].start()
        judges[latency] = {"model": "fake", "base_url": f"http://127.0.0.1:{receiver.recv()}"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        at_once = milliseconds(lambda: scholareval.reward(*item(4), **judges[0.0]), 30)
        print(f"reward, 4 criteria, latency 0: {at_once:.1f} ms")
        half = milliseconds(lambda: scholareval.reward(*item(4), **judges[0.5]), 10)
        print(f"reward, 4 criteria, latency 500 ms: {half:.0f} ms, {half - 500:.1f} ms over one latency (aim: below 20)")
        many = milliseconds(lambda: scholareval.rewards([item(1) for _ in range(256)], **judges[0.0]), 5)
        print(f"rewards, 256 answers, 1 criterion, latency 0: {many / 256:.2f} ms per answer (aim: below 2)")
        many = milliseconds(lambda: scholareval.rewards([item(4) for _ in range(256)], **judges[0.0]), 5)
        print(f"rewards, 256 answers, 4 criteria, latency 0: {many / 256:.2f} ms per answer")
        awaits = milliseconds(lambda: asyncio.run(concurrent(64, **judges[1.0], concurrency=64)), 3)
        print(f"64 awaits, latency 1 s, 64 calls at once: {awaits / 1000:.2f} s (aim: below 1.3)")
        awaits = milliseconds(lambda: asyncio.run(concurrent(64, **judges[1.0])), 3)
        print(f"64 awaits, latency 1 s, 32 calls at once (the default): {awaits / 1000:.2f} s")
        os.chdir("/")
    for server in servers:
        server.terminate()


if __name__ == "__main__":
    main()
