"""The coding run: its size and shape, and whether its tools told the truth at every step."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from course_lib import coding_run, count_tokens, validate
from course_lib.messages import calls_of, text_of, turn_groups
from course_lib.reuses import reuse
from course_lib.samples.coding import FAILURES, Project, steps
from course_lib.samples.coding_files import files
from course_lib.samples.coding_tables import right_price
from course_lib.shapes import shape_of


@pytest.fixture(scope="module")
def run():
    return coding_run()


def results_of(run, tool):
    names = {c.id: c.name for m in run.messages for c in calls_of(m)}
    return [
        text_of(m) for m in run.messages if m["role"] == "tool" and names[m["tool_call_id"]] == tool
    ]


# ---- its size and shape ---------------------------------------------------------------------


def test_it_is_the_same_each_time(run):
    assert coding_run().messages == run.messages
    assert coding_run().messages is not run.messages


def test_it_has_the_size_of_a_real_run(run):
    shape = shape_of(run.messages, run.tools)
    assert 60 <= shape.calls <= 90
    assert shape.overflow(8_000) < 20 < shape.overflow(32_000) <= shape.calls
    assert shape.overflow(128_000) > shape.calls
    assert shape.results[0].tokens > 2_000


def test_several_steps_have_parallel_calls(run):
    groups = turn_groups(run.messages)[1]
    assert sum(len(calls_of(group[0])) > 1 for group in groups) >= 8
    assert [calls_of(group[0]) for group in groups if len(group) == 1] == [[]]


@pytest.mark.parametrize("provider", ["openai", "responses", "anthropic", "gemini"])
def test_every_provider_would_take_it(run, provider):
    assert validate(run.messages, provider) == []


def test_it_comes_back_for_values_from_far_behind(run):
    found = reuse(run.messages, answers=True, tools=run.tools)
    assert len(found.uses) > 100
    far = {use.value for use in found.uses if use.distance > 20}
    assert far & {"a41f9c7", "req-1f0b5c", "RATE-1207", "SHIP-402"}
    assert found.missed(1) > 0.4 > 0.1 > found.missed(40)


def test_it_holds_calls_made_again_and_results_that_nobody_came_back_for(run):
    shape = shape_of(run.messages, run.tools)
    assert {repeat.name for repeat in shape.repeats} >= {"run_tests", "read_file"}
    assert 0 < shape.dead_weight < shape.result_tokens


def test_its_texts_are_texts_and_no_filler(run):
    words = re.findall(r"[A-Za-z_]{4,}", " ".join(map(text_of, run.messages)))
    assert len(set(words)) > 450
    requests = re.findall(r"req-[0-9a-f]{6}", "\n".join(results_of(run, "query_logs")))
    assert len(set(requests)) == len(requests) > 60


# ---- its tools told the truth ---------------------------------------------------------------

# One process for all snapshots: it reads [[files, what to run], ...] and prints what came of each.
TRY = """
import contextlib, importlib, io, json, os, sys
from pathlib import Path
sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())

def failing(names):
    for name in names:
        for test, function in list(vars(importlib.import_module("tests." + name)).items()):
            if test.startswith("test_"):
                for case in cases_of(function):
                    try:
                        function(**case)
                    except Exception as error:
                        yield [f"tests/{name}.py::{test}", type(error).__name__]

def cases_of(function):
    for mark in getattr(function, "pytestmark", []):
        names, values = mark.args
        names = [names] if isinstance(names, str) else names
        return [dict(zip(names, v if isinstance(v, tuple) else (v,))) for v in values]
    return [{}]

for texts, what in json.load(sys.stdin):
    for path, text in texts.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    for name in [n for n in sys.modules if n.split(".")[0] in ("parcelrate", "tests")]:
        del sys.modules[name]
    importlib.invalidate_caches()
    if isinstance(what, list):
        print(json.dumps(list(failing(what))))
    else:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(what, {})
        print(json.dumps(printed.getvalue().strip()))
"""


def tried(folder, what):
    """What came of each: failing tests for a list of modules, what was printed for a snippet."""
    done = subprocess.run(
        [sys.executable, "-c", TRY],
        input=json.dumps(what),
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def snapshots():
    """Each call, with the files as they stand before it."""
    project = Project()
    for _, calls in steps():
        for call in calls:
            yield call, dict(project.files)
            project.answer(call)


def test_each_snippet_printed_what_the_run_says(tmp_path):
    ran = [(call, texts) for call, texts in snapshots() if call[0] == "run_python"]
    assert len(ran) >= 8
    printed = tried(tmp_path, [(texts, given["code"]) for (_, given, _), texts in ran])
    assert printed == [known for (_, _, known), _ in ran]


def test_the_tests_fail_where_the_run_says_so(tmp_path):
    ran = [(call, texts) for call, texts in snapshots() if call[0] == "run_tests"]
    assert len(ran) >= 12
    assert {key for call, _ in ran for key in call[2].split()} == set(FAILURES)
    modules = [
        [p[6:-3] for p in texts if p.startswith(given["target"]) and p.startswith("tests/test_")]
        for (_, given, _), texts in ran
    ]
    came = tried(tmp_path, [(texts, names) for (_, texts), names in zip(ran, modules, strict=True)])
    for ((_, given, known), _), failed in zip(ran, came, strict=True):
        told = {FAILURES[key][0]: FAILURES[key][1] for key in known.split()}
        assert {test for test, _ in failed} == set(told), (given, known)
        for test, error in failed:
            assert told[test].split(":")[0].split(".")[-1] == error


def test_at_the_end_the_code_keeps_the_rules_and_the_golden_file_is_untouched(run):
    project = Project()
    for _, calls in steps():
        for call in calls:
            project.answer(call)
    before = files()
    changed = {path for path, text in project.files.items() if before.get(path) != text}
    assert not {p for p in changed if p.startswith("tests/golden") or p == "parcelrate/api.py"}
    assert {"parcelrate/tariff.py", "parcelrate/zones.py", "tests/test_quotes.py"} <= changed
    assert "UPLIFT" not in project.files["parcelrate/tariff.py"]
    assert results_of(run, "run_tests")[-1].endswith("29 passed")


def test_what_the_answer_says_stands_in_the_results(run):
    answer = text_of(run.messages[-1])
    read = "\n".join(text_of(m) for m in run.messages if m["role"] == "tool")
    told = re.findall(r"\b[0-9a-f]{7}\b|req-\w+|SHIP-\d+|RATE-\d+|\d+\.\d\d\b|test_\w+", answer)
    assert len(told) > 15
    assert [value for value in told if value not in read] == []
    assert "29 passed" in read and "0 of 180" in read
    assert (
        read.count("G-0") > 90
        and len(re.findall(r"G-\d+,", files()["tests/golden/quotes.csv"])) == 96
    )
    assert str(right_price("BT7 1NN", "2.0")) == "10.25"


def test_a_call_that_changes_what_is_not_there_is_refused():
    with pytest.raises(ValueError, match="0 places"):
        Project().edit_file("parcelrate/api.py", "no such text", "")


def test_edits_are_read_back(run):
    text = results_of(run, "edit_file")[0]
    assert text.startswith("changed tests/test_tariff.py at line") and "def test_a_band" in text
    assert count_tokens(text) < 400
