"""Python's own types as input: frames, mappings, missing values, and errors that name the row and the column."""

import datetime
import inspect
import json
import typing
from pathlib import Path

import pytest
import scholareval
from scholareval import _options

TESTS = [
    {"case_id": "a", "question": "Why is it wet?", "criteria": [{"text": "Names rain", "weight": 3}, "Names wind"]},
    {"case_id": "b", "question": "Why is it dry?", "criteria": ["Names rain"]},
]
ANSWERS = [
    {"system": "old", "case_id": "a", "answer_text": "rain and wind"},
    {"system": "new", "case_id": "a", "answer_text": "rain"},
    {"system": "old", "case_id": "b", "answer_text": "rain"},
    {"system": "new", "case_id": "b", "answer_text": "sun"},
]
SCORES = {("old", "a"): 1.0, ("new", "a"): 0.75, ("old", "b"): 1.0, ("new", "b"): 0.0}
ROW = {"case_id": "a", "question": "why?", "criterion": "Names it", "weight": 1}
QUIET = {"quiet": True, "judge": "lexical", "out": "run", "overwrite": True}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def by_answer(run):
    return {(row["system"], row["case_id"]): row["lexical_score"] for row in run.scores}


def frame(library, rows):
    module = pytest.importorskip(library)
    return module.DataFrame(rows) if library == "pandas" else module.from_dicts(rows)


@pytest.mark.parametrize("form", ["list", "generator", "pandas", "polars"])
def test_answers_and_tests_are_mappings_or_frames(form):
    made = {"list": list, "generator": iter}.get(form, lambda rows: frame(form, rows))
    tests = TESTS if form == "polars" else made(TESTS)
    assert by_answer(scholareval.score(made(ANSWERS), tests, **QUIET)) == SCORES


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_one_criterion_a_row_and_whole_ids(library):
    rows = [{"case_id": 7, "question": "why?", "criterion": "Names rain", "weight": weight} for weight in (3, 1)]
    rows[1]["criterion"] = "Names wind"
    answers = frame(library, [{"case_id": 7, "answer_text": "rain"}])
    assert by_answer(scholareval.score(answers, frame(library, rows), **QUIET)) == {("answers", "7"): 0.75}


@pytest.mark.parametrize("form", ["none", "nan", "pandas", "polars"])
def test_a_missing_answer_is_unscored_with_a_reason_and_the_others_are_scored(form):
    rows = [dict(row, rating=None) for row in ANSWERS]
    rows[1]["answer_text"] = float("nan") if form == "nan" else None
    answers = rows if form in ("none", "nan") else frame(form, rows)
    run = scholareval.score(answers, TESTS, **QUIET, max_unscored="50%")
    assert by_answer(run) == {**SCORES, ("new", "a"): None}
    (row,) = [row for row in run.scores if row["lexical_score"] is None]
    reasons = {detail["unscored"]["message"] for detail in row["details"].values()}
    assert reasons == {"new has no answer: its text is null"}
    with pytest.raises(scholareval.TooManyUnscored) as caught:
        scholareval.score(answers, TESTS, **QUIET)
    assert by_answer(scholareval.load(caught.value.run)) == by_answer(run)


def test_missing_values_of_pandas(capsys):
    pandas = pytest.importorskip("pandas")
    rows = [dict(ANSWERS[0], answer_text=pandas.NaT), dict(ANSWERS[1], answer_text=pandas.NA, seen=pandas.NaT), *ANSWERS[2:]]
    run = scholareval.score(pandas.DataFrame(rows), TESTS, **QUIET, max_unscored="50%")
    assert by_answer(run) == {("old", "a"): None, ("new", "a"): None, ("old", "b"): 1.0, ("new", "b"): 0.0}
    tests = [dict(TESTS[0], criteria=None), TESTS[1]]
    run = scholareval.score(ANSWERS, tests, **{**QUIET, "quiet": False})
    assert by_answer(run) == {("old", "b"): 1.0, ("new", "b"): 0.0}
    errors = capsys.readouterr().err
    assert "note: tests: row 0, column criteria: missing; the row is not scored" in errors


def test_a_system_keeps_its_name_and_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    criteria = numpy.array([{"text": "Names rain", "weight": numpy.float32(3)}, {"text": "wind", "weight": numpy.int64(1)}])
    tests = [{"case_id": numpy.int64(1), "question": "why?", "criteria": criteria, "day": datetime.date(2026, 1, 1)}]
    answers = [{"system": "GPT 5 <x>", "case_id": 1.0, "answer_text": "rain"}]
    assert by_answer(scholareval.score(answers, tests, **QUIET)) == {("GPT 5 <x>", "1"): 0.75}


