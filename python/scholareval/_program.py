"""Finding and calling the program, and its exit codes as exceptions."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ._options import PAIRS, Text

# How a line of the program's output is shown.
Rename = Callable[[str], str]


class ScholarevalError(Exception):
    """The program ended with an error, whose message this has. `run` is the directory of a run that was finished."""
    exit_code = 0
    run: Path | None = None


class Unexpected(ScholarevalError):
    """A fault of the program."""
    exit_code = 1


class Usage(ScholarevalError):
    """An invalid or contradictory option."""
    exit_code = 2


class BadInput(ScholarevalError):
    """Unusable input or settings, including cache and output paths."""
    exit_code = 3


class JudgeUnavailable(ScholarevalError):
    """No judge: wrong key, spent quota, no server, no usable reply to any call."""
    exit_code = 4


class TooManyUnscored(ScholarevalError):
    """Replies that cannot be read, or more unscored answers than `max_unscored` tolerates."""
    exit_code = 5


class BelowThreshold(ScholarevalError):
    """A condition (`require`) is missed, or cannot be checked for missing data."""
    exit_code = 6


class Stopped(ScholarevalError):
    """Stopped early (signal, budget, time limit); the same call continues."""
    exit_code = 7


class Undecided(ScholarevalError):
    """A condition (`require`) is undecided, and none is missed."""
    exit_code = 8


# Seconds that calls in flight get after an interrupt.
_PATIENCE = 10.0
# Bytes of a line of standard error: an error may quote a long text.
_LONGEST_LINE = 1 << 24
_BY_CODE = {error.exit_code: error for error in ScholarevalError.__subclasses__()}


# Where Linux keeps files in memory, and the room that must be left there: containers give it as little as 64 MB.
_MEMORY = "/dev/shm"
_ROOM = 1 << 28


def short_lived() -> tempfile.TemporaryDirectory[str]:
    """A temporary directory for small files that are soon deleted: in memory where there is room, unless TMPDIR is set.

    Deleting the dozen files of a reward takes a disk longer than the program runs.
    """
    place = None
    if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free >= _ROOM:
        place = _MEMORY
    return tempfile.TemporaryDirectory(prefix="scholareval-", dir=place)


def find() -> str:
    """The path of the program: the one installed with this package, else the one on PATH.

    Raises FileNotFoundError if there is none.
    """
    own = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))]
    own.append(str(Path(__file__).parents[1] / "bin"))  # of `pip install --target`
    path = shutil.which("scholareval", path=os.pathsep.join([*own, os.environ.get("PATH", os.defpath)]))
    if path is None:
        raise FileNotFoundError("the program scholareval is missing: reinstall the package, or put it on PATH")
    return path


def arguments(command: str, positional: Iterable[Text], options: Mapping[str, object]) -> list[str]:
    """The command line of a call. `None` and `False` leave an option out, a list repeats it, a mapping becomes JSON."""
    words = [command]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        for item in _values(name, value):
            if item is True:
                words.append(flag)
            elif item is not None and item is not False:
                words.append(f"{flag}={json.dumps(item) if isinstance(item, Mapping) else item}")
    return [*words, "--", *(os.fspath(path) for path in positional)]


def _values(name: str, value: object) -> list[object]:
    """The values with which an option is repeated."""
    if isinstance(value, Mapping) and name in PAIRS:
        separator = ": " if name == "header" else "="
        fields = cast(Mapping[object, object], value)
        return [f"{key}{separator}{item}" for key, item in fields.items()]
    if isinstance(value, Iterable) and not isinstance(value, (str, Mapping, os.PathLike)):
        return list(cast(Iterable[object], value))
    return [value]


@dataclass
class Output:
    """What a call left: standard output, and the directory of the run that it finished, if any."""

    text: str
    run: Path | None


class _Call:
    """The files and the output of a process, whoever waits for it."""

    def __init__(self, folder: str, quiet: bool, rename: Rename) -> None:
        self._lines: list[str] = []
        self._quiet = quiet
        self._rename = rename
        self._outcome = Path(folder, "outcome")
        self._outcome.touch()
        self.stdout = Path(folder, "stdout").open("w+b")
        self.environment = {**os.environ, "SCHOLAREVAL_OUTCOME": str(self._outcome)}

    def __enter__(self) -> _Call:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()

    def take(self, line: str) -> None:
        """A line of standard error."""
        self._lines.append(self._rename(line.rstrip("\n")))
        if not self._quiet:
            show(self._lines[-1])

    def end(self, returncode: int | None) -> Output:
        """The output of a process that has ended; raises its error."""
        self.stdout.seek(0)
        text = self.stdout.read().decode("utf-8")
        fields = dict(field.split(b"=", 1) for field in self._outcome.read_bytes().split(b"\0") if field)
        run = Path(os.fsdecode(fields[b"run"])) if b"run" in fields else None
        # Where SIGCHLD is ignored, the system keeps no exit code, and Python takes the lost one for another.
        code = int(fields.get(b"exit_code", returncode or Unexpected.exit_code))
        if code != 0:
            error = _BY_CODE.get(code, Unexpected)(_message(self._lines) or f"exit code {code}")
            error.run = run
            raise error
        return Output(text, run)


def call(words: list[str], quiet: bool = False, rename: Rename = str) -> Output:
    """Runs the program.

    Its standard error is also written to `sys.stderr`, line by line as `rename` changes it, unless `quiet`. An interrupt, or an
    exception in this thread, stops the program as Ctrl-C does (on Windows only in a console): calls in flight get 10 seconds,
    or until a second interrupt, and every reply that arrived is kept.
    """
    with short_lived() as folder, _Call(folder, quiet, rename) as running:
        with subprocess.Popen(
            [find(), *words],
            stdin=subprocess.DEVNULL,
            stdout=running.stdout,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=running.environment,
        ) as child:
            assert child.stderr is not None
            try:
                for line in child.stderr:
                    running.take(line)
            except BaseException:
                _stop(child)
                raise
        return running.end(child.returncode)


async def call_async(words: list[str], quiet: bool = False, rename: Rename = str) -> Output:
    """`call` without a thread. A cancellation stops the program as an interrupt does."""
    with short_lived() as folder, _Call(folder, quiet, rename) as running:
        child = await asyncio.create_subprocess_exec(
            find(),
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=running.stdout,
            stderr=asyncio.subprocess.PIPE,
            env=running.environment,
            limit=_LONGEST_LINE,
        )
        assert child.stderr is not None
        try:
            async for line in child.stderr:
                running.take(line.decode("utf-8", "replace"))
            code = await child.wait()
        except BaseException:
            await _stop_async(child)
            raise
        return running.end(code)


def show(line: str) -> None:
    """Writes a line to `sys.stderr`. One that is closed must not stop a run."""
    try:
        if sys.stderr is not None:
            print(line, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass


def _stop(child: subprocess.Popen[str]) -> None:
    """Lets calls in flight finish, but not for long: a judge that hangs would be waited for until the time-out."""
    try:
        # Ctrl-C reaches the program, too. SIGUSR1 stops it where only Python was interrupted, and otherwise does nothing,
        # while a second SIGINT would drop calls in flight.
        if sys.platform != "win32":
            child.send_signal(signal.SIGUSR1)
        child.communicate(timeout=_PATIENCE)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        # After the first signal, SIGTERM ends the program at once, in order.
        child.terminate()
        try:
            child.communicate(timeout=_PATIENCE)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            child.kill()


async def _stop_async(child: asyncio.subprocess.Process) -> None:
    """`_stop`; a second cancellation does not wait for calls in flight."""
    for stop in (_interrupt, asyncio.subprocess.Process.terminate, asyncio.subprocess.Process.kill):
        try:
            stop(child)
        except ProcessLookupError:  # it has ended
            pass
        try:
            # Its standard error is read to the end: a full pipe would hold it.
            await asyncio.wait_for(child.communicate(), _PATIENCE)
            return
        except (TimeoutError, asyncio.CancelledError):
            continue


def _interrupt(child: asyncio.subprocess.Process) -> None:
    if sys.platform != "win32":
        child.send_signal(signal.SIGUSR1)


def _message(lines: list[str]) -> str:
    """The program's last error, with the lines that continue it."""
    starts = [index for index, line in enumerate(lines) if line.startswith("error: ")]
    if not starts:
        return "\n".join(lines[-5:])
    first, *rest = lines[starts[-1] :]
    message = [first.removeprefix("error: ")]
    for line in rest:
        if line and not line.startswith((" ", "hint: ")):
            break
        message += [line.strip()] if line else []
    # Files of several systems have the same fault, and the same name here.
    return "\n".join(dict.fromkeys(message))
