"""The frame of the exercises: check, hint, predict and progress, on a small exercise made here."""

from __future__ import annotations

import json
import linecache
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from course_lib.checks import (
    Exercise,
    NumberQuestion,
    Question,
    check,
    expect,
    expect_error,
    fail,
    hint,
    hints,
    limits,
    predict,
    progress,
    record,
    table,
)
from course_lib.checks import exercises as registry
from course_lib.checks.cards import Card, Line
from course_lib.checks.describe import describe, describe_call, in_words, misfit

ROOT = Path(__file__).resolve().parents[1]
HINTS = ("Think of one number.", "Go through them:\n\n    for n in numbers:", "return [n * ...]")
LIMIT = 0.15
_numbers = count(1)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Exercises, hints and progress of one test are gone in the next, and touch no real file."""
    registry.all_exercises()
    monkeypatch.setattr(registry, "_EXERCISES", {})
    monkeypatch.setattr(registry, "_QUESTIONS", {})
    monkeypatch.setattr(hints, "_shown", {})
    monkeypatch.setattr(record, "_memory", {})
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


def make_double(seconds: float) -> Exercise:
    made = Exercise(
        "double",
        title="Double each number",
        lesson=3,
        minutes=2,
        points=2,
        hints=HINTS,
        returns=list[int],
        seconds=seconds,
    )

    @made.property("an empty list stays empty")
    def empty(double: Callable) -> None:
        expect(double([]) == [], "How many numbers are there to double?")

    @made.property("each number is doubled")
    def each(double: Callable) -> None:
        expect(double([1, 5]) == [2, 10], "Double means: times two.")

    @made.property("any numbers, in their order")
    def order(double: Callable, rng: Any) -> None:
        numbers = rng.sample(range(1000), 9)
        expect(double(numbers) == [2 * n for n in numbers], "Keep the order.")

    return made


@pytest.fixture
def double() -> Exercise:
    return make_double(seconds=3)


@pytest.fixture
def hurried() -> Exercise:
    """The same with little time, for functions that never end."""
    return make_double(LIMIT)


def cell(source: str, name: str = "double", **names: Any) -> Any:
    """What `name` is after running the source as a notebook's cell."""
    path = f"<cell {next(_numbers)}>"
    source = textwrap.dedent(source)
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    namespace: dict[str, Any] = {"__name__": "__main__", **names}
    exec(compile(source, path, "exec"), namespace)
    return namespace[name]


def rows(verdict: Card) -> dict[str, str]:
    return {line.label: line.text for line in verdict.lines}


# ---- verdicts -------------------------------------------------------------------------------


def test_a_right_function_passes_with_all_its_points(double: Exercise) -> None:
    verdict = check("double", cell("def double(numbers): return [2 * n for n in numbers]"))
    assert (verdict.status, verdict.exercise, verdict.points) == ("passed", "double", 2)
    assert verdict.message == (
        "✓ Double each number: all 3 properties hold, 2 points.\n"
        "  ✓ an empty list stays empty\n"
        "  ✓ each number is doubled\n"
        "  ✓ any numbers, in their order"
    )
    assert str(verdict) == repr(verdict) == verdict.message


def test_the_first_broken_property_is_reported_and_nothing_after_it(double: Exercise) -> None:
    verdict = check("double", cell("def double(numbers): return [n + 1 for n in numbers]"))
    assert (verdict.status, verdict.points) == ("failed", 0)
    assert verdict.message == (
        "✗ Double each number: 1 of 3 properties hold so far.\n"
        "  ✓ an empty list stays empty\n"
        "  ✗ each number is doubled\n"
        "    given      double([1, 5])\n"
        "    came back  [2, 6]\n"
        "    think      Double means: times two.\n"
        '    stuck?     `hint("double")`'
    )


def test_a_verdict_never_prints_what_would_have_been_right(double: Exercise) -> None:
    verdict = check("double", cell("def double(numbers): return sorted(2 * n for n in numbers)"))
    assert verdict.status == "failed"
    given = [int(n) for n in re.findall(r"\d+", rows(verdict)["given"])]
    assert str([2 * n for n in given]) not in verdict.message + verdict.html()


def test_fresh_inputs_are_the_same_each_time_and_differ_between_properties() -> None:
    seen: list[tuple[float, float]] = []
    made = Exercise("two", title="Two", lesson=1, minutes=1, points=1, hints=HINTS)
    draws: list[float] = []
    made.property("one")(lambda two, rng: draws.append(rng.random()))
    made.property("other")(lambda two, rng: draws.append(rng.random()))
    for _ in range(2):
        check("two", lambda: 1)
        seen.append((draws.pop(), draws.pop()))
    assert seen[0] == seen[1] and seen[0][0] != seen[0][1]


