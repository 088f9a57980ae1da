"""Rewards: how well answers meet the criteria of a rubric, for training."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack, cast

from ._batch import Batches
from ._commands import Judge
from ._inputs import plain, write_line
from ._options import ScoreOptions, Text
from ._program import BadInput, Output, ScholarevalError, TooManyUnscored, Usage, arguments, call, call_async, short_lived

Question = str | Sequence[Mapping[str, str]]
"""A text, or a conversation of messages with `role` and `content`."""

Rubric = str | Mapping[str, object] | Sequence[object]
"""Criteria: texts, or mappings with `text`, `weight` (a negative one takes points away) and `tags`; one of them, or a list."""

Item = tuple[Question, str | None, Rubric]
"""A question, an answer (None: there is none) and a rubric."""


def reward(
    question: Question,
    answer: str,
    rubric: Rubric,
    model: str | None = None,
    *,
    base_url: str | Sequence[str] | None = None,
    judge: Judge | None = None,
    samples: int | None = None,
    out: Text | None = None,
    cache: Text | None = None,
    concurrency: int | None = None,
    quiet: bool = True,
    **options: Unpack[ScoreOptions],
) -> float:
    """The share of the rubric's positive weights that the answer earns: at most 1, below 0 with negative weights.

    The options are those of `score`: the judge above all. Raises TooManyUnscored if the answer could not be judged.
    """
    (value,) = rewards(
        [(question, answer, rubric)], model, base_url=base_url, judge=judge, samples=samples, out=out, cache=cache,
        concurrency=concurrency, quiet=quiet, **options,
    )
    if value is None:
        raise TooManyUnscored("there is no answer to judge")
    return value


def rewards(
    items: Iterable[Item],
    model: str | None = None,
    *,
    base_url: str | Sequence[str] | None = None,
    judge: Judge | None = None,
    samples: int | None = None,
    out: Text | None = None,
    cache: Text | None = None,
    concurrency: int | None = None,
    quiet: bool = True,
    **options: Unpack[ScoreOptions],
) -> list[float | None]:
    """`reward` for many (question, answer, rubric), in their order, with one call of the program.

    An answer that is missing (None) or could not be judged has None, never 0; so has one that an option such as `limit` leaves
    out. If none could be judged, this raises JudgeUnavailable or TooManyUnscored: the judge is down or misconfigured. A
    question or rubric that cannot be used raises BadInput with its index before any call.

    Replies are cached as in `score`; the run itself is kept only if `out` names its directory. All calls of an answer start
    together (`at_once`).
    """
    checked = [_checked(item, f"item {index}") for index, item in enumerate(items)]
    asked = [item for item in checked if item.answer is not None]
    if not asked:
        return [None] * len(checked)
    settings = _settings(
        options, model=model, base_url=base_url, judge=judge, samples=samples, out=out, cache=cache, concurrency=concurrency
    )
    with _RewardRun(asked, settings) as run:
        judged = iter(run.results(call(run.words, quiet, run.renamed)))
    return _values([None if item.answer is None else next(judged) for item in checked])


async def areward(
    question: Question,
    answer: str,
    rubric: Rubric,
    model: str | None = None,
    *,
    base_url: str | Sequence[str] | None = None,
    judge: Judge | None = None,
    samples: int | None = None,
    cache: Text | None = None,
    concurrency: int | None = None,
    **options: Unpack[ScoreOptions],
) -> float:
    """`reward` for an event loop: awaits of the same options within 20 ms, up to 256, become one call of the program.

    They share its limits: `concurrency` (32 by default) is that of all their calls. A question or rubric that cannot be used
    raises in its own await only. A cancelled await leaves its batch; when nobody waits for a batch any more, the program is
    stopped, and replies that arrived stay in the cache.
    """
    (value,) = await arewards(
        [(question, answer, rubric)], model, base_url=base_url, judge=judge, samples=samples, cache=cache,
        concurrency=concurrency, **options,
    )
    if value is None:
        raise TooManyUnscored("there is no answer to judge")
    return value


async def arewards(
    items: Iterable[Item],
    model: str | None = None,
    *,
    base_url: str | Sequence[str] | None = None,
    judge: Judge | None = None,
    samples: int | None = None,
    cache: Text | None = None,
    concurrency: int | None = None,
    **options: Unpack[ScoreOptions],
) -> list[float | None]:
    """`rewards` for an event loop, in one call of the program with other awaits, as in `areward`."""
    checked = [_checked(item, f"item {index}") for index, item in enumerate(items)]
    settings = _settings(
        options, model=model, base_url=base_url, judge=judge, samples=samples, out=None, cache=cache, concurrency=concurrency
    )
    asked = [item for item in checked if item.answer is not None]
    judged = iter(await _BATCHES.gather(settings, asked))
    return _values([None if item.answer is None else next(judged) for item in checked])


async def ajudge(question: Question, answer: str, rubric: Rubric, options: Mapping[str, Any]) -> Judged:
    """`areward` with the criteria, and with the reason in place of an exception where an answer could not be judged."""
    settings = _settings(options, out=None, judge=options.get("judge"))
    (judged,) = await _BATCHES.gather(settings, [_checked((question, answer, rubric), "item")])
    return judged


@dataclass
class _Checked:
    """An item as the program reads it, and its name in errors."""

    name: str
    question: Any
    answer: str | None
    criteria: Any


class Judged(NamedTuple):
    """The result for an answer: its value, or why it has none (empty: an option left it out), and its criteria."""

    value: float | None
    reason: str = ""
    # By name: `text`, `weight`, `tags`, `value`, `feedback`, `unscored`, without those that are empty.
    criteria: Mapping[str, Mapping[str, Any]] = {}

    def of_tag(self, tag: str) -> float | None:
        """The value over the criteria with this tag: weighted credits by the positive weights, as in scores by tag."""
        tagged = [one for one in self.criteria.values() if tag in one.get("tags", ())]
        # A weight of 0, as that of a criterion that the judge cannot assess, is not recorded.
        weights = [one.get("weight", 0.0) for one in tagged]
        credits = [_credit(one) for one in tagged]
        positive = sum(max(weight, 0.0) for weight in weights)
        if positive == 0 or None in credits:
            return None
        return float(sum(weight * (credit or 0.0) for weight, credit in zip(weights, credits)) / positive)


def _credit(criterion: Mapping[str, Any]) -> float | None:
    """The credit for a criterion. One that the judge cannot assess earns nothing, and is not unscored."""
    is_abstained = criterion.get("unscored", {}).get("kind") == "abstained"
    return 0.0 if is_abstained else criterion.get("value")


@dataclass(frozen=True)
class _Settings:
    """The options of a reward, as words of the command line: equal ones can share a call. Not shown: they may hold secrets."""

    words: tuple[str, ...]
    out: Text | None
    is_lexical: bool

    def __repr__(self) -> str:
        return "_Settings(..)"


def _settings(options: Mapping[str, object], *, out: Text | None, judge: object, **named: object) -> _Settings:
    """The options, with the defaults of rewards."""
    for name in ("scorers", "tests", "out"):
        if name in options:
            why = "awaits share a run, which is not kept" if name == "out" else "a reward is by the criteria of its rubric"
            raise Usage(f"{name} is not an option here: {why}")
    defaults = {"max_unscored": "100%", "at_once": True}
    everything = {**defaults, **named, **options, "judge": judge, "scorers": "criteria", "format": "json"}
    command, *words, _ = arguments("score", [], everything)
    return _Settings((command, *words), out, judge == "lexical")


def _checked(item: object, name: str) -> _Checked:
    """The item, if its parts have the types of one. What else is wrong with it, the program finds before any call."""
    found = type(item).__name__
    parts = list(cast(Sequence[Any], item)) if isinstance(item, (tuple, list)) else []
    if len(parts) != 3:
        raise BadInput(f"{name}: expected (question, answer, rubric), found {found}")
    question, answer, rubric = parts
    if isinstance(answer, float) and answer != answer:  # NaN, as data frames have it
        answer = None
    if answer is not None and not isinstance(answer, str):
        raise BadInput(f"{name}: answer: expected a text or None, found {type(answer).__name__}")
    rubric = plain(rubric, f"{name}: rubric")
    if not rubric or not isinstance(rubric, (str, list, dict)):
        raise BadInput(f"{name}: rubric: expected criteria, found {'nothing' if not rubric else type(rubric).__name__}")
    is_one = isinstance(rubric, str) or isinstance(rubric, dict) and "text" in rubric
    text = None if answer is None else plain(answer, name)
    return _Checked(name, plain(question, f"{name}: question"), text, [rubric] if is_one else rubric)


class _RewardRun:
    """The files of a call for some items, and its results."""

    def __init__(self, items: Sequence[_Checked], settings: _Settings) -> None:
        self._items = items
        self._settings = settings
        self._temporary = short_lived()
        self._folder = Path(self._temporary.name)
        tests = self._folder / "rubrics.jsonl"
        answers = self._folder / "answers.jsonl"
        # A line of these files in an error, with the id of its case where it is known. Only the whole path: a text that an error
        # quotes may look like a place, too.
        files = "|".join(re.escape(str(path)) for path in (tests, answers))
        self._line = re.compile(rf"(?:{files}):(\d{{1,9}})(?: \(case \d+\))?")
        with tests.open("w", encoding="utf-8") as cases, answers.open("w", encoding="utf-8") as texts:
            for number, item in enumerate(items, 1):
                write_line(cases, {"case_id": str(number), "question": item.question, "criteria": item.criteria})
                write_line(texts, {"case_id": str(number), "answer_text": item.answer})
        place = f"--out={self._folder / 'run'}" if settings.out is None else f"--out={settings.out}"
        # Nothing of a run that is deleted needs to outlive a power cut.
        kept = ["--temporary", "--no-inputs"] if settings.out is None else []
        self.words = [*settings.words, f"--tests={tests}", place, *kept, "--", str(answers)]

    def __enter__(self) -> _RewardRun:
        return self

    def __exit__(self, *_: object) -> None:
        self._temporary.cleanup()

    def renamed(self, line: str) -> str:
        """A line of the program's output with items instead of lines of temporary files."""
        return self._line.sub(self._place, line).replace(f"{self._folder}/", "")

    def _place(self, match: re.Match[str]) -> str:
        """The item of a line."""
        number = int(match.group(1))
        return self._items[number - 1].name if 1 <= number <= len(self._items) else match.group()

    def results(self, output: Output) -> list[Judged]:
        """The results in the order of the items."""
        if output.run is None:
            raise ScholarevalError("the program recorded no run: leave out dry_run")
        lines = (output.run / "scores.jsonl").read_text(encoding="utf-8").split("\n")
        scores = {record["case_id"]: record for record in (json.loads(line) for line in lines if line)}
        records = [scores.get(str(number), {}) for number in range(1, len(self._items) + 1)]
        if any("lexical_score" in record for record in records) and not self._settings.is_lexical:
            raise Usage("no judge: name model or base_url, or judge='lexical' for the built-in baseline")
        return [_judged(record) for record in records]


