"""A reward for verifiers 0.4, in the TOML of the environment; the data of its tasks have a `rubric`::

    [env.taskset.task.rewards]
    rubric = { fn = "scholareval.integrations.verifiers:reward" }
"""

from __future__ import annotations

from typing import Any

from .. import areward


async def reward(task: Any, trace: Any) -> float:
    """The reward of the last reply by `task.rubric`; the judge is that of SCHOLAREVAL_MODEL, SCHOLAREVAL_BASE_URL or SCHOLAREVAL_CONFIG.

    An answer that could not be judged, and a judge that is down, raise: the reward stays empty and is never 0.
    """
    return await areward(task.prompt_text, trace.last_reply, task.rubric)