def test_a_property_can_say_itself_what_went_in_and_came_back() -> None:
    made = Exercise("run", title="Run", lesson=1, minutes=1, points=1, hints=HINTS)

    @made.property("few trims")
    def few(run: Callable) -> None:
        trims = sum(run(n) for n in range(40))
        fail("Leave room.", given="40 steps", got=f"{trims} trims")

    verdict = check("run", lambda n: 1)
    assert rows(verdict)["given"] == "40 steps" and rows(verdict)["came back"] == "40 trims"


def test_an_error_that_must_be_raised() -> None:
    made = Exercise("strict", title="Strict", lesson=1, minutes=1, points=1, hints=HINTS)

    @made.property("a negative budget is refused")
    def refused(strict: Callable) -> None:
        with expect_error(ValueError, "Can a budget be negative?"):
            strict(-1)

    assert check("strict", cell("def strict(n):\n  raise ValueError", "strict")).status == "passed"
    silent = check("strict", cell("def strict(n): return n", "strict"))
    assert rows(silent)["think"] == "Can a budget be negative?"
    other = check("strict", cell("def strict(n):\n  raise KeyError(n)", "strict"))
    assert "raised KeyError: -1 in line 2 of your cell: `raise KeyError(n)`" in other.message


def test_an_exercise_without_properties_passes_nobody() -> None:
    Exercise("hollow", title="Hollow", lesson=1, minutes=1, points=1, hints=HINTS)
    with pytest.raises(ValueError, match="no properties"):
        check("hollow", lambda: 1)


# ---- what learners do -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        '"""Doc."""\n...',
        "...",
        "pass",
        "return None",
        "return",
        "raise NotImplementedError",
        'raise NotImplementedError("later")',
        '"""Doc."""\n...  # your code here',
        "found = []\n...  # your code here\nreturn found",
    ],
)
def test_the_untouched_stub_is_not_attempted(double: Exercise, body: str) -> None:
    verdict = check("double", cell("def double(numbers):\n" + textwrap.indent(body, "    ")))
    assert (verdict.status, verdict.points) == ("not attempted", 0)
    assert "not attempted yet" in verdict.message and verdict.message.startswith("○")
    assert "attempts" not in str(record.load()) or record.load()["exercises"]["double"] == {
        "status": "not attempted",
        "points": 0,
        "attempts": 0,
        "hints": 0,
    }


def test_a_stub_without_a_source_is_not_attempted_either(double: Exercise) -> None:
    namespace: dict[str, Any] = {}
    exec("def double(numbers):\n    '''Doc.'''\n    ...", namespace)
    assert check("double", namespace["double"]).status == "not attempted"


def test_a_right_function_passes_even_if_the_dots_were_left_in(double: Exercise) -> None:
    source = "def double(numbers):\n    return [2 * n for n in numbers]\n    ..."
    assert check("double", cell(source)).status == "passed"


def test_a_function_that_returns_a_constant_was_attempted(double: Exercise) -> None:
    assert check("double", cell("def double(numbers): return 5")).status == "failed"


@pytest.mark.parametrize(
    ("source", "think"),
    [
        (
            "def double(numbers): print(1)",
            "Your result is nothing (None), not a list. Is a `return`",
        ),
        ("def double(numbers): yield 1", "is a generator, not a list. Its items come one by one"),
        ("async def double(numbers): return []", "Take the word `async` away"),
        ("def double(numbers): return ()", "Your result is a tuple, not a list."),
        ("def double(numbers): return ['a']", "Your result[0] is a text (str), not a whole number"),
        (
            "def double(numbers): return [True]",
            "Your result[0] is True or False (bool), not a whole",
        ),
        (
            "def double(): return []",
            "double() takes 0 positional arguments but 1 was given. Compare",
        ),
        ("def double(numbers): exit()", "asks Python to end in line 1 of your cell: `def double"),
        ("def double(numbers):\n    raise SystemExit", "asks Python to end in line 2 of your cell"),
        ("def double(numbers): return input()", "waits for `input()` in line 1 of your cell"),
        ("def double(numbers): return double(numbers)", "calls itself without an end in line 1"),
        ("def double(numbers):\n    raise MemoryError", "ran out of memory in line 2 of your cell"),
        (
            "def double(numbers):\n\n    return numbers[3]",
            "raised IndexError: list index out of range in line 3 of your cell: `return num",
        ),
        (
            "def helper(numbers):\n    return 1 / len(numbers)\ndef double(numbers):\n"
            "    return helper(numbers)",
            "raised ZeroDivisionError: division by zero in line 2 of your cell",
        ),
    ],
)
def test_what_goes_wrong_is_said_in_a_sentence(double: Exercise, source: str, think: str) -> None:
    verdict = check("double", cell(source))
    assert verdict.status == "failed"
    assert think in rows(verdict)["think"], verdict.message
    assert "Traceback" not in verdict.message


