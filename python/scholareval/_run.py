"""Runs, and their comparison, as rows and as tables in a notebook."""

from __future__ import annotations

import csv
import io
import json
import os
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from ._options import Text
from ._table import Table, html_table, table_of_csv, table_of_lines


class Run:
    """A recorded run. The columns of its tables are described in docs/formats.md."""

    def __init__(self, path: Text) -> None:
        self.path = Path(path)
        if not (self.path / "manifest.json").is_file():
            raise FileNotFoundError(f"{self.path}: not a run (no manifest.json); name the directory given as `out`")

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """`manifest.json`: status, settings, judges."""
        return dict(json.loads(self._text("manifest.json")))

    @cached_property
    def scores(self) -> Table:
        """`scores.jsonl`: one row per answer and scorer."""
        return table_of_lines(self._text("scores.jsonl"))

    @cached_property
    def items(self) -> Table:
        """`items.csv`: one row per number: sums, components, aspects, with the judge's feedback."""
        return table_of_csv(self._text("items.csv"))

    @cached_property
    def calls(self) -> Table:
        """`calls.jsonl`: one row per call of a judge, with its raw reply."""
        return table_of_lines(self._text("calls.jsonl"))

    @cached_property
    def summary(self) -> Table:
        """`summary.csv`: one row per system, with means and intervals."""
        return table_of_csv(self._text("summary.csv"))

    def __repr__(self) -> str:
        return f"Run({os.fspath(self.path)!r})"

    def _repr_html_(self) -> str:
        if not (self.path / "summary.json").is_file():
            return f"<p>{escape(repr(self))}: {escape(self.manifest['status'])}, no scores yet</p>"
        summary = json.loads(self._text("summary.json"))
        parts = [f"<p><b>{escape(summary['run'])}</b>, judge: {escape(summary['judge'])}</p>"]
        parts += [_scorecard(scorer) for scorer in summary["scorers"]]
        warnings = [note["text"] for note in summary["notes"] if note["severity"] == "warning"]
        return "".join(parts + [f"<p>{escape(text)}</p>" for text in warnings])

    def _text(self, name: str) -> str:
        path = self.path / name
        if not path.is_file():
            raise FileNotFoundError(f"{path}: missing; score again to finish the run (the same call continues it)")
        return path.read_text(encoding="utf-8")


class Comparison:
    """The result of `compare`: its systems and pairs, with the columns of `compare --format csv`."""

    def __init__(self, text: str) -> None:
        self._csv = text

    @cached_property
    def rows(self) -> Table:
        """All rows; `kind` is `system`, `pair` or `judge_change`. Columns of other kinds are None."""
        return table_of_csv(self._csv)

    @property
    def systems(self) -> Table:
        """One row per metric and system: mean, interval, group."""
        return table_of_csv(self._csv, kind="system")

    @property
    def pairs(self) -> Table:
        """One row per metric and pair: difference, interval, p."""
        return table_of_csv(self._csv, kind="pair")

    def __repr__(self) -> str:
        return f"Comparison({len(self.systems)} rows of systems, {len(self.pairs)} of pairs)"

    def _repr_html_(self) -> str:
        rows = list(csv.DictReader(io.StringIO(self._csv)))
        kinds = (("system", "mean", "group"), ("pair", "difference", "p"), ("judge_change", "shift", "p"))
        parts: list[str] = []
        for kind, value, last in kinds:
            cells = [_cells_of(row, value, last) for row in rows if row["kind"] == kind]
            if cells:
                parts.append(html_table(["metric", kind, value, last], cells))
        if rows and rows[0]["warnings"]:
            parts.append(f"<p>{escape(rows[0]['warnings'])}</p>")
        return "".join(parts)


def _scorecard(scorer: dict[str, Any]) -> str:
    """The table of one scorer, systems by numbers."""
    units = {column["name"]: column["unit"] for column in scorer["columns"]}
    most = max(row["answers"] for row in scorer["rows"])
    rows: list[list[str]] = []
    for row in scorer["rows"]:
        numbers = [_estimate(row["metrics"].get(name, {}), unit, most) for name, unit in units.items()]
        rows.append([row["system"], *numbers])
    return html_table(["system", *units], rows)


def _cells_of(row: dict[str, str], value: str, last: str) -> list[str]:
    """A row of a comparison: metric, system or pair, number, and its last column."""
    number = {"estimate": row[value], "low": row.get(f"{value}_low"), "high": row.get(f"{value}_high")}
    name = f"{row['system']} - {row['against']}" if row["kind"] == "pair" else row["system"]
    shown = f"{float(row['p']):.2g}" if last == "p" and row["p"] else row.get(last) or ""
    return [row["metric"], name, _estimate(number, row["unit"]), shown]


def _estimate(number: dict[str, Any], unit: str, most: int = 0) -> str:
    """`77.6 [76.0, 79.2]`, shares in %; `77.6*` if it is over fewer than `most` answers."""
    factor = 100 if unit in ("share", "net") else 1
    decimals = 2 if unit == "grade" else 1
    numbers = [number.get(part) for part in ("estimate", "low", "high")]
    value, low, high = (f"{factor * float(n):.{decimals}f}" if n not in (None, "") else "" for n in numbers)
    value += "*" if value and number.get("n", most) < most else ""
    return f"{value} [{low}, {high}]" if low and high else value or "-"
