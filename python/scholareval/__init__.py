"""Score long-form answers to scientific questions with an LLM judge, and compare the systems that wrote them.

The work is done by the program `scholareval`, which this package installs and calls; results are read from the files
that it writes (described in docs/formats.md)::

    import scholareval

    run = scholareval.score("answers", tests="tests.json", model="NAME", out="runs/mine")
    run.scores, run.items, run.calls, run.summary  # data frames
    scholareval.compare(run)
    scholareval.reward("Why is the sky blue?", "Air scatters ..", ["Names Rayleigh scattering"], model="NAME")

Every option of the command line is a keyword argument: ``budget_usd=5`` is ``--budget-usd 5``, ``strict=True`` is
``--strict``, a list repeats an option, a mapping is passed as JSON. API keys come from the environment.
"""

from ._program import (
    BadInput, BelowThreshold, JudgeUnavailable, ScholarevalError, Stopped, TooManyUnscored, Undecided, Unexpected,
    Usage,
)
from ._reward import reward, rewards
from ._run import Comparison, Run, compare, load, score

__all__ = [
    "BadInput", "BelowThreshold", "Comparison", "JudgeUnavailable", "Run", "ScholarevalError", "Stopped",
    "TooManyUnscored", "Undecided", "Unexpected", "Usage", "compare", "load", "reward", "rewards", "score",
]
