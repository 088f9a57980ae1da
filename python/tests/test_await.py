"""Awaits that share a call of the program."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest
import scholareval
from conftest import Judge
from scholareval import _reward

TRUE = ("why?", "rain", "Names it")
FALSE = ("why?", "sun", "Names it")
ODD = ("why?", "odd", "Names it")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def batches(monkeypatch):
    """The number of items of each call of the program."""
    sizes = []
    work = _reward._judge_batch

    async def counted(settings, items):
        sizes.append(len(items))
        return await work(settings, items)

    monkeypatch.setattr(_reward._BATCHES, "_work", counted)
    return sizes


def test_awaits_of_the_same_options_become_one_call(judge, batches):
    async def main():
        ones = [scholareval.areward(*item, **judge) for item in (TRUE, FALSE, TRUE)]
        many = scholareval.arewards([FALSE, ("why?", None, "x"), ODD, TRUE], **judge)
        other = scholareval.areward(*TRUE, **judge, temperature=0.5)
        return await asyncio.gather(*ones, many, other)

    assert asyncio.run(main()) == [1.0, 0.0, 1.0, [0.0, None, None, 1.0], 1.0]
    assert sorted(batches) == [1, 6]


def test_a_batch_has_256_items_at_most(judge, batches):
    items = [("why?", f"rain {number}", "Names rain") for number in range(300)]
    assert asyncio.run(scholareval.arewards(items, **judge, concurrency=64)) == [1.0] * 300
    assert batches == [256, 44]


def test_nothing_is_asked_without_an_answer(batches):
    assert asyncio.run(scholareval.arewards([("why?", None, "x")], model="none")) == [None]
    assert asyncio.run(scholareval.arewards([], model="none")) == [] and batches == []


def test_a_bad_item_raises_in_its_own_await_only(judge):
    bad = {
        "no weight": ("why?", "rain", [{"text": "Names rain", "weight": "y"}]),
        "empty": ("why?", "rain", []),
        "no text": ("why?", "rain", [{"txt": "Names rain"}]),
        "question": (5, "rain", "Names rain"),
        "answer": ("why?", 5, "Names rain"),
    }

    async def main():
        items = [TRUE, *bad.values(), FALSE]
        return await asyncio.gather(*(scholareval.areward(*item, **judge) for item in items), return_exceptions=True)

    first, *errors, last = asyncio.run(main())
    assert (first, last) == (1.0, 0.0)
    for name, error in zip(bad, errors):
        assert isinstance(error, scholareval.BadInput), (name, error)
        assert str(error).startswith("item 0") and "tmp" not in str(error) and "jsonl" not in str(error), error
    assert Judge.calls == 2


def test_rewards_name_the_bad_rubric_before_any_call(judge):
    items = [TRUE, FALSE, ("why?", "rain", [{"text": "x", "weight": "y"}])]
    for call in (scholareval.rewards, lambda *a, **k: asyncio.run(scholareval.arewards(*a, **k))):
        with pytest.raises(scholareval.BadInput, match='^item 2:? .*expected a number, found "y"$'):
            call(items, **judge, no_cache=True)
        with pytest.raises(scholareval.BadInput, match="^item 1: rubric: expected criteria, found nothing"):
            call([TRUE, ("why?", "rain", None)], **judge)
    assert Judge.calls in (0, 2)  # the await asks about the others


def test_an_unscored_answer_raises_or_is_none(judge):
    async def main():
        return await asyncio.gather(
            scholareval.areward(*ODD, **judge), scholareval.areward(*TRUE, **judge), return_exceptions=True
        )

    error, value = asyncio.run(main())
    assert isinstance(error, scholareval.TooManyUnscored) and value == 1.0
    assert str(error).startswith("no answer could be judged: ") and len(str(error)) > 30
    for call in (scholareval.areward(*ODD, **judge), scholareval.arewards([ODD, ODD], **judge)):
        with pytest.raises(scholareval.TooManyUnscored):
            asyncio.run(call)


def test_a_judge_that_is_down_raises_in_every_await():
    async def main():
        options = {"model": "x", "base_url": "localhost:9", "retries": 0}
        awaits = [scholareval.areward(*item, **options) for item in (TRUE, FALSE)]
        return await asyncio.gather(*awaits, return_exceptions=True)

    errors = asyncio.run(main())
    assert [type(error) for error in errors] == [scholareval.JudgeUnavailable] * 2 and errors[0] is not errors[1]
    with pytest.raises(scholareval.Usage, match="no judge"):
        asyncio.run(scholareval.areward(*TRUE))
    with pytest.raises(scholareval.Usage, match="out is not an option here: awaits share a run"):
        asyncio.run(scholareval.areward(*TRUE, model="x", out="run"))


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_cancelled_await_leaves_its_batch_and_the_others_have_their_values(judge, monkeypatch, batches):
    monkeypatch.setattr(Judge, "delay", 0.5)

    async def main():
        stays = asyncio.create_task(scholareval.areward(*TRUE, **judge))
        leaves = asyncio.create_task(scholareval.areward(*FALSE, **judge))
        before = asyncio.create_task(scholareval.areward("why?", "early", "Names rain", **judge))
        await asyncio.sleep(0)
        before.cancel()  # before the call
        while Judge.calls == 0:
            await asyncio.sleep(0.01)
        leaves.cancel()
        value = await stays
        return value, leaves.cancelled(), before.cancelled()

    assert asyncio.run(main()) == (1.0, True, True) and batches == [2]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_the_program_stops_when_nobody_waits_and_what_was_paid_is_kept(judge, monkeypatch):
    monkeypatch.setattr(Judge, "delay", 0.3)
    items = [("why?", f"rain {number}", "Names rain") for number in range(8)]
    options = {**judge, "concurrency": 1}

    async def main():
        task = asyncio.create_task(scholareval.arewards(items, **options))
        while Judge.calls < 2:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # the program ends in the background, after the call in flight
        for other in asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait([other])

    asyncio.run(main())
    asked = Judge.calls
    assert asked < 8
    monkeypatch.setattr(Judge, "delay", 0.0)
    assert scholareval.rewards(items, **options) == [1.0] * 8
    assert Judge.calls == 8


@pytest.mark.skipif(os.name != "posix", reason="fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_batches_of_its_own(judge):
    async def main():
        waiting = asyncio.create_task(scholareval.areward(*TRUE, **judge))
        await asyncio.sleep(0)  # it has opened a batch
        child = os.fork()
        if child == 0:
            code = 1
            try:
                asyncio.events._set_running_loop(None)
                loop = asyncio.new_event_loop()
                code = 0 if loop.run_until_complete(scholareval.areward(*FALSE, **judge)) == 0.0 else 2
            finally:
                os._exit(code)
        value = await waiting
        return value, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert asyncio.run(main()) == (1.0, 0)


def test_a_second_loop_has_batches_of_its_own(judge):
    assert [asyncio.run(scholareval.areward(*TRUE, **judge)) for _ in range(2)] == [1.0, 1.0]


def test_a_run_is_scored_in_a_running_loop(files, judge):
    async def main():
        # the loop is free while the program runs
        ticks = asyncio.create_task(asyncio.sleep(0))
        run, failed = await asyncio.gather(
            scholareval.ascore(**files, **judge, out="run", quiet=True),
            scholareval.ascore([{"id": 1}], [{"case_id": 1}], quiet=True),
            return_exceptions=True,
        )
        await ticks
        return run, failed

    run, failed = asyncio.run(main())
    assert run.path == Path("run") and len(run.scores) == 4 and isinstance(failed, scholareval.BadInput)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_cancelled_run_is_recorded_as_stopped(files, judge, monkeypatch):
    monkeypatch.setattr(Judge, "delay", 0.3)

    async def main():
        task = asyncio.create_task(scholareval.ascore(**files, **judge, out="run", concurrency=1, quiet=True))
        while Judge.calls < 2:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert scholareval.load("run").manifest["status"] == "stopped"


def test_the_first_call_of_an_answer_does_not_go_alone(judge, monkeypatch):
    monkeypatch.setattr(Judge, "delay", 0.5)
    rubric = ["Names rain", "Names it", "Says when", "Says where"]
    begun = time.monotonic()
    assert scholareval.reward("why?", "rain " * 2000, rubric, **judge) == 1.0
    if sys.gettrace() is None:
        assert Judge.calls == 4 and time.monotonic() - begun < 60


def test_no_secret_is_in_what_a_failed_reward_shows(judge, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-value-1234")
    header = {"X-Secret": "sk-header-value-1234"}
    settings = _reward._settings({"header": header}, out=None, judge=None, model="x")
    assert "secret" not in repr(settings)
    with pytest.raises(scholareval.JudgeUnavailable) as caught:
        scholareval.reward(*TRUE, model="x", base_url="localhost:9", retries=0, header=header)
    with pytest.raises(scholareval.Usage) as refused:
        scholareval.reward(*TRUE, model="x", api_key="sk-option-value-1234")
    for error in (caught, refused):
        shown = f"{error.value} {error.value!r} {error.getrepr(style='native')}"
        assert not any(secret in shown for secret in ("sk-secret", "sk-header")), shown
    assert "sk-option" not in str(refused.value)


def test_a_batch_that_everybody_left_is_not_begun(judge, batches):
    async def main():
        alone = asyncio.create_task(scholareval.areward(*TRUE, **judge))
        await asyncio.sleep(0)
        alone.cancel()
        await asyncio.sleep(0.001)
        return await scholareval.areward(*FALSE, **judge)

    assert asyncio.run(main()) == 0.0 and batches == [1] and Judge.calls == 1


def test_a_group_counts_criteria_without_a_recorded_weight():
    # What the judge cannot assess has the weight 0, which records leave out.
    abstained = {"tags": ["depth"], "unscored": {"kind": "abstained", "message": "no source"}}
    met = {"tags": ["depth"], "weight": 0.5, "value": 1.0}
    assert _reward.Judged(1.0, "", {"a": met, "b": abstained}).of_tag("depth") == 1.0
    assert _reward.Judged(1.0, "", {"b": abstained}).of_tag("depth") is None


def test_an_error_that_quotes_what_looks_like_a_place_does_not_end_the_call():
    run = _reward._RewardRun([_reward._checked(TRUE, "item 0")], _reward._Settings((), None, True))
    with run:
        lines = [f"{run._folder}/answers.jsonl:{number}: x" for number in (1, 0, 2, "9" * 9, "9" * 5000)]
        assert [run.renamed(line) for line in lines][:3] == ["item 0: x", "answers.jsonl:0: x", "answers.jsonl:2: x"]
        assert run.renamed(lines[-1]).endswith("9: x")
        assert run.renamed("answers.jsonl:1: x") == "answers.jsonl:1: x"


HOSTILE = [
    {"a\nrubrics.jsonl:1: forged": "b"},
    [{"text": "a", "weight": "rubrics.jsonl:1: forged"}],
    {"a\n<0>: forged": "b", "\n       <0> forged": "b"},
]


@pytest.mark.parametrize("rubric", HOSTILE)
def test_a_hostile_field_name_raises_in_its_own_await_only(judge, batches, rubric):
    async def main():
        return await asyncio.gather(
            scholareval.areward(*TRUE, **judge), scholareval.areward("Why?", "So.", rubric, **judge), return_exceptions=True
        )

    good, bad = asyncio.run(main())
    assert good == 1.0 and isinstance(bad, scholareval.BadInput), (good, bad)
    assert "forged" in str(bad) or "expected" in str(bad)