def _judged(record: Mapping[str, Any]) -> Judged:
    """The result in a line of scores."""
    value = record.get("score", record.get("lexical_score"))
    criteria = record.get("details", {})
    reasons = {one["unscored"]["message"] for one in criteria.values() if "unscored" in one}
    return Judged(value, "" if value is not None else ", ".join(sorted(reasons)), criteria)


def _values(judged: Sequence[Judged | None]) -> list[float | None]:
    """The values, unless no answer has one."""
    asked = [one for one in judged if one is not None]
    if asked and all(one.value is None for one in asked):
        reasons = sorted({one.reason for one in asked if one.reason})
        raise TooManyUnscored(f"no answer could be judged: {', '.join(reasons)}")
    return [None if one is None else one.value for one in judged]


async def _judge_batch(settings: _Settings, items: Sequence[_Checked]) -> list[Judged | ScholarevalError]:
    """The result of each item, or the error that is its own."""
    results: dict[int, Judged | ScholarevalError] = {}
    # No text of an item can hold it, and so pass for a fault of another one.
    batch = secrets.token_hex(8)
    while len(results) < len(items):
        left = [index for index in range(len(items)) if index not in results]
        # Their names say which items the program refuses.
        numbered = [replace(items[index], name=f"<{batch} {index}>") for index in left]
        try:
            with _RewardRun(numbered, settings) as run:
                judged = run.results(await call_async(run.words, True, run.renamed))
        except TooManyUnscored as error:
            # None of them has a value, which each await says for itself.
            results.update((index, Judged(None, str(error))) for index in left)
        except BadInput as error:
            # Found before any call: the others are asked without them.
            refused = {index: what for index, what in _faults(str(error), batch).items() if index in left}
            if not refused:
                raise
            results.update((index, BadInput(f"{items[index].name}: {what}")) for index, what in refused.items())
        else:
            results.update(zip(left, judged))
    return [results[index] for index in range(len(items))]


def _faults(message: str, batch: str) -> dict[int, str]:
    """What an error says about items of a batch by their index."""
    faults: dict[int, str] = {}
    for line in message.split("\n"):
        match = re.match(rf"<{batch} (\d+)>:? ?(.*)", line)
        if match:
            faults.setdefault(int(match.group(1)), match.group(2))
    return faults


_BATCHES = Batches[_Settings, _Checked, Judged](_judge_batch)
