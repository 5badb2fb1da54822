"""The context plan: each technique tried on a run, one chosen by the rules, all on one page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal
from html import escape

import pytest

from course_lib import (
    CourseError,
    coding_run,
    incident,
    invoice_run,
    plan,
    research_session,
    support_chat,
    support_tools,
)
from course_lib.caching import PRESETS, answer_tokens, cost
from course_lib.messages import assistant, system, text_of, tool_call, tool_result, user
from course_lib.plan_command import look, main
from course_lib.plans import (
    EVERY,
    MISSED,
    MOST_CALLS,
    RULES,
    choose,
    end_of,
    how_sure,
    settings_code,
    start_of_end,
)
from course_lib.reuses import reuse
from course_lib.shapes import unmanaged_reads
from course_lib.trimming import mask_results, rolling_summary


@pytest.fixture(scope="module")
def support():
    return plan(support_chat(), tools=support_tools(), name="support")


@pytest.fixture(scope="module")
def invoices():
    return plan(invoice_run())


def tried(made, name):
    return next(each for each in made.tried if each.name == name)


# ---- what was tried -------------------------------------------------------------------------


def test_every_technique_is_tried_and_each_figure_is_that_of_a_replay(invoices):
    run = invoice_run()
    assert [each.name for each in invoices.tried] == [
        "everything kept",
        "sliding window",
        "water marks",
        "water marks, summary",
        "rolling summary",
        "masking",
        "window and pins",
        "context manager",
    ]
    everything = tried(invoices, "everything kept")
    assert everything.read == invoices.shape.total == sum(invoices.shape.reads)
    assert everything.peak == invoices.shape.reads[-1]
    assert everything.missed == 0
    again = mask_results(3)(run.messages)
    assert tried(invoices, "masking").run.rows[-1].prompt[3] == again[3]


def test_prices_count_cache_answers_and_summary_calls(invoices):
    answers = answer_tokens(invoice_run().messages)
    for each in invoices.tried:
        for at, prices in PRESETS.items():
            exact = cost(each.run, prices, answers).total
            # A replay knows what was shared with the call before; `cost` looks at all before.
            assert exact <= each.prices[at] <= exact * Decimal("1.02")


def test_a_window_and_pins_miss_less_than_the_window_alone(support):
    found = support.reuse
    assert found.missed(support.window) > tried(support, "window and pins").missed
    assert support.pins and all(pin.distance > support.window for pin in support.pins)


def test_the_low_water_mark_holds_the_window(invoices):
    needed = invoices.shape.fixed + invoices.window * invoices.shape.per_step
    assert invoices.budget // 2 == needed
    assert (
        invoices.reuse.missed(invoices.window) <= 0.2 < invoices.reuse.missed(invoices.window - 1)
    )


def test_a_list_of_messages_and_a_transcript_are_the_same():
    run = invoice_run()
    assert plan(run.messages, tools=run.tools, name=run.name).markdown() == plan(run).markdown()


# ---- what is chosen -------------------------------------------------------------------------


@pytest.mark.parametrize("by", PRESETS)
@pytest.mark.parametrize("sample", [invoice_run, research_session, support_chat])
def test_the_choice_follows_the_rules(sample, by):
    made = plan(sample(), by=by)
    fit = [each for each in made.tried if each.valid and each.missed <= MISSED]
    assert made.chosen in fit
    assert made.chosen.prices[by] <= min(each.prices[by] for each in fit) * Decimal("1.1")
    assert made.chosen.prices[by] <= made.tried[0].prices[by]
    cheap = [each for each in fit if each.prices[by] <= made.chosen.prices[by]]
    assert all(made.chosen.read <= each.read for each in cheap)


def test_a_small_run_is_left_alone():
    made = plan(incident())
    assert made.chosen.name == "everything kept"
    assert "nothing to manage" in made.reasons[0]


def test_what_outgrows_the_models_window_is_not_fit(invoices):
    narrow = plan(invoice_run(), model_window=20_000)
    assert not tried(narrow, "everything kept").qualifies
    assert narrow.chosen.name == "rolling summary"
    assert narrow.chosen.peak <= 20_000
    assert tried(invoices, "everything kept").qualifies


def test_where_nothing_is_fit_the_one_that_misses_least_is_chosen(invoices):
    poor = [replace(each, missed=0.3 + n / 10) for n, each in enumerate(invoices.tried)]
    chosen, reasons = choose(poor, invoices.shape, "OpenAI", 128_000)
    assert chosen is poor[0]
    assert "misses least" in reasons[0]
    broken = [replace(poor[0], valid=False), *poor[1:]]
    assert choose(broken, invoices.shape, "OpenAI", 128_000)[0] is poor[1]


def test_advice_for_the_source_is_given_where_it_is_due():
    run = [system("You read pages."), user("What is the code?")]
    for i in range(12):
        run += [
            assistant("", [tool_call(f"c{i}", "fetch", page=str(1000 + i))]),
            tool_result(f"c{i}", f"page {7000 + i} " + "of text that nobody needs " * 400),
        ]
    reasons = " ".join(plan([*run, assistant("None.")]).reasons)
    assert "Trim at the source first" in reasons
    assert "Offload: 12 results" in reasons and "fetch" in reasons


def test_how_sure_it_is_depends_on_the_reuses_and_on_the_others(invoices):
    made = invoices
    alone = [made.chosen]
    many = replace(made.reuse, uses=made.reuse.uses * 10)
    few = replace(made.reuse, uses=made.reuse.uses[:10])
    assert how_sure(many, alone, made.chosen, "OpenAI").startswith("high: ")
    assert how_sure(few, alone, made.chosen, "OpenAI").startswith("low: 10 reuses")
    close = [made.chosen, replace(made.chosen, name="another", missed=0.0)]
    assert how_sure(many, close, made.chosen, "OpenAI").startswith("middling: ")


def test_a_run_without_a_call_is_refused():
    with pytest.raises(CourseError, match="no assistant message"):
        plan([user("hello")])


# ---- the page -------------------------------------------------------------------------------


def test_the_page_says_all_and_the_same_in_both_forms(support):
    text, page = support.markdown(), support.html()
    for each in support.tried:
        assert f"| {each.name} | {each.read:,} | {each.cached_share:.0%} |" in text
        assert f"<td>{each.name}</td><td>{each.read:,}</td><td>{each.cached_share:.0%}</td>" in page
    pin = support.pins[0].value
    for needed in (*RULES, *support.reasons, support.sure, pin, "Goal: the original"):
        assert escape(needed) in page
    figures = set(re.findall(r"\d[\d,.]*", re.sub(r"<style>.*</style>", "", page, flags=re.DOTALL)))
    assert set(re.findall(r"\d[\d,.]*", text)) <= figures


def test_where_everything_is_kept_the_page_says_what_the_other_figures_are_for(support, invoices):
    until = "Change nothing while a request fits your model's window."
    assert invoices.chosen.name == "everything kept" and until in invoices.markdown()
    assert support.chosen.name != "everything kept" and until not in support.markdown()


def test_the_html_is_one_file_without_scripts_or_addresses(support):
    page = support.html()
    assert not re.search(r"<script|<link|<img|\bsrc=|href=|https?://|@import|url\(", page)
    assert page.startswith("<!doctype html>") and '<html lang="en">' in page


def test_text_from_a_run_cannot_break_the_page():
    evil = "<script>alert(1)</script> | `x` [a](b)"
    run = [system("You may not pay."), user(f"Do not pay {evil}. Why?"), assistant("Because.")]
    made = plan(run, name=evil)
    outside = re.sub(r"```.*?```", "", made.markdown(), flags=re.DOTALL)
    assert "<script>" not in made.html() + outside
    assert "\\|" in made.markdown().splitlines()[0]


def test_prices_are_not_read_as_formulas(support):
    # JupyterLab and GitHub set what stands between two dollar signs as mathematics.
    assert "$" in support.markdown()
    assert not re.search(r"(?<!\\)\$", support.markdown())


def test_the_settings_run_as_they_are(support):
    code = settings_code(support)
    assert len([line for line in code.splitlines() if line]) <= 12
    assert code.count("#") >= 3, "each setting says what it does"
    names = {"instructions": "You are a clerk.", "task": "Help.", "tools": support_tools()}
    exec(code.replace('Store("run.db")', "Store()"), names)
    ctx = names["ctx"]
    for message in support_chat()[2:]:
        ctx.append(message)
    assert ctx.size() <= support.budget


def test_the_settings_are_tried_on_the_run_as_one_would_paste_them(support):
    names = {"tools": support_tools()}
    names["instructions"], names["task"] = (text_of(m) for m in support_chat()[:2])
    exec(settings_code(support).replace('Store("run.db")', "Store()"), names)
    reads = []
    for message in support_chat()[2:]:
        if message["role"] == "assistant":
            reads.append(names["ctx"].size())
        names["ctx"].append(message)
    managed = tried(support, "context manager")
    assert [row.read for row in managed.run.rows] == reads
    assert f"they read {managed.read:,} tokens" in support.markdown()


def test_a_run_that_the_context_manager_cannot_take_is_said_and_the_rest_is_there():
    run = invoice_run()
    twice = [*run.messages[:4], run.messages[3], *run.messages[4:]]
    made = plan(twice, tools=run.tools)
    assert "context manager" not in [each.name for each in made.tried]
    assert "waits for one" in made.fault and escape(made.fault) in made.html()
    assert len(made.tried) >= 6


@pytest.mark.parametrize("model_window", [2_000, 700])
def test_a_budget_that_is_too_small_for_the_context_manager_is_said(model_window):
    made = plan(coding_run(), model_window=model_window)
    assert "context manager" not in [each.name for each in made.tried]
    assert f"{model_window:,}" in made.fault and escape(made.fault) in made.html()


@pytest.mark.parametrize("model_window", [8_000, 6_000])
def test_a_small_model_bounds_every_figure_that_one_would_paste(model_window):
    made = plan(coding_run(), model_window=model_window)
    assert made.budget == model_window == made.settings.budget
    assert made.chosen.sendable and made.chosen.peak <= model_window
    assert made.chosen.missed > MISSED and not made.chosen.qualifies
    within = [each.missed for each in made.tried if each.sendable]
    assert made.chosen.missed == min(within)
    assert made.reasons[0].startswith(f"Whatever stays within {model_window:,} tokens misses more")
    assert made.sure.startswith("low: it doesn't meet")
    assert f"passes {model_window * 8 // 10:,} tokens" in made.markdown()


def test_where_nothing_fits_the_model_the_nearest_is_named():
    made = plan(coding_run(), model_window=1_500)
    assert not any(each.sendable for each in made.tried)
    assert made.chosen.peak == min(each.peak for each in made.tried if each.valid)
    assert "comes nearest" in made.reasons[0] and "1,500" in made.reasons[0]
    assert "too long" in made.markdown()


def test_the_page_says_what_each_technique_was_set_to(support):
    page = support.markdown()
    assert all(f"{each.name}: {each.about}" in page for each in support.tried)


def test_the_pins_are_those_of_the_reuse(support):
    assert list(support.pins) == reuse(support_chat(), True, support_tools()).pins(support.window)
    assert EVERY == 10 and rolling_summary(EVERY)


def test_what_costs_more_is_not_said_to_cost_less():
    small = plan(coding_run(), model_window=32_000)
    part = small.chosen.prices[small.by] / small.tried[0].prices[small.by]
    assert small.chosen.name == "window and pins" and part > 1
    assert f"costs {part - 1:.0%} more than keeping everything" in small.reasons[0]
    assert "less" not in small.reasons[0]


def test_a_rule_that_is_said_twice_stands_in_the_plan_once():
    made = plan(coding_run())
    rule = "Never edit a file under tests/golden."
    assert made.constraints.count(rule) == 1
    assert repr(made) == f"<Plan for {made.name!r}: everything kept, append_all()>"
    assert "missed 1 time," in made.markdown() and "missed 1 times" not in made.markdown()


def long_run(calls):
    steps = [
        message
        for n in range(calls)
        for message in (
            assistant("", [tool_call(f"c{n}", "look_up", key=f"K-{n // 2 + 500}")]),
            tool_result(f"c{n}", f"K-{n // 2 + 501} is the next one, after much else " * 3),
        )
    ]
    return [system("You are a clerk."), user("Follow the keys."), *steps]


def test_of_a_long_run_the_techniques_are_replayed_on_its_end():
    run = long_run(MOST_CALLS + 30)
    made = plan(run, model_window=unmanaged_reads(run)[-1] - 1)
    start = start_of_end(run)
    part = end_of(run, start)
    assert start == 30 and part[:2] == run[:2] and part[2:] == run[2 + 2 * 30 :]
    assert all(len(each.run.rows) == MOST_CALLS for each in made.tried)
    assert made.shape.calls == MOST_CALLS + 30 and made.reuse == reuse(run, True)
    assert sum(f"the last {MOST_CALLS}" in reason for reason in made.reasons) == 1
    whole = tried(made, "everything kept")
    assert whole.missed == 0
    # It outgrew the window before the part that was replayed, and so isn't valid.
    assert whole.peak < made.shape.reads[-1] - 1 and not whole.fits


def test_a_run_of_usual_length_is_replayed_whole(support):
    assert start_of_end(long_run(MOST_CALLS)) is None
    run = long_run(5)
    assert end_of(run, None) == run and end_of(run, None) is not run
    assert not any("were replayed on the last" in reason for reason in support.reasons)


# ---- the commands ---------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(support_chat()), encoding="utf-8")
    return path


def test_the_commands_write_and_print(log, capsys):
    assert main([str(log), "--out", str(log.with_name("plan.html"))]) == 0
    assert log.with_name("plan.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "plan.html: use " in capsys.readouterr().out
    assert main([str(log), "--out", str(log.with_name("plan.md")), "--window", "9000"]) == 0
    assert (
        log.with_name("plan.md")
        .read_text(encoding="utf-8")
        .startswith("# Context plan for run.json")
    )
    assert main([str(log)]) == 0
    assert capsys.readouterr().out.count("# Context plan") == 1
    assert look([str(log)]) == 0
    about, sizes, windows, *_ = capsys.readouterr().out.split("\n\n")
    assert about == "run.json, OpenAI chat messages: 88 messages"
    for table in (sizes, windows):
        names, figures = table.split("\n")
        assert len(names) == len(figures), "columns stand above each other"


@pytest.mark.parametrize("command", [main, look])
def test_what_cannot_be_read_is_said_in_a_sentence(command, log, capsys):
    log.write_text("{", encoding="utf-8")
    assert command([str(log)]) == 1
    assert "run.json" in capsys.readouterr().err
    assert command([str(log.with_name("none.json"))]) == 1
    assert "none.json" in capsys.readouterr().err
