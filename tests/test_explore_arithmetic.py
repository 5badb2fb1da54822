"""The arithmetic explorer: what a state shows, each preset's claim, and the layer of widgets."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from course_lib import (
    CourseError,
    Transcript,
    explore_arithmetic,
    incident,
    invoice_run,
    mask_results,
    plot_reads,
    replay,
    rolling_summary,
    sliding_window,
)
from course_lib.arithmetic import Settings, priced, techniques
from course_lib.caching import PRESETS, answer_tokens, cost
from course_lib.messages import user, validate
from course_lib.tokens import count_tokens
from course_lib.views import parts
from course_lib.views.arithmetic_presets import model_presets, run_presets
from course_lib.views.arithmetic_scene import (
    DEPENDS,
    LABELS,
    NO_CACHE,
    OWNERS,
    SHOWN,
    STYLES,
    ArithmeticState,
    ModelScene,
    RunScene,
    first_run_state,
    summary_places,
    trimmed_at_source,
)
from course_lib.views.explore_arithmetic import ArithmeticExplorer

MODEL = ModelScene()
RUN = invoice_run()


@pytest.fixture(scope="module")
def real():
    return RunScene(RUN.name, RUN.messages, list(RUN.tools))


@pytest.fixture
def explorer():
    return ArithmeticExplorer(ModelScene(), ArithmeticState(), model_presets(), "about")


def by_name(scene, state):
    return {t.name: t for t in scene.techniques(state)}


def preset(name):
    return next(p for p in model_presets() if p.name == name)


def part(name, technique, of="unmanaged"):
    """What a technique reads in a preset, as a part of what another does."""
    found = by_name(MODEL, preset(name).state)
    return found[technique].total / found[of].total


def readout(scene, state, caption, before=None):
    return next(r for r in scene.readouts(state, before) if caption in r.caption)


# ---- the presets' claims --------------------------------------------------------------------


def test_nothing_managed():
    lead = MODEL.focus(preset("Nothing managed").state)
    assert (lead.name, lead.reads[-1], lead.total) == ("unmanaged", 33_200, 704_000)


def test_a_window_of_ten_halves_it():
    lead = MODEL.focus(preset("A window of ten halves it").state)
    assert (lead.name, lead.total, set(lead.reads[10:])) == ("sliding window", 356_000, {10_000})
    assert f"{part('A window of ten halves it', 'sliding window'):.0%}" == "51%"


def test_a_summary_every_ten():
    found = by_name(MODEL, preset("A summary every ten: 39 %").state)
    assert found["rolling summary"].total == 272_000 < found["sliding window"].total
    assert f"{part('A summary every ten: 39 %', 'rolling summary'):.0%}" == "39%"


def test_less_at_the_source():
    lead = MODEL.focus(preset("Less at the source: 61 %").state)
    assert (lead.name, lead.total, lead.summaries) == ("trim at source", 431_000, [])
    assert f"{part('Less at the source: 61 %', 'trim at source'):.0%}" == "61%"


def test_at_a_hundred_steps():
    found = by_name(MODEL, preset("At 100 steps: 23 %").state)
    assert (found["sliding window"].total, found["unmanaged"].total) == (956_000, 4_160_000)
    assert f"{part('At 100 steps: 23 %', 'sliding window'):.0%}" == "23%"


def test_a_short_run_has_nothing_to_gain():
    found = by_name(MODEL, preset("Short run: nothing to gain").state)
    assert found["sliding window"].reads == found["rolling summary"].reads
    assert found["rolling summary"].reads == found["unmanaged"].reads
    assert len(found["unmanaged"].reads) == 10


def test_notes_without_a_cap():
    state = preset("Notes without a cap").state
    found = by_name(MODEL, state)
    notes = found["pinned notes"].reads[-1] - found["sliding window"].reads[-1]
    assert notes == 19_800 > state.window * state.per_step
    assert MODEL.focus(replace(state, cap=400)).reads[-1] == 10_400


def test_compacting_on_every_step():
    state = preset("Compact on every step").state
    lead, ten = MODEL.focus(state), MODEL.focus(replace(state, every=10))
    assert len(lead.summaries) == 39
    assert lead.total < ten.total
    assert round(lead.total / MODEL.techniques(state)[0].total, 1) == 0.2
    assert MODEL.cost(lead, state) > MODEL.cost(ten, state)
    assert MODEL.cost(lead, state) > MODEL.cost(MODEL.techniques(state)[0], state)


def test_what_the_cache_changes():
    state = preset("What the cache changes").state
    found = by_name(MODEL, state)
    window, nothing = found["sliding window"], found["unmanaged"]
    assert round(window.total / nothing.total, 1) == 0.5
    assert round(MODEL.cost(window, state) / MODEL.cost(nothing, state)) == 3
    assert set(window.shared[11:]) == {state.fixed}


def test_every_preset_is_one_of_those_proved_here():
    assert [p.name for p in model_presets()] == [
        "Nothing managed",
        "A window of ten halves it",
        "A summary every ten: 39 %",
        "Less at the source: 61 %",
        "At 100 steps: 23 %",
        "Short run: nothing to gain",
        "Notes without a cap",
        "Compact on every step",
        "What the cache changes",
    ]


def test_the_presets_of_a_run_say_what_its_replays_give(real):
    for one in run_presets(real):
        lead, base = real.focus(one.state), real.techniques(one.state)[0]
        if lead is base:
            assert f"{base.total:,}" in one.sentence and f"{real.fixed:,}" in one.sentence
        else:
            assert f"{lead.total / base.total:.0%} of the tokens" in one.sentence
    ratio = real.cost(lead, one.state) / real.cost(base, one.state)
    assert f"{ratio:.0%} of its price" in one.sentence
    assert {p.state.focus for p in run_presets(real)} == set(DEPENDS)


# ---- the model ------------------------------------------------------------------------------


def test_the_first_state_is_the_documents_run():
    assert [t.total for t in MODEL.techniques(ArithmeticState())] == [
        t.total for t in techniques(Settings())
    ]


@pytest.mark.parametrize(
    ("setting", "value", "name"),
    [
        ("fixed", 5_000, "unmanaged"),
        ("per_step", 400, "unmanaged"),
        ("steps", 20, "unmanaged"),
        ("trimmed", 100, "trim at source"),
        ("window", 5, "sliding window"),
        ("every", 5, "rolling summary"),
        ("ratio", 20, "rolling summary"),
        ("note", 20, "pinned notes"),
        ("cap", 200, "pinned notes"),
        ("keep", 1, "masking"),
    ],
)
def test_each_slider_changes_its_technique_and_less_is_less(setting, value, name):
    state = ArithmeticState()
    before, after = by_name(MODEL, state), by_name(MODEL, replace(state, **{setting: value}))
    less = after[name].total - before[name].total
    assert (less > 0) if setting == "fixed" else (less < 0)


def test_a_cap_of_zero_is_none():
    state = replace(ArithmeticState(), cap=0)
    assert by_name(MODEL, state)["pinned notes"].reads[-1] == 10_000 + 39 * 40


def test_a_quarter_of_a_step_is_the_answer():
    state = replace(ArithmeticState(), per_step=400)
    assert MODEL.answers(state) == [100] * 40


@pytest.mark.parametrize("prices", [*PRESETS, NO_CACHE])
@pytest.mark.parametrize("every", [1, 7, 10])
def test_the_price_curve_ends_in_the_price_of_the_whole_run(prices, every):
    state = replace(ArithmeticState(), prices=prices, every=every, shown=SHOWN[2])
    for technique in MODEL.techniques(state):
        end = MODEL.values(technique, state)[-1] / 1000
        assert end == pytest.approx(MODEL.cost(technique, state)), technique.name


def test_the_price_is_that_of_the_arithmetic():
    state = ArithmeticState()
    for technique in MODEL.techniques(state)[:7]:
        assert MODEL.cost(technique, state) == float(
            priced(technique, PRESETS["OpenAI"], 200).total
        )


def test_without_a_cache_the_window_is_cheaper_than_nothing_again():
    state = replace(ArithmeticState(), prices=NO_CACHE)
    found = by_name(MODEL, state)
    assert MODEL.cost(found["sliding window"], state) < MODEL.cost(found["unmanaged"], state)
    assert "without a cache" in MODEL.sentence(state)


@pytest.mark.parametrize("every", [1, 2, 9, 10])
def test_a_summary_is_paid_before_the_call_that_reads_it_first(every):
    technique = by_name(MODEL, replace(ArithmeticState(), every=every))["rolling summary"]
    assert summary_places(technique) == list(range(every, 40, every))


def test_the_three_curves_show_reads_their_sum_and_the_price():
    state = ArithmeticState()
    lead = MODEL.focus(state)
    assert MODEL.values(lead, state) == lead.reads
    so_far = MODEL.values(lead, replace(state, shown=SHOWN[1]))
    assert (so_far[0], so_far[-1]) == (2_000, 356_000)
    assert MODEL.values(lead, replace(state, shown=SHOWN[2]))[-1] == pytest.approx(696, rel=0.01)


# ---- a recorded run -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("sliding window", sliding_window(10)),
        ("rolling summary", rolling_summary(10, 10)),
        ("masking", mask_results(3)),
    ],
)
def test_curves_of_a_run_are_its_replays_and_cost_what_they_cost(real, name, policy):
    state = replace(first_run_state(real), focus=name)
    run = replay(RUN.messages, policy, tools=RUN.tools)
    lead = real.focus(state)
    assert lead.reads == [row.read for row in run.rows]
    exact = float(cost(run, PRESETS["OpenAI"], answer_tokens(RUN.messages)).total)
    assert real.cost(lead, state) == pytest.approx(exact, rel=0.001)
    curve = real.values(lead, replace(state, shown=SHOWN[2]))
    assert curve[-1] / 1000 == pytest.approx(real.cost(lead, state))


@pytest.mark.parametrize(
    ("setting", "value"),
    [("trimmed", 100), ("window", 5), ("every", 5), ("ratio", 20), ("keep", 1)],
)
def test_each_slider_changes_its_replay_and_no_other(real, setting, value):
    state = first_run_state(real)
    before, after = by_name(real, state), by_name(real, replace(state, **{setting: value}))
    less = {name for name in before if after[name].total < before[name].total}
    assert less == {OWNERS[setting]}
    assert sum(after[name].reads == before[name].reads for name in before) == 4


def test_fixed_and_per_step_are_measured(real):
    assert real.fixed == count_tokens(RUN.messages[:2], tools=RUN.tools)
    assert real.per_step == pytest.approx(800, rel=0.01)
    assert 700 < real.result < real.per_step


def test_a_shorter_run_is_the_beginning_of_the_same(real):
    whole = replace(first_run_state(real), focus="rolling summary")
    short = replace(whole, steps=15)
    assert real.focus(short).reads == real.focus(whole).reads[:15]
    assert (len(real.focus(short).summaries), len(real.focus(whole).summaries)) == (1, 3)
    assert real.step(short) == 15
    assert len(real.answers(short)) == 15


def test_the_arithmetic_stands_beside_the_replay(real):
    state = first_run_state(real)
    model = real.by_arithmetic(state)
    assert model.total == pytest.approx(real.focus(state).total, rel=0.01)
    assert f"By the arithmetic (2,015 + 800 a step): {model.total:,}" in real.sentence(state)
    masked = replace(state, focus="masking")
    off = real.by_arithmetic(masked).total / real.focus(masked).total - 1
    assert f"{off:+.0%}".replace("-", "−") in real.sentence(masked)


def test_trimmed_at_source_shortens_only_long_results_and_keeps_the_findings():
    before = invoice_run()
    cut = trimmed_at_source(before.messages, 250)
    assert before == invoice_run()
    assert not validate(cut)
    sizes = [count_tokens(m["content"]) for m in cut if m["role"] == "tool"]
    assert all(200 < size < 280 for size in sizes)
    assert [m for m in cut if m["role"] != "tool"] == [
        m for m in RUN.messages if m["role"] != "tool"
    ]
    assert trimmed_at_source(before.messages, 5_000) == before.messages
    assert "no purchase order field" in cut[3]["content"]


def test_an_own_list_and_a_file_are_opened(tmp_path):
    import json

    path = tmp_path / "run.json"
    path.write_text(json.dumps({"messages": incident()}), encoding="utf-8")
    assert "run.json · 12 calls" in repr(explore_arithmetic(path)._still)
    assert "The run · 12 calls" in repr(explore_arithmetic(incident())._still)


def test_tools_count_from_the_transcript_or_as_given():
    tools = ({"type": "function", "function": {"name": "look", "description": "Look."}},)
    bare = explore_arithmetic(Transcript(incident(), tools=tools), tools=[])
    known = explore_arithmetic(Transcript(incident(), tools=tools))
    fixed = [
        int(re.search(r"([\d,]+) tokens fixed", str(box.children[1].value))[1])
        for box in (bare, known)
    ]
    assert fixed[1] - fixed[0] == count_tokens([], tools=tools) - count_tokens([])


def test_one_call_shows_no_growth():
    with pytest.raises(CourseError, match="fewer than two calls"):
        explore_arithmetic(incident(1))
    with pytest.raises(CourseError, match="fewer than two calls"):
        explore_arithmetic([user("hello")])


# ---- pictures -------------------------------------------------------------------------------


def test_readouts_are_the_leading_techniques():
    state = replace(ArithmeticState(), focus="rolling summary", step=20)
    assert readout(MODEL, state, "at step 20").value == "10,000"
    assert readout(MODEL, state, "39% of unmanaged").value == "272,000"
    assert readout(MODEL, state, "summary calls").value == "3"
    assert readout(MODEL, state, "most at once").value == "11,600"
    assert readout(MODEL, state, "price in all").value == "$0.265"
    assert (
        readout(MODEL, state, "served from cache").value
        == f"{MODEL.cached(MODEL.focus(state), state):.0%}"
    )
    assert 0 < MODEL.cached(MODEL.focus(state), state) < 1


def test_check_yourself_can_be_read_off():
    state = replace(ArithmeticState(), focus="unmanaged", per_step=500, step=21)
    assert readout(MODEL, state, "at step 21").value == "12,000"
    state = replace(state, focus="sliding window", window=5)
    assert readout(MODEL, state, "most at once").value == "4,500"


def test_a_readout_says_how_much_changed():
    state = ArithmeticState()
    five = replace(state, window=5)
    assert readout(MODEL, five, "read in all", state).change == "−36%"
    assert readout(MODEL, five, "price in all", state).change.startswith("−")
    assert readout(MODEL, replace(state, step=3), "read in all", state).change == ""


def test_every_technique_has_a_row_with_its_share_and_its_overflow():
    html = MODEL.totals(ArithmeticState())
    rows = re.findall(r"<tr.*?</tr>", html)[2:]
    cells = [re.sub(r"<[^>]+>", "|", row) for row in rows]
    assert len(rows) == 9
    assert "704,000" in cells[0] and "|9|" in cells[0] and "|39|" in cells[0] and "–" in cells[0]
    assert [i for i, row in enumerate(rows) if "stm-lead" in row] == [2]
    assert "51%" in cells[2] and "303%" in cells[2]


def test_the_table_names_its_windows_under_one_heading_in_words_that_fit():
    upper, lower = re.findall(r"<tr.*?</tr>", MODEL.totals(ArithmeticState()))[:2]
    assert '<th scope="colgroup" colspan="3">outgrows a window of</th>' in upper
    assert re.findall(r">([^<>]+)</th>", lower) == ["in all", "share", "8K", "32K", "128K"]
    assert upper.count('rowspan="2"') == 3


def test_a_sweep_tells_the_value_that_is_set_and_the_least_one():
    html = MODEL.sweep(ArithmeticState(every=21), "every")
    told = re.findall(r">(at [^<]* · least [^<]*)</text>", html)
    assert told == [
        "at 21: 417k · least at 1: 142k",
        "at 21: 59% · least at 1: 20%",
        "at 21: 110% · least at 41: 100%",
    ]


def test_bars_are_as_long_as_the_shares():
    html = MODEL.totals(ArithmeticState())
    widths = [int(width) for width in re.findall(r'stm-bar" style="width:(\d+)px', html)]
    totals = [t.total for t in MODEL.techniques(ArithmeticState())]
    assert widths == [round(90 * total / max(totals)) for total in totals]


def test_curves_differ_in_more_than_colour():
    assert len({mark for _, mark, _ in STYLES.values()}) == len(STYLES) == 9
    html = MODEL.curves(ArithmeticState())
    for name, (_, mark, _) in STYLES.items():
        assert f">{name}</text>" in html
        assert html.count(f'data-mark="{mark}"') >= 3, name
    assert html.count("<polyline") == 9


def test_only_the_leading_curve_is_thick_and_drawn_last():
    html = MODEL.curves(replace(ArithmeticState(), focus="masking"))
    widths = re.findall(r'<polyline [^>]*stroke-width="([\d.]+)"', html)
    assert widths == ["1.5"] * 8 + ["3.4"]
    assert '<text x="716" y=' in html and "font-weight:700" in html


def test_names_at_the_ends_do_not_lie_on_each_other():
    for state in (ArithmeticState(), preset("Short run: nothing to gain").state):
        html = MODEL.curves(state)
        heights = sorted(float(y) for y in re.findall(r'<text x="716" y="([\d.]+)"', html))
        assert len(heights) == 9
        assert all(b - a >= 16.9 for a, b in zip(heights, heights[1:], strict=False))
        assert heights[0] > 0 and heights[-1] <= 300


def test_names_of_curves_that_end_at_the_bottom_stay_in_the_picture():
    ends = [parts.Curve(f"curve {n}", [9, 0], "#000000", "circle") for n in range(9)]
    heights = [
        float(y) for y in re.findall(r'<text x="716" y="([\d.]+)"', parts.curves(ends, "alt"))
    ]
    assert len(heights) == 9 and max(heights) <= parts.CURVES - 4


def test_windows_of_models_are_drawn_where_they_are_in_reach():
    state = ArithmeticState()
    assert "32K window" in MODEL.curves(state) and "128K window" not in MODEL.curves(state)
    assert "window</text>" not in MODEL.curves(replace(state, shown=SHOWN[1])).replace(
        "sliding window</text>", ""
    )


def test_the_pale_curve_is_the_leading_one_before():
    state = ArithmeticState()
    other = replace(state, window=5)
    assert MODEL.curves(other, state).count("<polyline") == 10
    assert MODEL.curves(other, replace(state, shown=SHOWN[2])).count("<polyline") == 9


def test_the_axis_of_prices_is_in_dollars():
    html = MODEL.curves(replace(ArithmeticState(), shown=SHOWN[2]))
    assert ">$0.20</text>" in html
    assert "$" not in MODEL.curves(ArithmeticState())


@pytest.mark.parametrize("along", list(LABELS))
def test_a_sweep_is_as_high_as_the_curves(along):
    boxes = [
        re.search(r'viewBox="([^"]*)" role', html)[1]
        for html in (MODEL.sweep(ArithmeticState(), along), MODEL.curves(ArithmeticState()))
    ]
    assert boxes[0] == boxes[1]


@pytest.mark.parametrize("along", list(LABELS))
def test_every_setting_can_be_swept(along):
    state = replace(ArithmeticState(), focus="fresh start")
    html = MODEL.sweep(state, along)
    assert html.count("<polyline") == 3
    assert OWNERS.get(along, "fresh start").capitalize() in html
    now = MODEL.focus(replace(state, focus=OWNERS.get(along, "fresh start")))
    assert f">{parts.compact(now.total)}</text>" in html


def test_a_sweep_of_a_run_replays_it(real):
    html = real.sweep(first_run_state(real), "window")
    assert html.count("<polyline") == 3 and "Sliding window" in html


def test_pictures_have_descriptions_and_text_is_escaped():
    messages = [*incident(2)]
    messages[1] = user("<script>alert(1)</script>")
    box = explore_arithmetic(Transcript(messages, name="<img src=x>"))
    page = str(box.children[1].value) + MODEL.picture(ArithmeticState())
    assert "<script>" not in page and "<img" not in page
    assert 'role="img" aria-label="Tokens read at each step under 9 techniques' in page


def test_the_same_state_gives_the_same_picture():
    assert ModelScene().picture(ArithmeticState()) == MODEL.picture(ArithmeticState())


# ---- the widgets ----------------------------------------------------------------------------


def test_a_slider_changes_the_picture(explorer):
    explorer.controls["window"].value = 5
    assert "228,000" in explorer.picture.value


def test_the_leading_curve_and_the_prices_can_be_chosen(explorer):
    explorer.controls["focus"].value = "masking"
    assert "324,380" in re.search(r'role="status".*', explorer.picture.value)[0]
    explorer.controls["prices"].value = NO_CACHE
    assert "without a cache" in explorer.picture.value


def test_the_curve_that_is_shown_can_be_chosen(explorer):
    explorer.controls["shown"].value = SHOWN[2]
    assert "<p>Price so far</p>" in explorer.picture.value


def test_a_longer_run_is_looked_at_from_its_end(explorer):
    explorer.controls["steps"].value = 100
    assert explorer.controls["step"].value == 100
    assert "tokens read at step 100" in explorer.picture.value


def test_the_step_slider_ends_where_the_run_ends(explorer):
    assert explorer.controls["step"].max == 40
    explorer.controls["steps"].value = 100
    assert (explorer.controls["step"].max, explorer.state.step) == (100, 100)
    explorer.controls["step"].value = 90
    explorer.controls["steps"].value = 20
    assert (explorer.controls["step"].max, explorer.controls["step"].value) == (20, 20)
    assert "tokens read at step 20" in explorer.picture.value


def test_a_preset_sets_every_control_and_says_what_to_see(explorer):
    button = next(b for b in explorer.presets if b.description == "Notes without a cap")
    button.click()
    assert (explorer.controls["cap"].value, explorer.controls["steps"].value) == (0, 100)
    assert explorer.controls["focus"].value == "pinned notes"
    assert "second history" in explorer.title.value


def test_the_lower_picture_can_be_a_sweep(explorer):
    explorer.view.value = "every"
    assert "Rolling summary, for every value" in explorer.picture.value


def test_moving_the_step_compares_with_nothing(explorer):
    explorer.controls["step"].value = 3
    assert explorer.before is None
    explorer.controls["window"].value = 5
    assert "−36%" in explorer.picture.value


def test_a_run_has_no_sliders_for_what_it_has_itself(real):
    explorer = ArithmeticExplorer(real, first_run_state(real), run_presets(real), "")
    assert not {"fixed", "per_step", "note", "cap"} & set(explorer.controls)
    assert explorer.controls["steps"].max == explorer.controls["step"].max == 40
    assert set(explorer.controls["focus"].options) == set(DEPENDS)
    explorer.controls["keep"].value = 10
    assert (
        f"{replay(RUN.messages, mask_results(10), tools=RUN.tools).read:,}"
        in explorer.picture.value
    )


def test_every_control_has_a_name(explorer):
    named = [c for name, c in explorer.controls.items() if name != "shown"]
    assert all(c.description for c in [*named, explorer.view])


def test_the_date_of_the_prices_is_said():
    about = str(explore_arithmetic().children[1].value)
    assert all(p.date in about and p.name in about for p in PRESETS.values())


def test_the_saved_form_has_a_picture_with_words_and_the_live_one_a_view():
    data, _ = explore_arithmetic()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert re.search(r'<img src="data:image/png;base64,[^"]+" alt="[^"]{50,}">', data["text/html"])
    for name, total in (("sliding window", "356,000"), ("rolling summary", "272,000")):
        assert f"{name} {total}" in data["text/plain"]


def test_the_same_explorer_is_saved_with_the_same_bytes():
    first, second = (explore_arithmetic()._repr_mimebundle_()[0] for _ in range(2))
    assert first["text/html"] == second["text/html"]
    assert first["text/plain"] == second["text/plain"]


def test_the_figure_of_reads_says_in_words_what_it_draws():
    still = plot_reads({"a triangle": [10, 20, 3000], "a strip": [7, 7]})
    assert "a triangle: 10 at step 1, 3,000 at step 3, 3,030 in all" in still.alt
    assert "a strip: 7 at step 1, 7 at step 2, 14 in all" in still.alt
    assert still.png.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (950, "950"),
        (1500, "1.5k"),
        (12_000, "12k"),
        (99_940, "99.9k"),
        (99_960, "100k"),
        (774_400, "774k"),
        (999_600, "1M"),
        (4_160_000, "4.2M"),
    ],
)
def test_figures_of_an_axis_are_short(number, text):
    assert parts.compact(number) == text