def test_an_error_in_a_library_names_the_line_of_the_learner(double: Exercise) -> None:
    verdict = check("double", cell("import json\ndef double(numbers):\n    return json.loads('')"))
    assert "in line 3 of your cell: `return json.loads('')`" in rows(verdict)["think"]


def test_a_result_that_the_property_cannot_use_is_the_learners_matter() -> None:
    made = Exercise("text", title="Text", lesson=1, minutes=1, points=1, hints=HINTS)
    made.property("it has an a")(lambda text: expect("a" in text(), "Where is the a?"))
    verdict = check("text", lambda: 5)
    assert "isn't of the form that the exercise asks for" in rows(verdict)["think"]
    assert rows(verdict)["came back"] == "5"


@pytest.mark.parametrize(
    "body",
    ["numbers.append(1)", "numbers[0] = 9", "numbers.sort(reverse=True)", "numbers.clear()"],
)
def test_a_changed_argument_is_seen_and_shown_as_it_was(double: Exercise, body: str) -> None:
    source = f"def double(numbers):\n    out = [2 * n for n in numbers]\n    if out: {body}\n"
    verdict = check("double", cell(source + "    return out"))
    assert "changed a list that it was given, `numbers`" in rows(verdict)["think"]
    assert rows(verdict)["given"] == "double([1, 5])"


def test_a_change_deep_inside_an_argument_is_seen() -> None:
    made = Exercise("mark", title="Mark", lesson=1, minutes=1, points=1, hints=HINTS)
    messages = [{"role": "user", "content": [{"text": "hello"}]}]
    made.property("nothing changes")(
        lambda mark: mark(messages=messages, count=len, other=object())
    )
    source = "def mark(messages, count, other):\n    messages[0]['content'][0]['text'] += '!'"
    assert "`messages`" in rows(check("mark", cell(source, "mark")))["think"]
    messages[0]["content"] = [{"text": "hello"}]
    assert check("mark", cell("def mark(messages, count, other): return 1", "mark")).points == 1


def test_the_function_gets_the_very_objects_of_the_property() -> None:
    made = Exercise("same", title="Same", lesson=1, minutes=1, points=1, hints=HINTS)
    message = {"role": "user"}
    made.property("nothing is rebuilt")(lambda same: expect(same([message])[0] is message, "New?"))
    assert check("same", lambda messages: messages[:]).status == "passed"
    assert check("same", lambda messages: [dict(m) for m in messages]).status == "failed"


def test_what_is_printed_is_kept_from_the_page_and_shown_on_failure(
    double: Exercise, capsys: pytest.CaptureFixture
) -> None:
    source = "import sys\ndef double(numbers):\n    print('look', numbers)\n"
    source += "    print('!', file=sys.stderr)\n    return numbers"
    verdict = check("double", cell(source))
    assert rows(verdict)["printed"] == "look [1, 5]\n!"
    two = Exercise("two", title="Two", lesson=1, minutes=1, points=1, hints=HINTS)
    two.property("twice")(lambda two: expect(two(1) == two(2), "Why not?"))
    verdict = check("two", cell("def two(n):\n    print('look', n)\n    return n", "two"))
    assert rows(verdict)["printed"] == "look 2"
    assert capsys.readouterr() == ("", "")


def test_a_lot_of_print_is_cut(double: Exercise) -> None:
    verdict = check("double", cell("def double(numbers):\n    print('x' * 99999)\n    return [3]"))
    assert "x" * 2000 + "\n... and 98,000 more characters" in rows(verdict)["printed"]
    assert len(verdict.message) < 3000


def test_names_that_the_learner_took_over_do_no_harm(double: Exercise) -> None:
    names = ("check", "print", "list", "len", "isinstance", "input", "exit", "sum", "str")
    source = "def double(numbers): return [2 * n for n in numbers]"
    assert check("double", cell(source, **dict.fromkeys(names, 5))).status == "passed"


@pytest.mark.parametrize("thing", [5, None, "double", [2, 10], (1,)])
def test_what_is_no_function_gets_a_sentence(double: Exercise, thing: object) -> None:
    verdict = check("double", thing)
    assert verdict.status == "failed"
    assert 'without quotes and brackets: `check("double", double)`' in verdict.message