def test_errors_name_the_row_and_the_column_and_no_temporary_file(capfd):
    cases = [
        ([*ANSWERS, "text"], TESTS, "answers: row 4: expected a mapping of fields, found str"),
        ([dict(ANSWERS[0], answer_text=object())], TESTS, "answers: row 0, column answer_text: expected a text, .*found object"),
        ([dict(ANSWERS[0], system="a/b")], TESTS, "answers: row 0, column system: 'a/b' cannot be the name of a file"),
        ([ANSWERS[0], dict(ANSWERS[2], case_id="a")], TESTS, r"answers: row 1 \(case a\): duplicate case_id, first in row 0; keep one of the two rows"),
        ([{"id": "a", "txt": "rain"}], TESTS, "answers: no field for answer_text: the file has id, txt"),
        (ANSWERS, [dict(TESTS[0], criteria=[{"text": "x", "weight": "y"}])], r'tests: row 0 \(case a\): .*expected a number, found "y"'),
        (ANSWERS, [{"case_id": "a", "question": "q"}], "tests: no field criteria .*found case_id, question"),
        (ANSWERS, [dict(TESTS[0], weight=float("inf"))], "tests: row 0, column weight: inf is not a number"),
        (ANSWERS, [dict(ROW, criterion="Names\nit"), dict(ROW, weight="x")], "tests: row 1 .*expected a number"),
        ([], TESTS, "answers: no rows"),
        (5, TESTS, "answers: expected a path, a data frame or a list of mappings, found int"),
    ]
    for answers, tests, message in cases:
        with pytest.raises(scholareval.BadInput, match=message) as caught:
            scholareval.score(answers, tests, judge="lexical")
        assert "tmp" not in str(caught.value) and "jsonl" not in str(caught.value), caught.value
    assert "scholareval-" not in capfd.readouterr().err


def test_a_frame_without_the_fields_lists_those_that_it_has():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(scholareval.BadInput, match="answers: .* has id, txt; looked for answer_text, answer"):
        scholareval.score(pandas.DataFrame([{"id": 1, "txt": "rain"}]), TESTS, judge="lexical", quiet=True)


def test_a_plan_and_labels_take_rows(judge):
    planned = scholareval.plan(ANSWERS, TESTS, **judge, quiet=True)
    assert planned["answers"] == 4 and planned["total"]["now"]["calls"] == 6
    run = scholareval.score(ANSWERS, TESTS, **judge, out="run", quiet=True)
    labels = [
        {"system": system, "case_id": case, "rater": "ann", "value": value} for (system, case), value in SCORES.items()
    ]
    labels[0]["value"] = float("nan")
    agreement = scholareval.agree(run, labels=labels, quiet=True)
    assert [(rater["name"], rater["ratings"]) for rater in agreement["raters"]] == [("run", 4), ("ann", 3)]
    with pytest.raises(scholareval.BadInput, match=r"labels: row 1.*\"x\""):
        scholareval.agree(run, labels=[labels[1], {**labels[2], "value": "x"}], quiet=True)


def test_the_same_call_with_the_same_rows_is_the_same_run(judge):
    first = scholareval.score(ANSWERS, TESTS, **judge, quiet=True)
    assert scholareval.score(list(ANSWERS), TESTS, **judge, quiet=True).path == first.path


def test_mappings_are_options_of_pairs_or_json(judge):
    renamed = [{"id": "a", "text": "rain"}]
    fields = {"answer_text": "text", "case_id": "id"}
    renamed.append({"id": "b", "text": None})
    run = scholareval.score(
        renamed, TESTS, **judge, fields=fields, max_tokens={"criteria": 50}, extra_body={"top_k": 1}, out="run", quiet=True,
        header={"X-Team": "biology"}, max_unscored="50%",
    )
    assert [row["score"] for row in run.scores] == [1.0, None] and '"top_k"' in json.dumps(run.manifest)


@pytest.mark.parametrize("name", ["score", "ascore", "plan", "reward", "rewards", "areward", "arewards"])
def test_named_parameters_have_the_types_of_the_command_line(name):
    wanted = typing.get_type_hints(_options.NamedOptions)
    function = getattr(scholareval, name)
    hints = typing.get_type_hints(function)
    named = [name for name in inspect.signature(function).parameters if name in wanted]
    if name in ("score", "ascore", "plan"):
        assert set(named) == set(wanted)
    for parameter in named:
        if parameter in ("tests", "rubric"):  # rows as well; of a reward a list of criteria
            continue
        assert hints[parameter] == wanted[parameter] | None, parameter
    assert Path(inspect.getfile(function)).parent.name == "scholareval"


def test_a_system_named_0_keeps_its_name_and_lists_of_tags_are_tags(tmp_path):
    tests = [{**ROW, "tags": ["depth", "axis:facts"]}, {**ROW, "criterion": "Names that", "tags": None}]
    answers = [{"system": 0, "case_id": "a", "answer_text": "it"}, {"system": 1, "case_id": "a", "answer_text": "it"}]
    run = scholareval.score(answers, tests, **QUIET)
    assert sorted(row["system"] for row in run.scores) == ["0", "1"]
    tags = [one.get("tags") for one in run.scores[0]["details"].values()]
    assert tags == [["depth", "axis:facts"], None]
