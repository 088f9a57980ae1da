"""Python's own types as the files that the program reads."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol, TypeGuard, cast

from ._options import Text
from ._program import BadInput

Row = dict[str, Any]

# What may not be in the name of a system, which is the name of a file.
_NO_NAME = re.compile(r"[/\\\0]|\A\.|\A\s*\Z")


class Frame(Protocol):
    """A data frame of pandas or polars."""

    @property
    def columns(self) -> Any: ...

    def __len__(self) -> int: ...


Records = Text | Frame | Iterable[Mapping[str, Any]]
"""A path, a data frame, or mappings."""


def _paths(data: object) -> list[Text] | None:
    """The paths, if these are paths."""
    if data is None:
        return []
    if is_path(data):
        return [data]
    if isinstance(data, Sequence):
        items = cast(Sequence[object], data)
        paths = [item for item in items if is_path(item)]
        if paths and len(paths) == len(items):
            return paths
    return None


def is_path(data: object) -> TypeGuard[Text]:
    """Whether it names a file."""
    return isinstance(data, (str, os.PathLike))


def rows_of(data: object, what: str) -> list[Row]:
    """The rows of a frame or of mappings, with missing values (None, NaN, NaT) as None and numbers of numpy as Python's.

    Raises BadInput with the row, counted from 0, and the column.
    """
    rows: list[Row] = []
    for number, row in enumerate(_records(data, what)):
        place = f"{what}: row {number}"
        if not isinstance(row, Mapping):
            raise BadInput(f"{place}: expected a mapping of fields, found {type(row).__name__}")
        fields = cast(Mapping[object, object], row)
        rows.append({str(name): plain(value, f"{place}, column {name}") for name, value in fields.items()})
    if not rows:
        raise BadInput(f"{what}: no rows")
    return rows


def _records(data: Any, what: str) -> Iterable[object]:
    """What the rows are made of. Frames are recognized by their methods: neither library is needed here."""
    if hasattr(data, "to_dicts"):  # polars
        return cast(Iterable[object], data.to_dicts())
    if hasattr(data, "collect") and hasattr(data, "lazy"):  # a lazy frame of polars
        return cast(Iterable[object], data.collect().to_dicts())
    if hasattr(data, "columns") and hasattr(data, "to_dict"):  # pandas
        return cast(Iterable[object], data.to_dict("records"))
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        kind = type(cast(object, data)).__name__
        raise BadInput(f"{what}: expected a path, a data frame or a list of mappings, found {kind}")
    return cast(Iterable[object], data)


def plain(value: Any, place: str) -> Any:
    """The value as JSON has it. `place` is for the error: where it stands."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        # A cut generation may end with half a character, which UTF-8 cannot write.
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, float):
        if math.isinf(value):
            raise BadInput(f"{place}: {value} is not a number")
        return None if math.isnan(value) else float(value)
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, Mapping):
        fields = cast(Mapping[object, object], value)
        return {str(name): plain(item, f"{place}.{name}") for name, item in fields.items()}
    for convert in ("tolist", "to_list", "isoformat"):  # numpy's scalars and arrays, polars' series, dates
        if hasattr(value, convert):
            return plain(getattr(value, convert)(), place)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        items = cast(Sequence[object], value)
        return [plain(item, f"{place}[{index}]") for index, item in enumerate(items)]
    if hasattr(value, "__float__"):
        return plain(float(value), place)
    raise BadInput(f"{place}: expected a text, a number, a list or a mapping, found {type(value).__name__}")


