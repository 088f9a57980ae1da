"""Rewards: how well answers meet the criteria of a rubric, for training."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Union

from ._program import Option, TooManyUnscored, Usage
from ._run import score

# A text, or a conversation of messages with `role` and `content`.
Question = Union[str, Sequence[Mapping[str, str]]]
# Criteria: texts, or mappings with `text` and `weight` (a negative weight takes points away); one of them, a list, or a
# mapping with a list for each group, as in files.
Rubric = Union[str, Mapping[str, object], Sequence[object]]


def reward(question: Question, answer: str, rubric: Rubric, model: str | None = None, **options: Option) -> float:
    """The share of the rubric's positive weights that the answer earns: at most 1, below 0 with negative weights.

    The options are those of `score`: the judge above all. Raises TooManyUnscored if the answer could not be judged.
    """
    (value,) = rewards([(question, answer, rubric)], model, **options)
    assert value is not None
    return value


def rewards(
    items: Iterable[tuple[Question, str, Rubric]], model: str | None = None, **options: Option
) -> list[float | None]:
    """`reward` for many (question, answer, rubric), in their order, with one call of the program.

    An answer that could not be judged has `None`, never 0; so has one that an option such as `limit` leaves out. If none
    could be judged, this raises JudgeUnavailable or
    TooManyUnscored: the judge is down or misconfigured. Replies are cached as in `score`; the run itself is kept only if
    `out` names its directory.
    """
    items = list(items)
    if not items:
        return []
    with tempfile.TemporaryDirectory(prefix="scholareval-") as name:
        folder = Path(name)
        tests, answers = folder / "rubrics.jsonl", folder / "answers.jsonl"
        with _open(tests) as cases, _open(answers) as texts:
            for number, (question, answer, rubric) in enumerate(items, 1):
                is_one = isinstance(rubric, str) or (isinstance(rubric, Mapping) and "text" in rubric)
                criteria = [rubric] if is_one else rubric if isinstance(rubric, Mapping) else list(rubric)
                _write(cases, {"case_id": str(number), "question": question, "criteria": criteria})
                _write(texts, {"case_id": str(number), "answer_text": answer})
        defaults: dict[str, Option] = {"quiet": True, "max_unscored": "100%", "out": folder / "run"}
        run = score(answers, tests, model, **{**defaults, **options, "scorers": "criteria"})
        lines = (run.path / "scores.jsonl").read_text(encoding="utf-8").split("\n")
        scores = {record["case_id"]: record for record in (json.loads(line) for line in lines if line)}
    records = [scores.get(str(number), {}) for number in range(1, len(items) + 1)]
    if any("lexical_score" in record for record in records) and options.get("judge") != "lexical":
        raise Usage("no judge: name model or base_url, or judge='lexical' for the built-in baseline")
    values = [record.get("score", record.get("lexical_score")) for record in records]
    if all(value is None for value in values):
        details: dict[str, Any] = next((record["details"] for record in records if record), {})
        reasons = [item["unscored"]["message"] for item in details.values() if "unscored" in item]
        raise TooManyUnscored(f"no answer could be judged: {', '.join(sorted(set(reasons)))}")
    return values


def _open(path: Path) -> IO[str]:
    """A file for texts; half a character, which a cut generation may end with, becomes a question mark."""
    return path.open("w", encoding="utf-8", errors="replace")


def _write(file: IO[str], record: Mapping[str, object]) -> None:
    """A line of JSON. Numpy numbers are written as numbers."""
    file.write(json.dumps(record, ensure_ascii=False, default=float) + "\n")