def test_a_class_in_the_place_of_a_function_and_the_other_way_round(double: Exercise) -> None:
    assert "yours is a class" in check("double", cell("class double: pass")).message
    made = Exercise(
        "Box", title="Box", lesson=1, minutes=1, points=1, hints=HINTS, wants="class", seconds=LIMIT
    )
    made.property("a box gives back")(lambda Box: expect(Box(3).get() == 3, "What was put in?"))
    body = "class Box:\n    def __init__(self, n): self.n = n\n    def get(self): "
    assert check("Box", cell(body + "return self.n", "Box")).status == "passed"
    assert check("Box", cell(body + "return 4", "Box")).status == "failed"
    assert check("Box", cell("class Box: ...", "Box")).status == "not attempted"
    endless = check("Box", cell(body + "\n        while True: pass", "Box"))
    assert "still running" in endless.message
    assert "yours is a function" in check("Box", cell("def Box(n): return n", "Box")).message


def test_partials_methods_and_decorated_functions_are_functions(double: Exercise) -> None:
    source = """
        import functools
        class Tool:
            def double(self, numbers): return [2 * n for n in numbers]
            def __call__(self, numbers): return self.double(numbers)
        method, called = Tool().double, Tool()
        part = functools.partial(lambda by, numbers: [by * n for n in numbers], 2)
        @functools.wraps(len)
        def wrapped(numbers): return [2 * n for n in numbers]
    """
    for name in ("method", "called", "part", "wrapped"):
        assert check("double", cell(source, name)).status == "passed", name


def test_an_unknown_name_gets_the_nearest_ones(double: Exercise) -> None:
    for verdict in (check("duoble", len), hint("duoble")):
        assert verdict.message.endswith('There is no exercise "duoble". Did you mean "double"?')
    assert check("duoble", len).status == "not attempted"
    assert "name comes first, in quotes" in check(len, "double").message
    assert not record.load()["exercises"]


def test_a_real_lesson_is_found_by_name_without_loading_it_first() -> None:
    code = "from course_lib.checks import check; print(check('how_many', lambda m: 0).status)"
    code += "; import sys; print(sorted({'IPython', 'ipywidgets'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:2] == ["failed", "[]"] and not done.stderr


# ---- endless loops --------------------------------------------------------------------------

ENDLESS = {
    "plain": "while True: pass",
    "bare except": "while True:\n        try: numbers[0]\n        except: pass",
    "bare except around work": "while True:\n        try: slow()\n        except: pass",
    "two bare excepts": "while True:\n        try:\n            while True:\n"
    "                try: slow()\n                except: pass\n        except: continue",
    "three bare excepts": "while True:\n        try:\n            while True:\n"
    "                try:\n                    while True:\n"
    "                        try: numbers\n                        except: pass\n"
    "                except: pass\n        except: pass",
    "the error kept": "kept = []\n    while True:\n        try: slow()\n"
    "        except BaseException as error: kept.append(error)",
    "finally": "while True:\n        try: slow()\n        finally: continue",
    "itertools": "for x in itertools.count(): pass",
    "generator": "return sum(0 for x in itertools.count() if x < 0)",
    "growing": "while numbers is not None: numbers = list(numbers[-5:]) + [1]",
    "recursion": "try: double(numbers)\n    except: double(numbers)",
    "sleep": "time.sleep(600)",
    "sleep by another name": "nap(600)",
    "in a library": "return re.sub('.', lambda m: slow_match(m), 'x' * 10 ** 6)",
}
HELPERS = """
import itertools, re, time
from time import sleep as nap
def slow(): return sum(i for i in range(2000))
def slow_match(match):
    for _ in range(10 ** 9): pass
def double(numbers):
    """


@pytest.mark.parametrize("how", ["in the main thread", "without signals", "in a thread"])
@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS)
def test_an_endless_function_ends(
    hurried: Exercise, monkeypatch: pytest.MonkeyPatch, body: str, how: str
) -> None:
    if how == "without signals":
        monkeypatch.setattr(limits, "_signals_work", lambda: False)
    handler = signal.getsignal(signal.SIGALRM) if hasattr(signal, "SIGALRM") else None
    before = sys.gettrace(), sys.getprofile(), sys.getrecursionlimit(), sys.stdout, time.sleep
    function = cell(HELPERS + body)
    start = time.monotonic(), time.process_time()
    if how == "in a thread":
        found: list[Card] = []
        thread = threading.Thread(target=lambda: found.append(check("double", function)))
        thread.start()
        thread.join(60)
        verdict = found[0]
    else:
        verdict = check("double", function)
    # In processor time, because the machine may be busy with other things. A recursion that
    # catches its own end and begins again, at every level, takes longer to be led out of.
    patience = 15 if body == ENDLESS["recursion"] else 2
    assert time.process_time() - start[1] < LIMIT + patience and time.monotonic() - start[0] < 60
    assert f"still running after {LIMIT:g} seconds in line" in verdict.message, verdict.message
    after = sys.gettrace(), sys.getprofile(), sys.getrecursionlimit(), sys.stdout, time.sleep
    assert after == before
    if handler is not None:
        assert signal.getsignal(signal.SIGALRM) == handler
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs SIGALRM")
def test_a_wait_for_a_lock_ends(hurried: Exercise) -> None:
    source = "import threading\ndef double(n):\n    lock = threading.Lock()\n"
    verdict = check("double", cell(source + "    return [lock.acquire(), lock.acquire()]"))
    assert "still running" in verdict.message


