"""Score long-form answers to scientific questions with an LLM judge, and compare the systems that wrote them.

The work is done by the program `scholareval`, which this package installs and calls; results are read from the files
that it writes (described in docs/formats.md)::

    import scholareval

    run = scholareval.score("answers", tests="tests.json", model="NAME", out="runs/mine")
    for row in run.scores: ..  # also run.items, run.calls, run.summary; .pandas() and .polars() make data frames
    scholareval.compare(run)
    scholareval.reward("Why is the sky blue?", "Air scatters ..", ["Names Rayleigh scattering"], model="NAME")
    await scholareval.areward(..)

Answers, tests and labels are paths, data frames of pandas or polars, or mappings. Every option of the command line is a
keyword argument: ``budget_usd=5`` is ``--budget-usd 5``, ``strict=True`` is ``--strict``, a list repeats an option, a mapping
is passed as JSON. API keys come from the environment.
"""

from ._commands import agree, ascore, compare, load, plan, score
from ._options import AgreeOptions, CompareOptions, PlanOptions, ScoreOptions
from ._program import (
    BadInput,
    BelowThreshold,
    JudgeUnavailable,
    ScholarevalError,
    Stopped,
    TooManyUnscored,
    Undecided,
    Unexpected,
    Usage,
)
from ._reward import areward, arewards, reward, rewards
from ._run import Comparison, Run
from ._table import Table

__all__ = [
    "AgreeOptions",
    "BadInput",
    "BelowThreshold",
    "CompareOptions",
    "Comparison",
    "JudgeUnavailable",
    "PlanOptions",
    "Run",
    "ScholarevalError",
    "ScoreOptions",
    "Stopped",
    "Table",
    "TooManyUnscored",
    "Undecided",
    "Unexpected",
    "Usage",
    "agree",
    "areward",
    "arewards",
    "ascore",
    "compare",
    "load",
    "plan",
    "reward",
    "rewards",
    "score",
]
