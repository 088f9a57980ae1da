"""Finding and calling the program, and its exit codes as exceptions."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Union

Text = Union[str, "os.PathLike[str]"]
Option = Union[Text, bool, int, float, None, Iterable[Union[Text, int, float]], Mapping[str, object]]


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
    """A threshold (`fail_under`, `require`) is not met."""
    exit_code = 6


class Stopped(ScholarevalError):
    """Stopped early (signal, budget, time limit); the same call continues."""
    exit_code = 7


_BY_CODE = {error.exit_code: error for error in ScholarevalError.__subclasses__()}


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


def arguments(command: str, positional: Iterable[Text], options: Mapping[str, Option]) -> list[str]:
    """The command line of a call. `None` and `False` leave an option out, a list repeats it, a mapping becomes JSON."""
    words = [command]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        values = value if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) else [value]
        for item in values:
            if item is True:
                words.append(flag)
            elif item is not None and item is not False:
                words.append(f"{flag}={json.dumps(item) if isinstance(item, Mapping) else item}")
    return [*words, "--", *(os.fspath(path) for path in positional)]


def call(words: list[str], quiet: bool = False) -> tuple[str, list[str]]:
    """Runs the program; returns its standard output and the lines of its standard error.

    The lines are also written to `sys.stderr` as they come, unless `quiet`. An interrupt, or an exception
    in this thread, stops the program as Ctrl-C does (on Windows only in a console): every reply that arrived is kept.
    """
    lines: list[str] = []
    with tempfile.TemporaryFile() as out:
        command, pipe = [find(), *words], subprocess.PIPE
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=pipe, encoding="utf-8", errors="replace"
        ) as child:
            assert child.stderr is not None
            try:
                for line in child.stderr:
                    lines.append(line.rstrip("\n"))
                    if not quiet:
                        print(lines[-1], file=sys.stderr, flush=True)
            except BaseException:
                # Ctrl-C reaches the program, too. This stops it where only Python was interrupted, and otherwise does
                # nothing, while a second SIGINT would drop calls in flight.
                if sys.platform != "win32":
                    child.send_signal(signal.SIGUSR1)
                child.communicate()
                raise
        out.seek(0)
        text = out.read().decode("utf-8")
    if child.returncode != 0:
        error = _BY_CODE.get(child.returncode, Unexpected)(_message(lines) or f"exit code {child.returncode}")
        error.run = recorded(lines)
        raise error
    return text, lines


def recorded(lines: list[str]) -> Path | None:
    """The run directory that the program reports at the end of a run."""
    prefix = "record of the run: "
    paths = [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]
    return Path(paths[-1]) if paths else None


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
    return "\n".join(message)