class InputFiles:
    """The files of a call in a temporary directory, and the names by which errors mention them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # What each file is called in errors, and the rows that its lines come from: rows are spread over files, and some are
        # left out.
        self._origins: dict[str, tuple[str, list[int]]] = {}
        self.notes: list[str] = []

    def answers(self, data: object) -> list[Text]:
        """The files of answers: paths as they are, rows as one file for each `system`."""
        paths = _paths(data)
        if paths is not None:
            return paths
        rows = rows_of(data, "answers")
        systems: dict[str, list[int]] = {}
        for number, row in enumerate(rows):
            given = row.pop("system", None)
            system = "answers" if given in (None, "") else str(given)
            if _NO_NAME.search(system) or len(system.encode()) > 200:
                what = f"{system!r} cannot be the name of a file; leave out / and \\, and a dot at the beginning"
                raise BadInput(f"answers: row {number}, column system: {what}")
            systems.setdefault(system, []).append(number)
            row.update(_whole_id(row))
        folder = self._folder / "answers"
        folder.mkdir()
        return [self._write(folder / f"{name}.jsonl", "answers", rows, numbers) for name, numbers in systems.items()]

    def tests(self, data: object) -> Text | None:
        """The file of test cases. Rows with one `criterion` each are a CSV file, as the program reads them."""
        if data is None or is_path(data):
            return data
        rows = rows_of(data, "tests")
        fields = {name for row in rows for name in row}
        has_one = "criterion" in fields and "criteria" not in fields
        needed = "criterion" if has_one else "criteria" if "criteria" in fields else None
        kept: list[int] = []
        for number, row in enumerate(rows):
            row.update(_whole_id(row))
            if needed is not None and row.get(needed, 0) is None:
                self.notes.append(f"note: tests: row {number}, column {needed}: missing; the row is not scored")
            else:
                kept.append(number)
        if not kept:
            raise BadInput(f"tests: column {needed}: missing in every row")
        if has_one:
            return self._write_csv(self._folder / "tests.csv", rows, kept)
        return self._write(self._folder / "tests.jsonl", "tests", rows, kept)

    def labels(self, data: object) -> list[Text]:
        """The files of labels."""
        paths = _paths(data)
        if paths is not None:
            return paths
        rows = rows_of(data, "labels")
        for row in rows:
            row.update(_whole_id(row))
        return [self._write(self._folder / "labels.jsonl", "labels", rows, range(len(rows)))]

    def renamed(self, line: str) -> str:
        """A line of the program's output, with rows of the caller instead of lines of temporary files."""
        for path, (what, rows) in self._origins.items():
            if path in line:
                line = _renamed(line, path, what, rows)
        return line.replace(str(self._folder), "..")

    def _write(self, path: Path, what: str, rows: Sequence[Row], numbers: Iterable[int]) -> Text:
        origins: list[int] = []
        with path.open("w", encoding="utf-8") as file:
            for number in numbers:
                write_line(file, rows[number])
                origins.append(number)
        self._origins[str(path)] = (what, origins)
        return path

    def _write_csv(self, path: Path, rows: Sequence[Row], numbers: Iterable[int]) -> Text:
        names = list(dict.fromkeys(name for row in rows for name in row))
        origins = [_HEADER]
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.DictWriter(file, names).writeheader()
            for number in numbers:
                text = io.StringIO(newline="")
                csv.DictWriter(text, names).writerow({name: _cell(value) for name, value in rows[number].items()})
                file.write(text.getvalue())
                # A text of several lines is as many in the file.
                origins += [number] * text.getvalue().count("\n")
        self._origins[str(path)] = ("tests", origins)
        return path


def _cell(value: object) -> object:
    """A list of tags as the program reads it in a table."""
    if isinstance(value, list):
        return ";".join(str(item) for item in cast(list[object], value))
    return value


# The line of a CSV file that comes from no row.
_HEADER = -1


def _renamed(line: str, path: str, what: str, rows: Sequence[int]) -> str:
    """The line with `what: row 3` for the fourth line of this file."""

    def row_of(number: str | None) -> str | None:
        index = int(number or 0) - 1
        is_row = 0 <= index < len(rows) and rows[index] != _HEADER
        return f"row {rows[index]}" if is_row else None

    def place(match: re.Match[str]) -> str:
        row = row_of(match.group(1))
        return f"{what}: {row}" if row else what

    def first(match: re.Match[str]) -> str:
        row = row_of(match.group(1))
        return f"first in {row}" if row else match.group(0)

    line = re.sub(re.escape(path) + r"(?::(\d+))?", place, line)
    line = re.sub(r"first on line (\d+)", first, line)
    return line.replace("keep one of the two lines", "keep one of the two rows")


def _whole_id(row: Row) -> Row:
    """A whole number as id: pandas makes 7 of a column with gaps 7.0."""
    value = row.get("case_id")
    return {"case_id": int(value)} if isinstance(value, float) and value.is_integer() else {}


def write_line(file: IO[str], record: Mapping[str, object]) -> None:
    """A line of JSON."""
    file.write(json.dumps(record, ensure_ascii=False) + "\n")
