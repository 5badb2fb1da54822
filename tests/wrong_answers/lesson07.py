"""Wrong answers to the exercises of lesson 7."""

from __future__ import annotations

from statistics import mean, median

from course_lib import append_all, count_tokens, exact_values, mask_results, replay, sliding_window
from course_lib.extraction import constraints_in, structured
from course_lib.messages import text_of
from course_lib.reuses import reuse
from tests.wrong_answers import wrong

# ---- run_shape ------------------------------------------------------------------------------


def shape(messages, tools, window, middle=median, at=0, first=1):
    reads = [
        count_tokens(messages[: i + at], tools=tools)
        for i, m in enumerate(messages)
        if m["role"] == "assistant"
    ]
    steps = [after - before for before, after in zip(reads, reads[1:], strict=False)]
    over = next((n for n, read in enumerate(reads, first) if read > window), None)
    return reads[0], round(middle(steps)) if steps else 0, over


@wrong("run_shape", "forgets the schemas", "Are they counted?")
def no_schemas(messages, tools, window):
    return shape(messages, None, window)


@wrong("run_shape", "counts the answer as read", "Nothing else was read")
def with_answer(messages, tools, window):
    return shape(messages, tools, window, at=1)


@wrong("run_shape", "takes the average step", "not the average")
def average(messages, tools, window):
    return shape(messages, tools, window, middle=mean)


@wrong("run_shape", "counts model calls from 0", "Model calls count from 1")
def from_zero(messages, tools, window):
    return shape(messages, tools, window, first=0)


@wrong("run_shape", "divides by no step", "ZeroDivisionError")
def no_step(messages, tools, window):
    fixed, step, over = shape(messages, tools, window)
    calls = sum(m["role"] == "assistant" for m in messages)
    return fixed, step * (calls - 1) // (calls - 1), over


@wrong("run_shape", "takes a full window for too full", "exactly full still fits")
def full_is_over(messages, tools, window):
    return shape(messages, tools, window - 1)


# ---- smallest_window ------------------------------------------------------------------------


@wrong("smallest_window", "the share itself isn't allowed", "still allowed")
def strictly_less(messages, share):
    found = reuse(messages)
    return next((w for w in range(1, found.groups + 1) if found.missed(w) < share), 1)


@wrong("smallest_window", "begins with a window of none", "The smallest window has one group")
def empty_window(messages, share):
    found = reuse(messages)
    return next(w for w in range(found.groups + 1) if found.missed(w) <= share)


@wrong("smallest_window", "keeps all groups", "The smallest window has one group")
def all_groups(messages, share):
    return reuse(messages).groups


@wrong("smallest_window", "a window of ten, as ever", "The smallest window has one group")
def ten(messages, share):
    return 10


@wrong("smallest_window", "stops one group early", "A window of three misses")
def one_early(messages, share):
    found, window = reuse(messages), 1
    while found.missed(window + 1) > share:
        window += 1
    return window


# ---- offload_biggest ------------------------------------------------------------------------


def offload(messages, key, biggest=None, line="[stored as {}; read it with fetch]"):
    results = [i for i, m in enumerate(messages) if m["role"] == "tool"]
    if not results:
        return list(messages), ""
    at = max(results, key=biggest or (lambda i: count_tokens(text_of(messages[i]))))
    text = text_of(messages[at])
    short = {**messages[at], "content": line.format(key, text[:400])}
    return [*messages[:at], short, *messages[at + 1 :]], text


@wrong("offload_biggest", "the biggest by characters", "isn't the one with most tokens")
def by_characters(messages, key):
    return offload(messages, key, lambda i: len(text_of(messages[i])))


@wrong("offload_biggest", "takes the first result", "The whole text of the biggest")
def first_result(messages, key):
    return offload(messages, key, lambda i: -i)


@wrong("offload_biggest", "takes the message away", "its call would be open")
def takes_it_away(messages, key):
    got, text = offload(messages, key)
    return [m for m in got if "[stored as" not in text_of(m)], text


@wrong("offload_biggest", "forgets where it is stored", "The name isn't in the line")
def no_name(messages, key):
    return offload(messages, key, line="[a long result, left out]")


@wrong("offload_biggest", "leaves a long beginning", "one line of at most 60 tokens")
def long_line(messages, key):
    return offload(messages, key, line="[stored as {0}: {1}]" + " and so on" * 60)


@wrong("offload_biggest", "loses the result's call", "The result lost its call")
def loses_call(messages, key):
    got, text = offload(messages, key)
    return [
        {"role": "tool", "content": text_of(m)} if "[stored as" in text_of(m) else m for m in got
    ], text


@wrong("offload_biggest", "changes the message in place", "changed a list")
def in_place(messages, key):
    got, text = offload(messages, key)
    messages[:] = got
    return got, text


# ---- note_of_run ----------------------------------------------------------------------------


