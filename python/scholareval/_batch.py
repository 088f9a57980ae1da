"""Awaits that share a call: those of the same options within a moment become one batch."""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
Result = TypeVar("Result")

# Seconds that a batch waits for further items: far below the latency of a judge.
_WAIT = 0.02
# Items that a batch has at most.
_MOST = 256

# Gives each item its result, or the exception that is its own.
Work = Callable[[Key, Sequence[Item]], Awaitable[Sequence[Result | Exception]]]


class Batches(Generic[Key, Item, Result]):
    """Gathers items into batches, those of each event loop and each process by themselves.

    A loop belongs to a thread, and after `fork` the child has a copy of the loop and of this object, but nobody to fill its
    batches: so state is found by the process and the loop that run.
    """

    def __init__(self, work: Work[Key, Item, Result]) -> None:
        self._work = work
        self._process = os.getpid()
        self._open: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Key, _Batch[Key, Item, Result]]] = WeakKeyDictionary()

    async def gather(self, key: Key, items: Sequence[Item]) -> list[Result]:
        """The results of the items. The first error among them is raised; a cancellation takes all of them back."""
        futures = [self._add(key, item) for item in items]
        try:
            # All of them first: one error must not take back the others, which are paid for.
            if futures:
                await asyncio.wait(futures)
        except asyncio.CancelledError:
            for future in futures:
                future.cancel()
            raise
        errors = [future.exception() for future in futures]
        for error in errors:
            if error is not None:
                raise error
        return [future.result() for future in futures]

    def _add(self, key: Key, item: Item) -> asyncio.Future[Result]:
        """Puts the item into the open batch of its key."""
        loop = asyncio.get_running_loop()
        if self._process != os.getpid():
            self._process = os.getpid()
            self._open = WeakKeyDictionary()
        batches = self._open.setdefault(loop, {})
        batch = batches.get(key)
        if batch is None:
            batch = batches[key] = _Batch(self._work, key, loop, lambda: batches.pop(key, None))
        return batch.add(item)


class _Batch(Generic[Key, Item, Result]):
    """Items that wait for one call."""

    def __init__(
        self, work: Work[Key, Item, Result], key: Key, loop: asyncio.AbstractEventLoop, close: Callable[[], object]
    ) -> None:
        self._work = work
        self._key = key
        self._loop = loop
        self._close = close
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._task: asyncio.Task[None] | None = None
        self._is_open = True
        self._timer = loop.call_later(_WAIT, self._start)

    def add(self, item: Item) -> asyncio.Future[Result]:
        """Adds an item; the future gets its result."""
        future: asyncio.Future[Result] = self._loop.create_future()
        future.add_done_callback(self._leave)
        self._waiting.append((item, future))
        if len(self._waiting) == _MOST:
            self._start()
        return future

    def _start(self) -> None:
        """Makes the call for those that still wait."""
        self._end_filling()
        self._waiting = [(item, future) for item, future in self._waiting if not future.done()]
        if self._waiting:
            self._task = self._loop.create_task(self._run())

    def _end_filling(self) -> None:
        """Takes no further items: the next one of this key opens another batch."""
        self._is_open = False
        self._timer.cancel()
        self._close()

    def _leave(self, _: asyncio.Future[Result]) -> None:
        """Stops the call, or does not begin it, when nobody waits for it any more."""
        if not all(future.done() for _, future in self._waiting):
            return
        if self._task is not None:
            self._task.cancel()
        elif self._is_open:
            self._end_filling()

    async def _run(self) -> None:
        try:
            results = await self._work(self._key, [item for item, _ in self._waiting])
        except asyncio.CancelledError:
            for _, future in self._waiting:
                future.cancel()
            raise
        except Exception as error:
            # Each await raises one of its own, with its own traceback.
            results = [copy.copy(error) for _ in self._waiting]
        # From here on the end of the last one must not stop this.
        self._task = None
        for (_, future), result in zip(self._waiting, results):
            if future.done():
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)