def test_the_time_limit_says_where_the_function_was(hurried: Exercise) -> None:
    verdict = check("double", cell("def double(numbers):\n    n = 1\n    while n:\n        n += 1"))
    assert re.search(r"in line [34] of your cell: `(while n:|n \+= 1)`", rows(verdict)["think"])


def test_a_swallowed_time_limit_is_no_result(hurried: Exercise) -> None:
    source = "import time\ndef double(n):\n    try: time.sleep(600)\n    except: return []"
    assert "still running" in check("double", cell(source)).message


def test_an_interrupt_by_the_learner_goes_through(hurried: Exercise) -> None:
    source = "import signal\ndef double(n):\n    signal.raise_signal(signal.SIGINT)\n    return []"
    before = sys.stdout, signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        check("double", cell(source))
    assert (sys.stdout, signal.getsignal(signal.SIGINT)) == before


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
def test_somebody_elses_timer_goes_on(hurried: Exercise) -> None:
    rung: list[int] = []
    old = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, LIMIT / 2)
        check("double", cell("def double(numbers):\n    while True: pass"))
        time.sleep(0.1)
        assert rung
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_a_tracer_that_was_there_before_is_there_afterwards(hurried: Exercise) -> None:
    def tracer(frame: Any, event: str, argument: Any) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        check("double", cell("def double(numbers):\n    while True: pass"))
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)


def test_on_a_crowded_machine_a_slow_function_gets_its_time(
    hurried: Exercise, monkeypatch: pytest.MonkeyPatch
) -> None:
    def a_third() -> float:
        return time.monotonic() / 3

    crowded = SimpleNamespace(monotonic=time.monotonic, process_time=a_third)
    monkeypatch.setattr(limits, "time", crowded)
    slow = "import time\ndef double(numbers):\n    end = time.monotonic() + {seconds}\n"
    slow += "    while time.monotonic() < end: pass\n    return [2 * n for n in numbers]"
    assert check("double", cell(slow.format(seconds=2 * LIMIT))).status == "passed"
    assert "still running" in check("double", cell(slow.format(seconds=99))).message


def test_time_is_never_up_inside_the_limit_itself() -> None:
    struck: list[Any] = []

    def owns(frame: Any) -> bool:
        if len(struck) < 3:
            struck.append(None)
            struck[-1] = limit.strike(sys._getframe())
        return False

    limit = limits.TimeLimit(0, owns)
    limit.run(lambda: limit.arm(sys._getframe()))
    assert struck and not any(struck) and not limit.over


def test_time_is_up_only_for_the_function_that_was_too_slow(hurried: Exercise) -> None:
    check("double", cell("def double(numbers):\n    while True: pass"))
    right = cell("def double(numbers): return [2 * n for n in numbers]")
    assert [check("double", right).status for _ in range(3)] == ["passed"] * 3


# ---- text and HTML --------------------------------------------------------------------------


def test_a_verdict_shows_text_and_html_with_the_same_words(double: Exercise) -> None:
    verdict = check("double", cell("def double(numbers): return ['<b>' for n in numbers]"))
    bundle = verdict._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"] == verdict.message
    for word in ("✗", "each number is doubled", "&lt;b&gt;", "var(--jp-ui-font-color1"):
        assert word in bundle["text/html"]
    assert "['<b>" not in bundle["text/html"]


