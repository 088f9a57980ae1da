"""Rows of a run: mappings, which become a data frame where one is wanted."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pandas
    import polars

# Columns of CSV files that are text even if every value looks like a number.
_TEXTS = frozenset(
    "run system case_id scorer component kind unit question text reason_kind reason feedback "
    "metric against group warnings wins_ties_losses difference_flag".split()
)
# The apostrophe that keeps spreadsheets from reading a text as a formula; numbers and names have none.
_GUARD = re.compile(r"\A'(?='*[-=+@\t\r\n＝＋－＠].)(?!'*[-+][\d.]+(e[-+]?\d+)?\Z)", re.DOTALL | re.IGNORECASE)
_NAMES = ("system", "against", "case_id")
# Columns that come first, so that rows of several tables can be merged.
_FIRST = ("system", "case_id")
_SHOWN_ROWS = 20


class Table(Sequence[dict[str, Any]]):
    """Rows as mappings, `system` and `case_id` first: iterate over them, or convert them by `.pandas()` or `.polars()`."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        rows = list(rows)
        names = list(dict.fromkeys(name for row in rows for name in row))
        self.columns = [name for name in _FIRST if name in names] + [name for name in names if name not in _FIRST]
        self._rows = [{name: row.get(name) for name in self.columns} for row in rows]

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> Table: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | Table:
        return Table(self._rows[index]) if isinstance(index, slice) else self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str) -> list[Any]:
        """The values of a column. Raises KeyError with the columns that there are."""
        if name not in self.columns:
            raise KeyError(f"no column {name!r}; there are {', '.join(self.columns)}")
        return [row[name] for row in self._rows]

    def pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of pandas."""
        import pandas

        return pandas.DataFrame(self._rows, columns=self.columns)

    def polars(self) -> polars.DataFrame:
        """The rows as a data frame of polars."""
        import polars

        # Columns hold whole numbers in one row and fractions, or nothing, in another.
        return polars.DataFrame(self._rows, infer_schema_length=None, strict=False)

    def __repr__(self) -> str:
        return f"Table({len(self)} rows of {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        cells = [["" if value is None else str(value) for value in row.values()] for row in self._rows[:_SHOWN_ROWS]]
        more = f"<p>{_SHOWN_ROWS} of {len(self)} rows</p>" if len(self) > _SHOWN_ROWS else ""
        return html_table(self.columns, cells) + more


def table_of_lines(text: str) -> Table:
    """The records of a JSONL file."""
    return Table(json.loads(line) for line in text.split("\n") if line)


def table_of_csv(text: str, kind: str | None = None) -> Table:
    """The rows of a CSV file of the program, or those of this kind: numbers as such, empty cells as None."""
    header, *lines = csv.reader(io.StringIO(text, newline=""))
    rows = [dict(zip(header, line)) for line in lines]
    wanted = [row for row in rows if kind is None or row["kind"] == kind]
    readers = {name: _reader(name, [row[name] for row in rows]) for name in header}
    return Table({name: readers[name](cell) if cell else None for name, cell in row.items()} for row in wanted)


def _reader(name: str, cells: Sequence[str]) -> Callable[[str], object]:
    """How the cells of this column are read."""
    if name in _NAMES:
        return str
    if name in _TEXTS:
        return _unguarded
    for reader in (_truth, int, float):
        try:
            for cell in filter(None, cells):
                reader(cell)
        except ValueError:
            continue
        return reader
    return _unguarded


def _truth(cell: str) -> bool:
    if cell not in ("true", "false"):
        raise ValueError(cell)
    return cell == "true"


def _unguarded(cell: str) -> str:
    return _GUARD.sub("", cell)


def html_table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table. Names of systems may come from hostile files: everything is escaped."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
