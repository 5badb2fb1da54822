"""The summary explorer: its summarisers, its claims, its pictures, and the thin layer of widgets."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from course_lib import CourseError, Transcript, explore_summary, long_incident
from course_lib.audits import audit
from course_lib.checks.exercises import find_question
from course_lib.messages import assistant, system, tool_call, tool_result, user
from course_lib.tokens import count_tokens
from course_lib.views.explore_summary import (
    FIGURES,
    RUN,
    SAMPLE_START,
    STORY,
    SummaryExplorer,
    own_presets,
    sample_presets,
    samples,
)
from course_lib.views.summary_scene import (
    GENERATIONS,
    HOW,
    PINNED,
    RATIOS,
    SUMMARISERS,
    SWEPT,
    TEXT_LINE,
    Piece,
    Source,
    SummaryScene,
    SummaryState,
    careless,
    first_words,
    marked,
    retold,
    structured,
    with_pins,
)


@cache
def shared_scene():
    return SummaryScene(samples())


@pytest.fixture
def scene():
    return shared_scene()


@pytest.fixture
def explorer(scene):
    return SummaryExplorer(scene, SAMPLE_START, sample_presets())


def preset(name):
    return next(p.state for p in sample_presets() if p.name == name)


def last(scene, name):
    return scene.told(preset(name)).last


def piece(*lines):
    return Piece([user(line) for line in lines])


# ---- the claims -----------------------------------------------------------------------------


def test_told_once_keeps_most_and_rounds_two_amounts(scene):
    once = last(scene, "Told once")
    assert (len(once.kept), len(once.lost)) == (9, 4)
    assert once.invented == ("50,000", "12,600")


def test_drift_four_tellings_leave_one_fact(scene):
    state = preset("Drift")
    drift = scene.told(state)
    assert state == SAMPLE_START == replace(preset("Told once"), generations=4)
    assert len(drift.generations) == 4 and len(drift.last.kept) == 1
    assert "about 50,000" in drift.last.text and "8841" not in drift.last.text
    question = find_question("facts_after_four")
    once = last(scene, "Told once")
    assert question.right == str(len(drift.last.kept)) == "1"
    assert f"39 lookups long, with {len(scene.source(state).facts)} exact values" in question.text
    assert f"carelessly, {len(once.kept)} of them" in question.text


def test_merging_as_often_within_the_same_limit_loses_nothing(scene):
    state, merged = preset("Merged, not retold"), last(scene, "Merged, not retold")
    assert state == replace(preset("Drift"), how="structured")
    assert merged.lost == () and merged.invented == ()
    assert merged.ratio >= 40
    assert (merged.tokens, last(scene, "Drift").tokens) == (759, 190)
    assert scene.source(state).rules_kept(merged.text)


def test_first_words_keep_all_facts_and_lose_the_rule(scene):
    state, cut = preset("The rule is lost"), last(scene, "The rule is lost")
    assert cut.lost == () and not scene.source(state).rules_kept(cut.text)
    assert "do not contact" not in cut.text
    assert state.generations == 12
    assert "The user's rule is gone" in scene.sentence(state)


def test_ten_to_one_keeps_a_fifth_of_the_figures_and_six_to_one_a_whole_story(scene):
    figures, story = last(scene, "Ten to one on figures"), last(scene, "Six to one on a story")
    assert preset("Ten to one on figures").how == preset("Six to one on a story").how == HOW[2]
    assert 0.78 < len(figures.lost) / 130 < 0.82 and figures.ratio >= 10
    assert len(story.kept) == 3 and story.lost == () and story.ratio >= 6
    half = scene.told(replace(preset("Ten to one on figures"), ratio=4)).last
    assert len(half.kept) == pytest.approx(65, abs=3)


def test_a_careless_summary_keeps_the_end(scene):
    state = preset("Only the end is left")
    early, late = scene.ends(state)
    assert late > 3 * early > 0
    assert not scene.source(state).rules_kept(scene.told(state).last.text)


def test_pins_lose_nothing_and_save_little(scene):
    pinned = last(scene, "Pins cost what they cost")
    assert pinned.lost == () and 1 < pinned.ratio < 2


# ---- the summarisers ------------------------------------------------------------------------


def test_a_telling_takes_the_last_value_and_a_digit_of_each_amount():
    first = retold("invoice 8841 rejected, code E12, amount 12,650")
    assert first == "invoice 8841 rejected, amount about 12,600."
    second = retold(first, again=True)
    assert second == "invoice rejected, amount about 13,000."
    assert retold(second, again=True) == "invoice rejected, amount about 10,000."
    assert retold("rule E12 holds") == "rule E12 holds."
    assert retold("rule E12 holds", again=True) == "rule holds."


@pytest.mark.parametrize(
    ("amount", "less"),
    [
        ("1,930.00 EUR", "1,900 EUR"),
        ("84.5 kg", "84 kg"),
        ("148.20 EUR", "148 EUR"),
        ("5 %", "5 %"),
    ],
)
def test_amounts_become_less_exact(amount, less):
    assert retold(f"It is {amount} now.") == f"It is about {less} now."


def test_a_careless_summary_keeps_the_newest_sentences_and_at_least_one():
    told = careless("It began. It went on.", piece("Then it ended."), 8)
    assert told == "It went on. Then it ended."
    assert careless("", piece("One long sentence that has no room."), 1).startswith("One long")


def test_first_words_cut_every_line_alike():
    text = first_words("one two three four", piece("five six seven eight nine"), 6)
    words = [line.split() for line in text.split("\n")]
    assert words[0][0] == "one" and words[1][0] == "five"
    assert 1 <= len(words[0]) == len(words[1]) < 4
    assert count_tokens(text) <= 6
    assert first_words("", piece("one two", "three four"), 100) == "one two\nthree four"
    assert first_words("", piece(*"abcdefgh"), 3).startswith("a\nb")


def test_an_earlier_note_is_merged_and_pins_stay_outside_the_limit():
    first = Piece([user("Find out. Do not call anyone."), tool_result("c", "code E12, 48,000")])
    second = Piece([tool_result("d", "order 70316")])
    for how in (structured, with_pins):
        note = how(how("", first, 200), second, 200)
        assert "E12" in note and "70316" in note and "Do not call anyone." in note
    tight = with_pins(with_pins("", first, 1), second, 1)
    assert tight.partition(PINNED)[2].split("\n") == ["", "  - code E12, 48,000", "  - order 70316"]
    assert "E12" not in structured(structured("", first, 1), second, 1)


def test_summarisers_stay_within_the_limit(scene):
    for how in HOW[:2]:
        for ratio in (4, 20):
            told = scene.told(SummaryState(FIGURES, how, ratio, 3))
            assert all(g.ratio >= ratio for g in told.generations)


def test_a_piece_holds_what_was_asked_found_and_answered():
    step = [
        user("Why?"),
        assistant("I look.", calls=[tool_call("c", "look")]),
        tool_result("c", {"finding": "code E12", "raw": "x"}),
        tool_result("d", {"finding": "no errors"}),
        assistant("Because of E12."),
    ]
    assert Source(step).piece(0, 9).lines == ["Why?", "code E12", "Because of E12."]


# ---- the run --------------------------------------------------------------------------------


def test_cuts_are_spread_over_the_run_and_the_last_step_is_one():
    source = samples()[STORY]
    assert len(source.steps) == 9
    assert source.cuts(1) == [9] and source.cuts(3) == [3, 6, 9]
    assert source.cuts(12) == list(range(1, 10))


def test_facts_alive_fall_only_at_summaries(scene):
    for how in HOW:
        state = SummaryState(RUN, how, 60, 5)
        told, source = scene.told(state), scene.source(state)
        assert len(told.alive) == len(source.steps)
        cuts = {g.step: len(g.kept) for g in told.generations}
        for step, (before, now) in enumerate(zip(told.alive, told.alive[1:], strict=False), 2):
            assert now == cuts[step] if step in cuts else now >= before
            assert now <= len(source.so_far(step))


def test_without_a_summary_yet_all_that_came_up_is_there(scene):
    source = scene.sources[RUN]
    told = scene.told(SummaryState(RUN, HOW[0], 40, 1))
    assert list(told.alive[:-1]) == [len(source.so_far(n)) for n in range(1, 39)]


def test_kept_lost_and_invented_are_the_audits(scene):
    state = preset("Told once")
    lines = "\n".join(scene.source(state).piece(0, 39).lines)
    report, summary = audit(lines, last(scene, "Told once").text), last(scene, "Told once")
    assert [f.value for f in summary.kept] == report.kept
    assert [f.value for f in summary.lost] == report.lost
    assert list(summary.invented) == report.invented


def test_a_value_of_a_call_is_not_invented():
    source = Source(
        [
            user("Look."),
            assistant(calls=[tool_call("c", "look", file="R-99")]),
            tool_result("c", "ok"),
        ]
    )
    assert source.judged(1, "R-99 is ok").invented == ()
    assert source.judged(1, "R-98 is ok").invented == ("R-98",)
    assert source.facts == []


def test_a_rule_must_stand_word_for_word_and_line_breaks_do_not_count():
    source = Source([user("Find it. Do not call anyone.")])
    assert source.rules == ["Do not call anyone."]
    assert source.rules_kept("Goal: Find it. Do not\n  call anyone.")
    assert not source.rules_kept("Don't call anyone.")


# ---- the pictures ---------------------------------------------------------------------------


def readout(scene, state, caption, before=None):
    return next(r for r in scene.readouts(state, before) if caption in r.caption)


def test_readouts_count_and_mark(scene):
    state = preset("Drift")
    assert readout(scene, state, "facts kept").value == "1 of 13"
    assert readout(scene, state, "lost").value == "12"
    assert readout(scene, state, "invented").value == "3"
    assert readout(scene, state, "invented").good is False
    assert readout(scene, state, "tokens").value == "190"
    assert readout(scene, preset("The rule is lost"), "rule").value == "lost"
    assert readout(scene, preset("Merged, not retold"), "rule").value == "kept"
    assert readout(scene, preset("Merged, not retold"), "facts kept").good is True


def test_the_change_since_the_setting_before_is_told(scene):
    once, drift = preset("Told once"), preset("Drift")
    assert readout(scene, drift, "facts kept", once).change == "−8"
    assert readout(scene, once, "facts kept", drift).change == "+8"
    assert readout(scene, once, "facts kept", replace(once, ratio=30)).change == "±0"
    assert readout(scene, once, "facts kept").change == ""


def test_the_curve_marks_each_summary_and_draws_the_one_before(scene):
    drift, once = preset("Drift"), preset("Told once")
    html = scene.curve(drift, once)
    assert re.findall(">Σ([^<]*)</text>", html) == ["", "", "", "\u2003\u2003"]
    assert html.count('stroke-dasharray="1 4"') == 1
    assert 'stroke-dasharray="1 4"' not in scene.curve(drift)
    assert "at the end 1 of 13, after 4 summaries" in html


def test_every_fact_has_a_chip_with_a_mark(scene):
    html = scene.chips(preset("Drift"))
    facts = html.partition("</p>")[2]
    assert facts.count("✓ ") == 1 and facts.count("✕ ") == 12 and facts.count("! ") == 3
    pinned = scene.chips(preset("Pins cost what they cost")).partition("</p>")[2]
    assert pinned.count("◆ ") > 120 and "✕ " not in pinned


def test_the_summarys_values_are_marked_and_its_text_escaped():
    html = marked("E12 & <b>48,000</b> and E123", {"E12"}, {"48,000"})
    assert html.startswith("<b>E12</b> &amp; &lt;b&gt;")
    assert re.search(r"<span[^>]*>! 48,000</span>", html)
    assert html.endswith("and E123")
    assert marked("<i>", set(), set()) == "&lt;i&gt;"


def test_the_summary_has_a_heading_and_its_box_cuts_no_line_through(scene, explorer):
    html = scene.text(SAMPLE_START)
    assert "The last summary itself" in html
    heights = [int(height) for height in re.findall(r"line-height:(\d+)px", html)]
    assert heights[:2] == [TEXT_LINE] * 2 and max(heights[2:]) < TEXT_LINE
    assert int(explorer.text.layout.height.removesuffix("px")) % TEXT_LINE == 0


def test_the_slider_names_the_least_and_the_readout_what_came_out(scene, explorer):
    assert explorer.controls["ratio"].label == "≥40:1"
    assert readout(scene, SAMPLE_START, "tokens").caption == "tokens, came out 164.5 : 1"


def test_a_sweep_shows_every_value_of_the_setting(scene):
    for along, values in (("ratio", RATIOS), ("generations", GENERATIONS)):
        html = scene.sweep(SAMPLE_START, along)
        points = re.findall(r'<polyline points="([^"]+)"', html)
        assert [len(p.split()) for p in points] == [len(values)] * 3
        assert SWEPT[along] in html


def test_pictures_have_a_description_and_text_is_escaped():
    nasty = [user("<script>alert(1)</script> Never <u>7,000</u>."), assistant("</svg><img src=x>")]
    scene = SummaryScene({"<i>x</i>": Source(nasty)})
    for how in HOW:
        state = SummaryState("<i>x</i>", how, 1, 1)
        html = scene.picture(state) + scene.chips(state) + scene.text(state)
        assert "<script>" not in html and "<img" not in html and "<i>" not in html
        assert all('role="img" aria-label="' in svg for svg in re.findall(r"<svg[^>]*>", html))


# ---- the widgets ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"), [("ratio", 150), ("generations", 9), ("how", HOW[1]), ("source", FIGURES)]
)
def test_each_control_changes_picture_facts_and_text(explorer, name, value):
    before = explorer.picture.value, explorer.facts.value, explorer.text.value
    explorer.controls[name].value = value
    after = explorer.picture.value, explorer.facts.value, explorer.text.value
    assert getattr(explorer.state, name) == value
    assert all(old != new for old, new in zip(before, after, strict=True))


def test_every_preset_can_be_shown_by_the_controls(explorer):
    for one in sample_presets():
        explorer.show(one.state)
        assert {name: c.value for name, c in explorer.controls.items()} == vars(one.state)


def test_runs_are_compared_only_with_themselves(explorer):
    explorer.controls["generations"].value = 1
    assert 'stroke-dasharray="1 4"' in explorer.picture.value
    explorer.controls["source"].value = STORY
    assert 'stroke-dasharray="1 4"' not in explorer.picture.value


def test_a_preset_says_what_to_see(explorer):
    button = next(b for b in explorer.presets if b.description == "The rule is lost")
    button.click()
    assert explorer.controls["how"].value == "first words"
    assert button.tooltip.split(".")[0] in explorer.title.value


def test_the_picture_can_show_all_values(explorer):
    explorer.view.value = "ratio"
    assert "tokens of the summary</text>" in explorer.picture.value


def test_runs_of_ones_own_can_be_opened(tmp_path):
    path = tmp_path / "run.json"
    path.write_text('{"messages": [{"role": "user", "content": "order 70316"}, '
                    '{"role": "assistant", "content": "hello"}]}', encoding="utf-8")  # fmt: skip
    assert "run.json" in repr(explore_summary(path)._still)
    assert "your run" in repr(explore_summary(long_incident())._still)
    assert "Mine" in repr(explore_summary(Transcript(long_incident(), name="Mine"))._still)
    for empty in ([], [system("You are here.")]):
        with pytest.raises(CourseError, match="no message"):
            explore_summary(empty)


def test_the_buttons_for_ones_own_run_can_all_be_pressed():
    box = explore_summary(long_incident())
    start = SummaryState("your run", HOW[0], 10, 4)
    assert [p.state.how for p in own_presets(start)] == [HOW[0], HOW[0], HOW[2], HOW[3]]
    assert "facts kept" in repr(box._still)


def test_a_run_without_rules_or_facts_can_be_looked_at():
    scene = SummaryScene({"x": Source([user("Hello."), assistant("Hello.")])})
    for how in SUMMARISERS:
        state = SummaryState("x", how, 10, 1)
        assert readout(scene, state, "rule").value == "none"
        assert readout(scene, state, "facts kept").value == "0 of 0"
        assert scene.picture(state) and scene.sweep(state, "ratio")


def test_the_saved_form_has_a_picture_with_words_and_the_same_bytes():
    first, second = (explore_summary()._repr_mimebundle_()[0] for _ in range(2))
    assert re.search(r'<img src="data:image/png;base64,[^"]+" alt="[^"]{50,}">', first["text/html"])
    assert first["text/html"] == second["text/html"]