def test_marks_stand_out_on_white_and_on_the_dark_theme() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for status in ("passed", "failed", "not attempted"):
        card = Card(status=status, headline="Hello", lines=(Line("given", "x"),))
        for colour in re.findall(r"#[0-9A-Fa-f]{6}", card.html()):
            for page in ("#ffffff", "#111111"):
                light, dark = sorted((luminance(colour), luminance(page)), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 3, (colour, page)


def test_messages_are_described_line_by_line() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "", "tool_calls": [call, {"id": "c2", "name": "read"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "x" * 500, "pinned": True},
    ]
    assert describe(messages).split("\n") == [
        "3 messages",
        "  [0]  system     'Be brief.'",
        "  [1]  assistant  calls search as c1 calls read as c2",
        f"  [2]  tool       answers c1 '{'x' * 23}...{'x' * 23}' (pinned)",
    ]
    assert "... 12 more ..." in describe([{"role": "user", "content": "hi"}] * 20)
    assert "messages = 3 messages" in describe_call(lambda messages, budget: 0, (messages, 9), {})


def test_a_description_has_no_address_and_is_short() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise ValueError

    for value in (object(), [object()], len, lambda: 0, iter([]), {1: object()}):
        assert "0x" not in describe(value)
    assert describe({"b", "a", "c"}) == "{'a', 'b', 'c'}"
    assert len(describe(["long text " * 100] * 100)) < 300
    assert describe(Odd()) == "an object of the type Odd that can't be printed"
    assert describe(10**5000) == "a whole number (int) that can't be printed"


@pytest.mark.parametrize(
    ("value", "shape", "words"),
    [
        ([1], list[int], ""),
        ((["a"], 2), tuple[list[str], int], ""),
        (None, str | None, ""),
        (2, float, ""),
        ({"a": 1}, dict[str, int], ""),
        ((1, 2, 3), tuple[int, ...], ""),
        ((1, 2), tuple[int, int, int], "Your result is a tuple of 2, not of 3."),
        (
            (["a"], "2"),
            tuple[list, int],
            "Your result[1] is a text (str), not a whole number (int).",
        ),
        ({"a": "b"}, dict[str, int], "The value of 'a' is a text (str), not a whole number (int)."),
        (5, str | None, "Your result is a whole number (int), not a text (str) or nothing (None)."),
    ],
)
def test_where_a_type_does_not_fit(value: Any, shape: Any, words: str) -> None:
    assert misfit(value, shape) == words


def test_types_in_words() -> None:
    assert in_words(list[dict]) == "a list, each item a dict"
    assert in_words(tuple[list, int]) == "a tuple of 2: a list, then a whole number (int)"
    assert in_words(SimpleNamespace) == "an object of the type SimpleNamespace"


# ---- hints ----------------------------------------------------------------------------------


def test_hints_come_one_by_one_and_the_third_again(double: Exercise) -> None:
    stages = [hint("double") for _ in range(4)]
    assert [h.stage for h in stages] == [1, 2, 3, 3]
    assert stages[0].message == "Hint 1 of 3. Think of one number."
    assert stages[3].message == "Hint 3 of 3.\n\n    return [n * ...]"
    assert record.load()["exercises"]["double"]["hints"] == 3


def test_a_hint_can_be_asked_for_by_its_stage(double: Exercise) -> None:
    second = hint("double", 2)
    assert second.stage == 2 and hint("double").stage == 3
    markup = second._repr_mimebundle_()["text/html"]
    assert re.search(r"<pre[^>]*>for n in numbers:</pre>", markup)
    for wrong in (0, 4, "two"):
        assert hint("double", wrong).message.startswith("There are three hints")


# ---- predictions ----------------------------------------------------------------------------


@pytest.fixture
def colour() -> Question:
    return Question(
        "colour",
        lesson=3,
        text="Which `colour`?",
        choices={"red": "No: look up.", "blue": "Yes, the sky.", "green": "No: look far."},
        right="blue",
    )


@pytest.fixture
def reads() -> NumberQuestion:
    return NumberQuestion(
        "reads",
        lesson=3,
        text="How many?",
        answer=lambda: 356_000,
        unit="tokens",
        right="Yes, {answer}.",
        too_low="Too few.",
        too_high="Too many.",
    )


def test_each_choice_has_its_own_sentence(colour: Question) -> None:
    answers = [predict("colour", choice) for choice in colour.choices]
    assert [card.message for card in answers] == [
        "✗ No: look up.",
        "✓ Yes, the sky.",
        "✗ No: look far.",
    ]
    assert record.load()["questions"] == {"colour": {"first": "red", "right": True, "tries": 3}}


def test_a_choice_that_is_none_is_not_noted(colour: Question) -> None:
    assert 'one of: "red"; "blue"; "green"' in predict("colour", "pink").message
    assert record.load()["questions"] == {}
    assert 'Did you mean "colour"?' in predict("color").message


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (356_000, "✓ Yes, 356,000."),
        ("356,000", "✓ Yes, 356,000."),
        ("350 000", "✓ Yes, 356,000."),
        (704_000, "✗ Too many. Yours is 2 times too high."),
        ("89000", "✗ Too few. Yours is 4 times too low."),
        (-1, "✗ Too few."),
        ("many", "○ Type a number, such as 1200."),
        ("", "○ Type a number, such as 1200."),
    ],
)
def test_a_number_is_told_how_far_off_it_is(
    reads: NumberQuestion, number: Any, message: str
) -> None:
    assert predict("reads", number).message == message


