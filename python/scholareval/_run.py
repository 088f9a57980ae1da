"""Runs, and their comparison, as data frames and as tables in a notebook."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from ._program import Option, ScholarevalError, Text, arguments, call

# A pandas or polars data frame: neither is required to import this package.
Frame = Any

# Columns of CSV files that are text even if every value looks like a number.
_TEXTS = frozenset(
    "run system case_id scorer component kind unit question text reason_kind reason feedback "
    "metric against group warnings wins_ties_losses difference_flag".split()
)
# The apostrophe that keeps spreadsheets from reading a text as a formula; numbers and names have none.
_GUARD = re.compile(r"\A'(?='*[-=+@\t\r\n＝＋－＠].)(?!'*[-+][\d.]+(e[-+]?\d+)?\Z)", re.DOTALL | re.IGNORECASE)
_NAMES = ("system", "against", "case_id")


class Run:
    """A recorded run. The columns of its data frames are described in docs/formats.md."""

    def __init__(self, path: Text) -> None:
        self.path = Path(path)
        if not (self.path / "manifest.json").is_file():
            raise FileNotFoundError(f"{self.path}: not a run (no manifest.json); name the directory given as `out`")

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """`manifest.json`: status, settings, judges."""
        return dict(json.loads(self._text("manifest.json")))

    @cached_property
    def scores(self) -> Frame:
        """`scores.jsonl`: one row per answer and scorer."""
        return self._records("scores.jsonl")

    @cached_property
    def items(self) -> Frame:
        """`items.csv`: one row per number: sums, components, aspects, with the judge's feedback."""
        return _frame(self._text("items.csv"))

    @cached_property
    def calls(self) -> Frame:
        """`calls.jsonl`: one row per call of a judge, with its raw reply."""
        return self._records("calls.jsonl")

    @cached_property
    def summary(self) -> Frame:
        """`summary.csv`: one row per system, with means and intervals."""
        return _frame(self._text("summary.csv"), {"system"})

    def __repr__(self) -> str:
        return f"Run({os.fspath(self.path)!r})"

    def _repr_html_(self) -> str:
        if not (self.path / "summary.json").is_file():
            return f"<p>{escape(repr(self))}: {escape(self.manifest['status'])}, no scores yet</p>"
        summary = json.loads(self._text("summary.json"))
        parts = [f"<p><b>{escape(summary['run'])}</b>, judge: {escape(summary['judge'])}</p>"]
        for scorer in summary["scorers"]:
            units = {column["name"]: column["unit"] for column in scorer["columns"]}
            most = max(row["answers"] for row in scorer["rows"])
            rows = [
                [row["system"], *(_estimate(row["metrics"].get(name, {}), unit, most) for name, unit in units.items())]
                for row in scorer["rows"]
            ]
            parts.append(_table(["system", *units], rows))
        warnings = [note["text"] for note in summary["notes"] if note["severity"] == "warning"]
        return "".join(parts + [f"<p>{escape(text)}</p>" for text in warnings])

    def _text(self, name: str) -> str:
        if not (path := self.path / name).is_file():
            raise FileNotFoundError(f"{path}: missing; score again to finish the run (the same call continues it)")
        return path.read_text(encoding="utf-8")

    def _records(self, name: str) -> Frame:
        records, library = [json.loads(line) for line in self._text(name).split("\n") if line], _library()
        mixed = {} if library.__name__ == "pandas" else {"infer_schema_length": None, "strict": False}
        return library.DataFrame(records, **mixed)


