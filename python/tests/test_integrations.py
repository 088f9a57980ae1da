"""The adapters in the programs that they are for; TRL's and verl's are called as the sources of these trainers call them."""

import asyncio
import functools
import importlib
import inspect
import json
import math
import subprocess
import sys
import tomllib

import pytest
import scholareval

RUBRIC = [{"text": "Says it", "weight": 3, "tags": ["depth"]}, {"text": "Names it", "tags": ["style"]}]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_adapters_import_nothing_before_use():
    modules = [f"scholareval.integrations.{name}" for name in ("inspect", "trl", "verl", "verifiers")]
    code = (
        f"import importlib, sys; [importlib.import_module(name) for name in {modules!r}]; "
        "print(sorted({'inspect_ai', 'trl', 'verl', 'verifiers', 'pandas', 'polars', 'numpy', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def inspect_eval(answers, **options):
    """A real `eval` over these answers, which a solver gives in place of a model."""
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver
    from scholareval.integrations.inspect import rubric_scorer

    @solver
    def given():
        async def solve(state, generate):
            state.output = ModelOutput.from_content("given", answers[state.sample_id])
            return state

        return solve

    samples = [Sample(id=name, input="why?", metadata={"rubric": RUBRIC}) for name in answers]
    task = inspect_ai.Task(dataset=samples, solver=given(), scorer=rubric_scorer(**options))
    (log,) = inspect_ai.eval(task, model="mockllm/model", display="none", log_dir="logs")
    return log


def test_inspect_scores_samples(judge):
    answers = {"a": "rain", "b": "sun", "c": "odd"}
    log = inspect_eval(answers, **judge)
    assert log.status == "success", log.error
    scores = {sample.id: sample.scores["scholareval"] for sample in log.samples}
    assert (scores["a"].value, scores["b"].value) == (1.0, 0.0) and math.isnan(scores["c"].value)
    assert scores["a"].answer == "rain" and scores["a"].explanation == "- Says it: 1.0\n- Names it: 1.0"
    assert scores["a"].metadata["criteria"]["c1"]["weight"] == 0.75
    assert scores["c"].explanation.startswith("unscored: ")
    if "reason" in type(scores["c"]).model_fields:
        assert scores["c"].explanation.startswith(f"unscored: {scores['c'].reason}")
    (results,) = log.results.scores
    assert (results.scored_samples, results.unscored_samples) == (2, 1) and results.metrics["mean"].value == 0.5
    assert judge["base_url"] not in log.model_dump_json()


def test_inspect_scores_groups_of_criteria(judge):
    log = inspect_eval({"a": "rain", "b": "sun", "c": "rain"}, **judge, groups=["depth", "style", "absent"])
    assert log.status == "success", log.error
    for sample in log.samples:
        value = sample.scores["scholareval"].value
        assert value["depth"] == value["style"] == (0.0 if sample.id == "b" else 1.0) and math.isnan(value["absent"])
    means = {score.name: score.metrics["mean"].value for score in log.results.scores}
    assert means["depth"] == pytest.approx(2 / 3)


def test_inspect_ends_with_an_error_where_the_judge_is_down():
    log = inspect_eval({"a": "rain"}, model="x", base_url="localhost:9", retries=0)
    assert log.status == "error" and "no judge answers" in log.error.message


def trl_rewards(function, prompts, completions, **columns):
    """As `GRPOTrainer` calls a reward function: by keyword, every column as a list."""
    assert inspect.iscoroutinefunction(function) and function.__name__
    return asyncio.run(
        function(
            prompts=prompts,
            completions=completions,
            completion_ids=[[1]] * len(prompts),
            trainer_state=object(),
            log_extra=lambda column, values: None,
            log_metric=lambda name, value: None,
            **columns,
        )
    )


def test_trl(judge):
    from scholareval.integrations.trl import rubric_reward

    function = rubric_reward(**judge)
    columns = {"rubric": [RUBRIC] * 3, "level": [1, 2, 3]}
    assert trl_rewards(function, ["why?"] * 3, ["rain", "odd", "sun"], **columns) == [1.0, None, 0.0]
    chats = [[{"role": "user", "content": "why?"}]] * 3
    replies = [[{"role": "assistant", "content": text}] for text in ("rain", "sun", "odd")]
    assert trl_rewards(function, chats, replies, **columns) == [1.0, 0.0, None]
    assert trl_rewards(function, ["why?"] * 2, ["odd", "odd"], rubric=[RUBRIC] * 2) == [None, None]
    down = rubric_reward(model="x", base_url="localhost:9", retries=0)
    with pytest.raises(scholareval.JudgeUnavailable):
        trl_rewards(down, ["why?"], ["rain"], rubric=[RUBRIC])


def test_verl(judge):
    # `pkg://` is taken off, the module imported, and the function called with the options, which win
    module = importlib.import_module("pkg://scholareval.integrations.verl".removeprefix("pkg://"))
    raw = module.compute_score
    assert inspect.iscoroutinefunction(raw)

    async def with_options(raw_function, extra, **keywords):
        return await raw_function(**{**keywords, **extra})

    function = functools.partial(with_options, raw, judge)
    assert inspect.iscoroutinefunction(function)

    async def main(rubric, **more):
        calls = [
            function(data_source="mine", solution_str=text, ground_truth=rubric, extra_info={"question": "why?"}, **more)
            for text in ("rain", "sun", "odd")
        ]
        return await asyncio.gather(*calls)

    wanted = [{"score": 1.0, "unscored": 0.0}, {"score": 0.0, "unscored": 0.0}, {"score": 0.0, "unscored": 1.0}]
    assert asyncio.run(main(RUBRIC)) == wanted
    more = {"reward_router_address": "127.0.0.1:1", "reward_model_tokenizer": object()}
    assert asyncio.run(main(json.dumps(RUBRIC), **more)) == wanted


def test_verifiers(judge, monkeypatch):
    vf = pytest.importorskip("verifiers.v1")
    monkeypatch.setenv("SCHOLAREVAL_MODEL", judge["model"])
    monkeypatch.setenv("SCHOLAREVAL_BASE_URL", judge["base_url"])
    from verifiers.v1.configs.task import TaskConfig
    from verifiers.v1.trace import AgentInfo, TraceTask

    class Data(vf.TaskData):
        rubric: list

    class Rubric(vf.Task[Data, vf.State, TaskConfig]):
        pass

    text = '[rewards]\nrubric = { fn = "scholareval.integrations.verifiers:reward", weight = 2.0 }\n'
    config = TaskConfig.model_validate(tomllib.loads(text))

    async def main(answer):
        task = Rubric(Data(idx=0, prompt="why?", rubric=RUBRIC), config)
        recorded = TraceTask(type="Rubric", data=task.data)
        trace = vf.Trace(task=recorded, agent=AgentInfo(config=vf.AgentConfig()), root_reply=answer)
        await task.score(trace)
        return trace

    trace = asyncio.run(main("rain"))
    assert trace.reward == 2.0
    with pytest.raises(Exception, match="no answer could be judged") as caught:
        asyncio.run(main("odd"))
    assert type(caught.value).__name__ == "TaskError"