def test_a_question_is_complete_as_text_and_as_html(colour: Question) -> None:
    bundles = [predict("colour")._repr_mimebundle_() for _ in range(2)]
    for kind in ("text/plain", "text/html"):
        assert bundles[0][kind] == bundles[1][kind]
        assert all(choice in bundles[0][kind] for choice in ("red", "blue", "green"))
        assert "sky" not in bundles[0][kind]
    assert "application/vnd.jupyter.widget-view+json" in bundles[0]
    assert 'predict("colour", choice)' in bundles[0]["text/plain"]


def test_the_live_question_waits_for_a_choice_and_answers_it(colour: Question) -> None:
    from course_lib.checks.live import prediction_widget

    _, field, show, feedback = prediction_widget(colour).children
    assert field.index is None and show.disabled and feedback.value == ""
    field.value = "red"
    assert not show.disabled and feedback.value == ""
    show.click()
    show.click()
    assert "No: look up." in feedback.value and "sky" not in feedback.value
    field.value = "blue"
    show.click()
    assert "Yes, the sky." in feedback.value
    assert record.load()["questions"]["colour"] == {"first": "red", "right": True, "tries": 2}
    assert feedback.layout.min_height


def test_the_live_number_waits_for_a_number(reads: NumberQuestion) -> None:
    from course_lib.checks.live import prediction_widget

    _, field, show, feedback = prediction_widget(reads).children
    assert show.disabled
    field.value = "700000"
    show.click()
    assert "Too many." in feedback.value
    assert "tokens" in field.placeholder


# ---- progress -------------------------------------------------------------------------------


def right(numbers: list[int]) -> list[int]:
    return [2 * n for n in numbers]


def wrong(numbers: list[int]) -> list[int]:
    return numbers


def test_progress_counts_attempts_and_keeps_what_was_passed(
    double: Exercise, tmp_path: Path
) -> None:
    check("double", wrong)
    check("double", right)
    check("double", wrong)
    hint("double")
    saved = json.loads((tmp_path / "progress.json").read_text(encoding="utf-8"))
    assert saved == {
        "version": 1,
        "exercises": {"double": {"status": "passed", "points": 2, "attempts": 3, "hints": 1}},
        "questions": {},
    }


def test_the_table_as_text(double: Exercise, colour: Question) -> None:
    Exercise("later", title="Later", lesson=4, minutes=1, points=3, hints=HINTS)
    check("double", right)
    hint("double", 2)
    predict("colour", "blue")
    expected = """\
           exercise            status         points  hints
        Lesson 3
        ✓  Double each number  passed         2 of 2  2 of 3
        Lesson 4
        ○  Later               not attempted  0 of 3  0 of 3
        In all: 1 of 2 exercises passed, 2 of 5 points.
        Predictions: 1 of 1 made, 1 right at the first try."""
    assert str(progress()) == textwrap.dedent(expected)
    assert "Double" not in str(progress(4)) and "0 of 1 exercises passed" in str(progress(4))
    bundle = progress()._repr_mimebundle_()
    assert bundle["text/plain"] == str(progress()) and "<table" in bundle["text/html"]


def test_the_table_follows_what_happens(double: Exercise, colour: Question) -> None:
    from course_lib.checks.live import progress_widget

    widget = progress_widget(table.Progress(3))
    for act, text in (
        (lambda: check("double", wrong), "failed"),
        (lambda: hint("double"), "1 of 3"),
        (lambda: check("double", right), "2 of 2 points"),
        (lambda: predict("colour", "red"), "1 of 1 made"),
    ):
        assert text not in widget.value
        act()
        assert text in widget.value


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 1, "exerc',
        "[]",
        "null",
        '{"version": 2}',
        '{"version": 1, "exercises": [], "questions": {}}',
        '{"version": 1, "exercises": {"double": 5}, "questions": {}}',
        '{"version": 1, "exercises": {"double": {"points": "2"}}, "questions": {}}',
        "\x00\x01",
    ],
)
def test_a_file_that_cannot_be_read_is_put_aside(
    double: Exercise, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "progress.json"
    path.write_text(text, encoding="utf-8")
    assert "0 of 2 points" in str(progress())
    assert path.read_text(encoding="utf-8") == text
    check("double", right)
    assert "2 of 2 points" in str(progress())
    assert (tmp_path / "progress.json.bad").read_text(encoding="utf-8") == text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["progress.json", "progress.json.bad"]


@pytest.mark.parametrize("place", ["memory", "no/such/folder/progress.json", "."])
def test_without_a_place_for_the_file_progress_stays_in_memory(
    double: Exercise, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COURSE_PROGRESS", place)
    check("double", right)
    hint("double")
    assert "2 of 2 points" in str(progress()) and "1 of 3" in str(progress())
    assert list(tmp_path.iterdir()) == []


def test_what_was_kept_in_memory_is_written_once_there_is_a_place(
    double: Exercise, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "later" / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    check("double", right)
    path.parent.mkdir()
    hint("double")
    entry = json.loads(path.read_text(encoding="utf-8"))["exercises"]["double"]
    assert (entry["points"], entry["hints"]) == (2, 1)
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "another.json"))
    assert "0 of 2 points" in str(progress())


def test_progress_stands_in_the_projects_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COURSE_PROGRESS")
    assert record._path() == ROOT / "progress.json"
    monkeypatch.setattr(record, "_ROOT", ROOT / "tests")
    assert record._path() is None


def test_two_kernels_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from course_lib.checks import record\n"
        "for i in range(40):\n"
        "    record.hinted(f'{sys.argv[1]}{i}', 1)\n"
        "    record.checked('all', 'failed', 0)\n"
    )
    names = ["a", "b"]
    running = [subprocess.Popen([sys.executable, "-c", code, name], cwd=ROOT) for name in names]
    assert [process.wait(30) for process in running] == [0, 0]
    saved = json.loads((tmp_path / "progress.json").read_text(encoding="utf-8"))["exercises"]
    assert len(saved) == 81 and saved["all"]["attempts"] == 80
    assert [p.name for p in tmp_path.iterdir()] == ["progress.json"]