class Comparison:
    """The result of `compare`: its systems and pairs, with the columns of `compare --format csv`."""

    def __init__(self, text: str) -> None:
        self._csv = text

    @cached_property
    def frame(self) -> Frame:
        """All rows; `kind` is `system`, `pair` or `judge_change`. Columns of other kinds are empty."""
        return _frame(self._csv)

    @property
    def systems(self) -> Frame:
        """One row per metric and system: mean, interval, group."""
        return _frame(self._csv, kind="system")

    @property
    def pairs(self) -> Frame:
        """One row per metric and pair: difference, interval, p."""
        return _frame(self._csv, kind="pair")

    def _repr_html_(self) -> str:
        rows = list(csv.DictReader(io.StringIO(self._csv)))
        parts = []
        kinds = (("system", "mean", "group"), ("pair", "difference", "p"), ("judge_change", "shift", "p"))
        for kind, value, last in kinds:
            cells = []
            for row in (row for row in rows if row["kind"] == kind):
                number = {"estimate": row[value], "low": row.get(f"{value}_low"), "high": row.get(f"{value}_high")}
                name = f"{row['system']} - {row['against']}" if kind == "pair" else row["system"]
                shown = f"{float(row['p']):.2g}" if last == "p" and row["p"] else row.get(last) or ""
                cells.append([row["metric"], name, _estimate(number, row["unit"]), shown])
            parts += [_table(["metric", kind, value, last], cells)] if cells else []
        return "".join(parts) + "".join(f"<p>{escape(row['warnings'])}</p>" for row in rows[:1] if row["warnings"])


def score(
    answers: Text | Sequence[Text], tests: Text | None = None, model: str | None = None, **options: Option
) -> Run:
    """Scores files of answers, one per system, and records the run (`scholareval score`).

    Without `model`, `base_url` and `config` the built-in lexical baseline judges. Progress goes to `sys.stderr`
    (`quiet=True`: nothing). The same call again continues a run that stopped and pays for no reply twice. Raises the
    exception of the program's exit code; one with a finished run has its directory in `run`.
    """
    paths = [answers] if isinstance(answers, (str, os.PathLike)) else answers
    quiet = bool(options.pop("quiet", False))
    words = arguments("score", paths, {"tests": tests, "model": model, **options, "format": "json"})
    _, path = call(words, quiet)
    if path is None:
        raise ScholarevalError("the program recorded no run: leave out dry_run")
    return Run(path)


def load(path: Text) -> Run:
    """Opens a recorded run: the directory that was given as `out`. Raises FileNotFoundError for another one."""
    return Run(path)


def compare(*runs: Run | Text, **options: Option) -> Comparison:
    """Compares the systems of runs (`scholareval compare`): means, intervals, p values adjusted for all pairs.

    A condition of `require` raises BelowThreshold if it is missed, and Undecided if these questions do not decide.
    """
    quiet = bool(options.pop("quiet", False))
    paths = [run.path if isinstance(run, Run) else run for run in runs]
    return Comparison(call(arguments("compare", paths, {**options, "format": "csv"}), quiet)[0])


def _library() -> Any:
    for name in ("pandas", "polars"):
        try:
            return import_module(name)
        except ImportError:
            pass
    raise ImportError("data frames need pandas or polars: pip install pandas")


def _frame(text: str, texts: Collection[str] = _TEXTS, kind: str | None = None) -> Frame:
    """The CSV, or its rows of this kind, as a data frame with these columns as text."""
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    plain, library = io.StringIO(newline=""), _library()
    own = (zip(header, row) for row in rows if kind in (None, row[0]))
    cells = ([cell if name in _NAMES else _GUARD.sub("", cell) for name, cell in row] for row in own)
    csv.writer(plain).writerows([header, *cells])
    plain.seek(0)
    types = dict.fromkeys(set(texts) & set(header), str)
    if library.__name__ == "pandas":
        return library.read_csv(plain, dtype=types, keep_default_na=False, na_values=[""])
    return library.read_csv(plain, schema_overrides=types, infer_schema_length=None)


def _estimate(number: dict[str, Any], unit: str, most: int = 0) -> str:
    """`77.6 [76.0, 79.2]`, shares in %; `77.6*` if it is over fewer than `most` answers."""
    factor, decimals = 100 if unit in ("share", "net") else 1, 2 if unit == "grade" else 1
    numbers = [number.get(part) for part in ("estimate", "low", "high")]
    value, low, high = (f"{factor * float(n):.{decimals}f}" if n not in (None, "") else "" for n in numbers)
    value += "*" if value and number.get("n", most) < most else ""
    return f"{value} [{low}, {high}]" if low and high else value or "-"


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table. Names of systems may come from hostile files: everything is escaped."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
