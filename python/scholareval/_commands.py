"""The commands of the program as functions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Unpack

from ._inputs import InputFiles, Records
from ._options import AgreeOptions, CompareOptions, PlanOptions, ScoreOptions, Text
from ._program import Output, ScholarevalError, arguments, call, call_async, show
from ._run import Comparison, Run

Judge = Literal["lexical", "chat", "completions", "label", "anthropic", "gemini", "systemone", "decisions"]


def score(
    answers: Records | Sequence[Text],
    tests: Records | None = None,
    model: str | None = None,
    *,
    base_url: str | Sequence[str] | None = None,
    judge: Judge | None = None,
    scorers: str | Sequence[str] | None = None,
    rubric: str | None = None,
    samples: int | None = None,
    out: Text | None = None,
    cache: Text | None = None,
    concurrency: int | None = None,
    seed: int | None = None,
    quiet: bool = False,
    **options: Unpack[ScoreOptions],
) -> Run:
    """Scores answers and records the run (`scholareval score`).

    `answers` and `tests` are paths, data frames of pandas or polars, or mappings with the fields of the files: `case_id` and
    `answer_text`, and where there are several systems `system`; `case_id`, `question` and `criteria`. An answer that is
    missing (None, NaN, NaT) is unscored with a reason, and the others are scored; a test whose criteria are missing is left out,
    with a note.

    Without `model`, `base_url` and `config` the built-in lexical baseline judges. Progress goes to `sys.stderr`
    (`quiet=True`: nothing). The same call again continues a run that stopped and pays for no reply twice. All further options
    are those of the command line: see `help(scholareval.ScoreOptions)`. Raises the exception of the program's exit code, and
    BadInput with the row (counted from 0) and the column; an exception with a finished run has its directory in `run`.
    """
    with _Prepared(
        "score", answers, quiet, options, tests=tests, model=model, base_url=base_url, judge=judge, scorers=scorers, rubric=rubric,
        samples=samples, out=out, cache=cache, concurrency=concurrency, seed=seed,
    ) as prepared:
        return _run_of(call(prepared.words, quiet, prepared.files.renamed))


async def ascore(
    answers: Records | Sequence[Text],
    tests: Records | None = None,
    model: str | None = None,
    *,
    base_url: str | Sequence[str] | None = None,
    judge: Judge | None = None,
    scorers: str | Sequence[str] | None = None,
    rubric: str | None = None,
    samples: int | None = None,
    out: Text | None = None,
    cache: Text | None = None,
    concurrency: int | None = None,
    seed: int | None = None,
    quiet: bool = False,
    **options: Unpack[ScoreOptions],
) -> Run:
    """`score` without blocking the event loop. A cancellation stops the run as an interrupt does: replies are kept."""
    with _Prepared(
        "score", answers, quiet, options, tests=tests, model=model, base_url=base_url, judge=judge, scorers=scorers, rubric=rubric,
        samples=samples, out=out, cache=cache, concurrency=concurrency, seed=seed,
    ) as prepared:
        return _run_of(await call_async(prepared.words, quiet, prepared.files.renamed))


def plan(
    answers: Records | Sequence[Text] | None = None,
    tests: Records | None = None,
    model: str | None = None,
    *,
    base_url: str | Sequence[str] | None = None,
    judge: Judge | None = None,
    scorers: str | Sequence[str] | None = None,
    rubric: str | None = None,
    samples: int | None = None,
    out: Text | None = None,
    cache: Text | None = None,
    concurrency: int | None = None,
    seed: int | None = None,
    quiet: bool = False,
    **options: Unpack[PlanOptions],
) -> dict[str, Any]:
    """Estimates calls, tokens, time and cost of `score` with the same arguments (`scholareval plan`), or sizes a study (`power`).

    Returns what `plan --format json` prints.
    """
    with _Prepared(
        "plan", answers, quiet, options, tests=tests, model=model, base_url=base_url, judge=judge, scorers=scorers, rubric=rubric,
        samples=samples, out=out, cache=cache, concurrency=concurrency, seed=seed,
    ) as prepared:
        return dict(json.loads(call(prepared.words, quiet, prepared.files.renamed).text))


def load(path: Text) -> Run:
    """Opens a recorded run: the directory that was given as `out`. Raises FileNotFoundError for another one."""
    return Run(path)


def compare(*runs: Run | Text, quiet: bool = False, **options: Unpack[CompareOptions]) -> Comparison:
    """Compares the systems of runs (`scholareval compare`): means, intervals, p values adjusted for all pairs.

    A condition of `require` raises BelowThreshold if it is missed, and Undecided if these questions do not decide.
    """
    words = arguments("compare", _paths(runs), {**options, "format": "csv"})
    return Comparison(call(words, quiet).text)


def agree(
    *runs: Run | Text,
    labels: Records | Sequence[Text] | None = None,
    quiet: bool = False,
    **options: Unpack[AgreeOptions],
) -> dict[str, Any]:
    """Measures how judges and people agree (`scholareval agree`); returns what `agree --format json` prints.

    `labels` are paths, a data frame or mappings with the fields of the files: `system`, `case_id`, `rater` and
    `value`, a number or a word such as yes. A label that is missing counts as none. A condition of `require` raises BelowThreshold if it
    is missed, and Undecided if these labels do not decide.
    """
    with tempfile.TemporaryDirectory(prefix="scholareval-") as folder:
        files = InputFiles(Path(folder))
        all_options = {**options, "labels": files.labels(labels), "format": "json"}
        words = arguments("agree", _paths(runs), all_options)
        return dict(json.loads(call(words, quiet, files.renamed).text))


class _Prepared(AbstractContextManager["_Prepared"]):
    """The command line of a scoring command, and its temporary files as long as it runs."""

    def __init__(
        self, command: str, answers: object, quiet: bool, options: Mapping[str, object], **named: object
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="scholareval-")
        try:
            self.files = InputFiles(Path(self._folder.name))
            positional = self.files.answers(answers)
            named["tests"] = self.files.tests(named["tests"])
            self.words = arguments(command, positional, {**named, **options, "format": "json"})
            for note in self.files.notes if not quiet else []:
                show(note)
        except BaseException:
            self._folder.cleanup()
            raise

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def _paths(runs: Iterable[Run | Text]) -> list[Text]:
    return [run.path if isinstance(run, Run) else run for run in runs]


def _run_of(output: Output) -> Run:
    if output.run is None:
        raise ScholarevalError("the program recorded no run")
    return Run(output.run)