def test_a_lock_left_by_a_kernel_that_died_is_taken_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(record, "_PATIENCE", 0.1)
    (tmp_path / "progress.json.lock").touch()
    record.hinted("double", 1)
    assert [p.name for p in tmp_path.iterdir()] == ["progress.json"]


# ---- authors --------------------------------------------------------------------------------


def test_two_lessons_cannot_share_a_name_but_a_module_can_be_loaded_again(double: Exercise) -> None:
    def define(lesson: int) -> Exercise:
        return Exercise("double", title="D", lesson=lesson, minutes=1, points=1, hints=HINTS)

    assert registry.find_exercise("double") is double
    again = define(3)
    assert registry.find_exercise("double") is again
    with pytest.raises(ValueError, match="lesson 3 has this name already"):
        define(4)


def test_an_authors_slip_is_said_at_once() -> None:
    with pytest.raises(ValueError, match="three hints"):
        Exercise("x", title="X", lesson=1, minutes=1, points=1, hints=("one",))
    with pytest.raises(ValueError, match="`wants`"):
        Exercise("x", title="X", lesson=1, minutes=1, points=1, hints=HINTS, wants="thing")
    with pytest.raises(ValueError, match="one of two or more choices"):
        Question("x", lesson=1, text="?", choices={"a": "b", "c": "d"}, right="e")


# ---- in a real kernel -----------------------------------------------------------------------

KERNEL_CELLS = [
    """
    from course_lib.checks import Exercise, check, expect
    what = dict(title="One", lesson=1, minutes=1, points=1, hints=("a", "b", "c"))
    made = Exercise("one", **what, seconds=0.5)

    @made.property("it is one")
    def is_one(one):
        expect(one() == 1, "How many?")
    """,
    "def one():\n    ...\ncheck('one', one)",
    "def one():\n    while True:\n        try: pass\n        except: pass\ncheck('one', one)",
    "import time\ndef one():\n    time.sleep(600)\ncheck('one', one)",
    "def one():\n    exit()\ncheck('one', one)",
    "def one():\n    return input('?')\ncheck('one', one)",
    "def one():\n    return 1 / 0\ncheck('one', one)",
    "def one():\n    return 1\ncheck('one', one)",
    "class one: pass\ncheck('one', one)",
]
KERNEL_SAYS = [
    None,
    "not attempted yet",
    "still running after 0.5 seconds in line",
    "still running after 0.5 seconds in line 3 of your cell: `time.sleep(600)`",
    "asks Python to end in line 2 of your cell: `exit()`",
    "waits for `input()` in line 2 of your cell",
    "ZeroDivisionError: division by zero in line 2 of your cell: `return 1 / 0`",
    "the property holds, 1 point.",
    "yours is a class",
]


@pytest.fixture(scope="module")
def kernel_outputs() -> Iterator[list[list[dict]]]:
    nbformat = pytest.importorskip("nbformat")
    from course_lib.workshop.build import execute

    cells = [nbformat.v4.new_code_cell(textwrap.dedent(source)) for source in KERNEL_CELLS]
    done = execute(nbformat.v4.new_notebook(cells=cells), ROOT)
    yield [done_cell.outputs for done_cell in done.cells]


def test_a_kernel_survives_all_of_it(kernel_outputs: list[list[dict]]) -> None:
    for outputs, says in zip(kernel_outputs, KERNEL_SAYS, strict=True):
        if says is None:
            assert outputs == []
            continue
        assert [output["output_type"] for output in outputs] == ["execute_result"]
        assert says in outputs[0]["data"]["text/plain"]
        assert "text/html" in outputs[0]["data"]
