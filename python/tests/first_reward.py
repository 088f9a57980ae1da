"""A first reward as in a notebook, whose event loop runs already: `python first_reward.py`, with nothing but the wheel."""

import asyncio
import json
from collections.abc import Awaitable

import scholareval


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A judge that finds every criterion met."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
            await reader.readexactly(int(fields.get(b"content-length", 0)))
            verdict = {"message": {"content": json.dumps({"verdict": "met"})}}
            body = json.dumps({"choices": [verdict], "data": [{"id": "fake"}]}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    def cell() -> Awaitable[float]:
        """A cell of a notebook, in which `await` is at the top."""
        return scholareval.areward("Why?", "Rain.", ["Names rain", "Is short"], model="fake", base_url=address, no_cache=True)

    assert await cell() == 1.0
    assert await asyncio.gather(cell(), cell()) == [1.0, 1.0]
    server.close()
    print("a first reward in a running event loop: 1.0")


asyncio.run(main())