@wrong("note_of_run", "a sentence instead of sections", "The six sections")
def one_sentence(messages, values, cap):
    return "The agent looked into it and is close to an answer. " + ", ".join(values)


@wrong("note_of_run", "trusts the summariser with the values", "calls come back for aren't in it")
def trusts(messages, values, cap):
    return structured(messages, cap)


@wrong("note_of_run", "over the cap", "the cap is 400")
def over(messages, values, cap):
    return structured(messages, cap).replace(
        "Done:", f"Done: {', '.join(values)} {'and so on ' * 150}", 1
    )


@wrong("note_of_run", "rounds what it copies", "stand nowhere in the run")
def invents(messages, values, cap):
    line = f"Exact values: {', '.join(values)}, about 40,000 euros"
    note = structured(messages, cap - count_tokens(line) - 10)
    return note.replace("Facts:", f"Facts: {line}\n", 1)


@wrong("note_of_run", "drops the rules", "isn't in it word for word")
def no_rules(messages, values, cap):
    note = structured(messages, cap)
    for rule in constraints_in(messages):
        note = note.replace(rule, "")
    return note.replace("Facts:", f"Facts: {', '.join(values)}\n", 1)


# ---- choose_pins ----------------------------------------------------------------------------


@wrong("choose_pins", "pins everything that is missed", "the cap is 0")
def all_pins(messages, window, cap):
    return [pin.value for pin in reuse(messages).pins(window, most=1000)]


@wrong("choose_pins", "pins what came back, near or far", "misses nothing of this run")
def near_too(messages, window, cap):
    return [use.value for use in reuse(messages).uses][: cap // 5]


@wrong("choose_pins", "pins what the window only just holds", "doesn't miss these values")
def just_held(messages, window, cap):
    found = reuse(messages)
    missed = {pin.value for pin in found.pins(window, most=1000)}
    held = [use.value for use in found.uses if use.value not in missed]
    return held[:1] if missed and cap >= 9 else []


@wrong("choose_pins", "one pin and no more", "There is room for")
def one_pin(messages, window, cap):
    return [pin.value for pin in reuse(messages).pins(window, most=1) if pin.tokens <= cap]


@wrong("choose_pins", "the least missed first", "missed most often")
def least_missed(messages, window, cap):
    chosen = []
    for pin in reversed(reuse(messages).pins(window, most=1000)):
        if pin.tokens <= cap:
            chosen.append(pin.value)
            cap -= pin.tokens
    return chosen


@wrong("choose_pins", "counts pins instead of tokens", "the cap is 9")
def counts_pins(messages, window, cap):
    return [pin.value for pin in reuse(messages).pins(window, most=max(cap, 0))]


# ---- unseen_rules ---------------------------------------------------------------------------


def said(row, rule):
    return any(rule in text_of(m) for m in row.prompt)


@wrong("unseen_rules", "a rule is lost before it was said", "can't stand there earlier")
def too_early(messages, policy):
    rows = replay(messages, policy).rows
    return [r for r in constraints_in(messages) if not all(said(row, r) for row in rows)]


@wrong("unseen_rules", "looks at the last prompt only", "An agent acts at each")
def last_prompt(messages, policy):
    last = replay(messages, policy).rows[-1]
    return [rule for rule in constraints_in(messages) if not said(last, rule)]


@wrong("unseen_rules", "knows only the rules of the head", "came in the middle")
def head_only(messages, policy):
    rows = replay(messages, policy).rows
    return [r for r in constraints_in(messages[:2]) if not all(said(row, r) for row in rows)]


@wrong("unseen_rules", "all rules, if one is lost", "The other rules are in")
def all_or_none(messages, policy):
    told, sent = replay(messages, append_all()).rows, replay(messages, policy).rows
    rules = constraints_in(messages)
    lost = any(
        said(t, r) and not said(s, r) for t, s in zip(told, sent, strict=True) for r in rules
    )
    return rules if lost else []


# ---- my_policy ------------------------------------------------------------------------------


@wrong("my_policy", "a window: values are missed", "weren't in the prompt")
def a_window(messages):
    return sliding_window(20)(messages)


@wrong("my_policy", "masking: the values go with the results", "weren't in the prompt")
def masks(messages):
    return mask_results(3)(messages)


@wrong("my_policy", "keeps everything", "What stands in the")
def everything(messages):
    return list(messages)


@wrong("my_policy", "cuts by number: a result without its call", "a provider would refuse it")
def by_number(messages):
    return [*messages[:2], *messages[2:][-15:]]


@wrong("my_policy", "drops the task", "what it was asked")
def no_task(messages):
    return [m for m in messages if m["role"] != "user"]


@wrong("my_policy", "values without the result they stand for", "weren't in the prompt")
def only_first_values(messages):
    results = [i for i, m in enumerate(messages) if m["role"] == "tool"]
    short = {i: " ".join(exact_values(text_of(messages[i]))[:3]) for i in results[:-2]}
    return [{**m, "content": short[i]} if i in short else m for i, m in enumerate(messages)]
