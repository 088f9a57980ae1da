"""Rewards: how well answers meet the criteria of a rubric, for training."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Union

from ._program import Option, TooManyUnscored
from ._run import score

# A text, or a conversation of messages with `role` and `content`.
Question = Union[str, Sequence[Mapping[str, str]]]
# Criteria: texts, or mappings with `text` and `weight` (a negative weight takes points away).
Rubric = Union[str, Sequence[Union[str, Mapping[str, object]]]]


def reward(question: Question, answer: str, rubric: Rubric, model: str | None = None, **options: Option) -> float:
    """The share of the rubric's positive weights that the answer earns: at most 1, below 0 with negative weights.

    The options are those of `score`: the judge above all. Raises TooManyUnscored if the answer could not be judged.
    """
    (value,) = rewards([(question, answer, rubric)], model, **options)
    if value is None:
        raise TooManyUnscored("the answer could not be judged")
    return value


def rewards(
    items: Iterable[tuple[Question, str, Rubric]], model: str | None = None, **options: Option
) -> list[float | None]:
    """`reward` for many (question, answer, rubric), in their order, with one call of the program.

    An answer that could not be judged has `None`, never 0. If none could be judged, this raises JudgeUnavailable or
    TooManyUnscored: the judge is down or misconfigured. Replies are cached as in `score`; the run itself is not kept.
    """
    items = list(items)
    if not items:
        return []
    with tempfile.TemporaryDirectory(prefix="scholareval-") as name:
        folder = Path(name)
        tests, answers = folder / "rubrics.jsonl", folder / "answers.jsonl"
        with tests.open("w", encoding="utf-8") as cases, answers.open("w", encoding="utf-8") as texts:
            for number, (question, answer, rubric) in enumerate(items, 1):
                criteria = [rubric] if isinstance(rubric, str) else list(rubric)
                json.dump({"case_id": str(number), "question": question, "criteria": criteria}, cases)
                # half a character, which a cut generation may end with, is no text
                text = answer.encode("utf-8", "replace").decode("utf-8")
                json.dump({"case_id": str(number), "answer_text": text}, texts)
                cases.write("\n")
                texts.write("\n")
        fixed: dict[str, Option] = {"scorers": "criteria", "out": folder / "run"}
        run = score(answers, tests, model, **{"quiet": True, "max_unscored": "100%", **options, **fixed})
        lines = (run.path / "scores.jsonl").read_text(encoding="utf-8").split("\n")
        scores = {record["case_id"]: record for record in (json.loads(line) for line in lines if line)}
    values = [scores[str(number)] for number in range(1, len(items) + 1)]
    return [value.get("score", value.get("lexical_score")) for value in values]
