"""A reward for verl: `reward.custom_reward_function.path=pkg://scholareval.integrations.verl`, and its name `compute_score`.

Options follow as `+reward.custom_reward_function.reward_kwargs.model=NAME`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .. import TooManyUnscored, areward


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any],
    reward_router_address: object = None,
    reward_model_tokenizer: object = None,
    **options: Any,
) -> dict[str, float]:
    """The reward by the rubric in `ground_truth` (criteria, or their JSON) for `extra_info["question"]`.

    verl knows no unscored reward: an answer that could not be judged has the score 0.0 and `unscored` 1.0, whose mean verl logs.
    Watch it, since these zeros are trained on. A judge that is down raises; verl's manager `rate_limited` makes 0.0 of it.
    """
    is_json = isinstance(ground_truth, str) and ground_truth.lstrip().startswith(("[", "{"))
    rubric = json.loads(ground_truth) if is_json else ground_truth
    try:
        value = await areward(extra_info["question"], solution_str, rubric, **options)
    except TooManyUnscored:
        return {"score": 0.0, "unscored": 1.0}
    return {"score": value, "unscored": 0.0}
