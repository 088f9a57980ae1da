"""A reward function for TRL: `GRPOTrainer(reward_funcs=rubric_reward(model="NAME"), ..)`, with rubrics as a column of the data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from .. import TooManyUnscored, arewards


def rubric_reward(
    model: str | None = None, *, rubric: str = "rubric", **options: Any
) -> Callable[..., Awaitable[list[float | None]]]:
    """The rewards of completions by the rubrics in this column; prompts are the questions.

    An answer that could not be judged has None, which TRL leaves out, and so have all of a step where none could. A judge
    that is down raises JudgeUnavailable, which ends the training: rewards of 0 would train on its failure.
    """

    async def scholareval_reward(prompts: list[Any], completions: list[Any], **columns: Any) -> list[float | None]:
        answers = [one if isinstance(one, str) else one[-1]["content"] for one in completions]
        items = list(zip(prompts, answers, columns[rubric], strict=True))
        try:
            return await arewards(items, model, **options)
        except TooManyUnscored:
            return [None] * len(items)

    return scholareval_reward
