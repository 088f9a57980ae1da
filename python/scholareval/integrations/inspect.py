"""A scorer for Inspect AI: `Task(.., scorer=rubric_scorer(model="NAME"))`, with each sample's rubric in its metadata."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import TYPE_CHECKING, Any

from .._reward import ajudge

if TYPE_CHECKING:
    from inspect_ai.scorer import Score, Scorer, Target
    from inspect_ai.solver import TaskState


def rubric_scorer(
    model: str | None = None, *, rubric: str = "rubric", groups: Sequence[str] = (), **options: Any
) -> Scorer:
    """The reward of each answer by the rubric in this field of the sample's metadata, with its criteria as metadata.

    With `groups`, tags of criteria, the value is a mapping of these to their rewards, the same for every sample, as Inspect
    requires. What could not be judged is unscored, never 0; a judge that is down ends the sample with an error.
    """
    from inspect_ai.scorer import Score, mean, scorer, stderr

    async def score(state: TaskState, target: Target) -> Score:
        question, answer = state.input_text, state.output.completion
        judged = await ajudge(question, answer, state.metadata[rubric], {"model": model, **options})
        lines = [f"unscored: {judged.reason}"] if judged.value is None else []
        lines += [f"- {one.get('text', name)}: {one.get('value')}" for name, one in judged.criteria.items()]
        about: Any = {"answer": answer, "explanation": "\n".join(lines), "metadata": {"criteria": dict(judged.criteria)}}
        if judged.value is None:
            # Older versions of Inspect have no field for the reason; the explanation has it, too.
            reason: Any = {"reason": judged.reason} if "reason" in Score.model_fields else {}
            return Score.unscored(**about, **reason)
        values = {group: judged.of_tag(group) for group in groups}
        # Inspect counts NaN in a mapping as unscored, and None as 0.
        value: Any = {group: nan if of is None else of for group, of in values.items()} if groups else judged.value
        return Score(value=value, **about)

    metrics: Any = {"*": [mean(), stderr()]} if groups else [mean(), stderr()]
    # Without arguments, so that no option ends up in the log.
    made: Scorer = scorer(metrics=metrics, name="scholareval")(lambda: score)()
    return made
