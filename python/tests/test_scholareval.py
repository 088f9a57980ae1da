"""The package against the program: `pytest python/tests`, with the wheel installed or `scholareval` on PATH."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import scholareval
from conftest import HOSTILE, Judge

def test_tables_hold_what_the_files_hold_and_become_data_frames(files):
    run = scholareval.score(**files, quiet=True)
    assert run.path.parent == Path("runs") and scholareval.load(run.path).manifest["status"] == "complete"
    for table, rows in ((run.scores, 4), (run.calls, 12), (run.items, 16), (run.summary, 2)):
        assert len(table) == rows and table.columns[0] == "system" and all(isinstance(row, dict) for row in table)
    assert run.scores.columns[:2] == ["system", "case_id"]
    # Weights 3/4 and 1/4; the baseline finds "rain" in one of two answers, and "NA" in none.
    assert sorted(row["lexical_score"] for row in run.scores) == [0.0, 0.0, 0.75, 0.75]
    assert set(run.items.column("case_id")) == {"007", "8"} and {"NA", "- gone"} < set(run.items.column("text"))
    assert run.summary.column("system") == ["7", HOSTILE] and run.summary.column("lexical_score") == [0.75, 0.0]
    with pytest.raises(KeyError, match="no column 'scor'; there are system"):
        run.summary.column("scor")
    comparison = scholareval.compare(run, str(run.path), anyway=True, quiet=True)
    assert len(comparison.rows) == len(comparison.systems) + len(comparison.pairs) and len(comparison.pairs) > 0
    assert set(comparison.systems.column("kind")) == {"system"} and "difference_flag" in comparison.pairs.columns
    assert isinstance(comparison.pairs[0]["difference"], float) and comparison.systems[0]["difference"] is None


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_table_becomes_a_data_frame(files, library):
    pytest.importorskip(library)
    run = scholareval.score(**files, quiet=True)
    for table in (run.scores, run.calls, run.items, run.summary, scholareval.compare(run, quiet=True).pairs):
        frame = getattr(table, library)()
        assert type(frame).__module__.startswith(library) and len(frame) == len(table)
        assert list(frame.columns) == table.columns
    assert sorted(getattr(run.scores, library)()["lexical_score"]) == [0.0, 0.0, 0.75, 0.75]


def test_notebooks_show_tables_in_which_hostile_names_are_escaped(files):
    run = scholareval.score(**files, quiet=True)
    for shown in (run._repr_html_(), scholareval.compare(run, quiet=True)._repr_html_()):
        assert "<td>7</td><td>75.0" in shown and "<script" not in shown and "&lt;script&gt;alert(1)&lt;&amp;" in shown
    assert shown.endswith("<p>Scored by the built-in lexical baseline, not by an LLM.</p>")
    again = scholareval.score(**files, out="again", quiet=True)
    change = scholareval.compare(run, again, across="judges", anyway=True, quiet=True)._repr_html_()
    assert "judge_change" in change and "<td>7</td><td>0.0" in change
    Path("answers/7.jsonl").write_text('{"case_id": "007", "answer_text": "rain"}')
    part = scholareval.score("answers/7.jsonl", "tests.jsonl", limit=1, quiet=True)
    both = scholareval.score("answers", "tests.jsonl", quiet=True)
    assert "75.0*" in both._repr_html_() and "<td>7</td>" in scholareval.compare(part, quiet=True)._repr_html_()
    (run.path / "summary.json").unlink()
    assert "complete, no scores yet" in run._repr_html_()
    (run.path / "items.csv").unlink()
    with pytest.raises(FileNotFoundError, match="items.csv: missing"):
        _ = run.items


def test_exceptions_are_the_exit_codes_of_the_program():
    source = Path(__file__).parents[2] / "src/cli/exit_code.rs"
    codes = re.findall(r"^    (\w+) = (\d),$", source.read_text(), re.MULTILINE)
    classes = [(error.__name__, str(error.exit_code)) for error in scholareval.ScholarevalError.__subclasses__()]
    assert [("Ok", "0"), *classes] == codes


def test_errors_are_those_of_the_program(files, judge, capfd):
    with pytest.raises(scholareval.Usage, match="(?s)'--modle' found.*similar"):
        scholareval.score(**files, modle="x")
    assert "error: unexpected argument" in capfd.readouterr().err
    Path("answers/bad.jsonl").write_text('{"case_id": "8", "answer_text": 5}')
    with pytest.raises(scholareval.BadInput, match=r"bad.jsonl:1 \(case 8\)"):
        scholareval.score(**files, quiet=True)
    assert capfd.readouterr() == ("", "")
    Path("answers/bad.jsonl").write_text('{"case_id": "8", "answer_text": "odd"}')
    with pytest.raises(scholareval.TooManyUnscored, match="--max-unscored") as caught:
        scholareval.score(**files, **judge, out="run", parse_retries=0)
    assert "record of the run: run\n" in capfd.readouterr().err
    assert caught.value.run == Path("run") and len(scholareval.load("run").scores) == 5
    with pytest.raises(scholareval.BelowThreshold):
        scholareval.compare("run", require=["bad>=7"], quiet=True)
    with pytest.raises(FileNotFoundError, match="not a run"):
        scholareval.load("answers")


def test_rewards_keep_the_order_and_give_none_for_an_unscored_answer(files, judge):
    wind = {"text": "Blames wind", "weight": -1}
    items = [
        ("why?", "<think>hm</think>rain", ["Names it", wind]),
        ("why?", "odd", "Names it"),
        ([{"role": "user", "content": "why?"}], "", [{"text": "Names it", "weight": 2}, wind]),
        ("why?", "rain", "Names it"),
    ]
    # 1 - 1 of 1; unreadable; 0 of 2; 1 of 1
    assert scholareval.rewards(items, **judge) == [0.0, None, 0.0, 1.0]
    assert scholareval.rewards([]) == []
    assert scholareval.reward(*items[3], **judge, out="kept") == 1.0 and len(scholareval.load("kept").calls) == 1
    # one criterion, criteria by group, half a character
    one = {"text": "Names it", "weight": 2}
    assert scholareval.rewards([("why?", "rain", one), ("\ud800", "\ud800", {"a": [one]})], **judge) == [1.0, 0.0]
    with pytest.raises(scholareval.TooManyUnscored):
        scholareval.reward(*items[1], **judge)
    with pytest.raises(scholareval.TooManyUnscored, match="no criterion has a positive weight"):
        scholareval.rewards([("why?", "rain", [wind])], **judge)
    with pytest.raises(scholareval.Usage, match="no judge"):
        scholareval.reward(*items[0])
    # a missing answer is not asked about, and has no 0
    assert scholareval.rewards([items[3], ("why?", None, "Names it"), ("why?", float("nan"), "x")], **judge) == [1.0, None, None]
    assert scholareval.rewards([("why?", None, "Names it")], model="none") == [None]
    assert scholareval.reward(*items[3], judge="lexical") == 0.0
    with pytest.raises(scholareval.JudgeUnavailable, match="no judge answers"):
        scholareval.reward(*items[0], model="x", base_url="localhost:9", retries=0)
    assert not Path("runs").exists()
    # left out by an option
    assert scholareval.rewards([items[3], items[0]], **judge, limit=1) == [1.0, None]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_stops_the_run_and_the_same_call_continues_it(files, judge, monkeypatch):
    monkeypatch.setattr(Judge, "delay", 1.0)
    options = {**files, **judge, "out": "run", "concurrency": 1, "no_cache": True}
    code = f"import scholareval; scholareval.score(**{options!r})"
    # Only Python gets the signal, as from a process manager.
    child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    while child.poll() is None and not ((calls := Path("run/calls.jsonl")).is_file() and calls.read_text()):
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    errors = child.communicate(timeout=60)[1]
    assert "KeyboardInterrupt" in errors, errors
    run = scholareval.load("run")
    assert run.manifest["status"] == "stopped" and "stopped, no scores yet" in run._repr_html_()
    before = len(run.calls)
    monkeypatch.setattr(Judge, "delay", 0.0)
    assert 0 < before < len(scholareval.score(**options, quiet=True).calls) == 12


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_does_not_wait_for_a_judge_that_hangs(files, judge, monkeypatch):
    monkeypatch.setattr(Judge, "delay", 600.0)
    options = {**files, **judge, "out": "run"}
    code = f"import scholareval; scholareval.score(**{options!r})"
    child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    errors = ""
    while "plan: " not in errors:
        errors += child.stderr.readline()
    while not Judge.calls and child.poll() is None:
        time.sleep(0.05)
    time.sleep(1.0)  # until the handlers of signals are there
    child.send_signal(signal.SIGINT)
    # far below the time-out of 10 minutes
    errors = child.communicate(timeout=120)[1]
    assert "KeyboardInterrupt" in errors, errors
    assert scholareval.load("run").manifest["status"] != "complete"


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_the_outcome_is_known_where_the_system_keeps_no_exit_code(files):
    scholareval.score(**files, out="run", quiet=True)
    gate = "scholareval.compare('run', require='lexical_score>=0.9', quiet=True)"
    code = f"import signal, scholareval; signal.signal(signal.SIGCHLD, signal.SIG_IGN); {gate}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Undecided" in done.stderr, done.stderr
    run = f"print(scholareval.score(**{files!r}, out='again', quiet=True))"
    done = subprocess.run([sys.executable, "-c", code.replace(gate, run)], capture_output=True, text=True)
    assert done.stdout == "Run('again')\n", done.stderr


@pytest.mark.skipif(os.name != "posix", reason="a script")
def test_a_program_that_does_not_report_its_outcome_has_no_success(tmp_path, monkeypatch):
    program = tmp_path / "scholareval"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    monkeypatch.setattr(scholareval._program, "find", lambda: str(program))
    with pytest.raises(scholareval.Unexpected):
        scholareval.compare("run")


def test_a_path_with_a_line_break_and_a_closed_stderr_lose_no_run(files, monkeypatch):
    assert scholareval.score(**files, out="a\nb", quiet=True).path == Path("a\nb")
    with open(os.devnull, "w") as closed:
        monkeypatch.setattr(sys, "stderr", closed)
    assert scholareval.score(**files, out="closed").path == Path("closed")
    monkeypatch.setattr(sys, "stderr", None)
    assert scholareval.score(**files, out="none").path == Path("none")


def test_the_module_is_the_program():
    done = subprocess.run([sys.executable, "-m", "scholareval", "compare"], capture_output=True, text=True)
    assert done.returncode == 2 and "Usage: scholareval compare" in done.stderr
