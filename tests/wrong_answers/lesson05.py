"""Wrong answers to the exercises of lesson 5."""

from __future__ import annotations

import re

from course_lib import audit
from course_lib.samples.handoffs import CARELESS_NOTE, PUMP_NOTE, pump_run
from course_lib.summaries import structured
from course_lib.values import exact_values as find_values
from tests.wrong_answers import wrong

# ---- hand_off -------------------------------------------------------------------------------


@wrong("hand_off", "a pleasant sentence", "No line begins with Goal and a colon")
def pleasant():
    return CARELESS_NOTE


@wrong("hand_off", "forgets what is open", "No line begins with Open items")
def five_sections():
    return PUMP_NOTE.replace("Open items: Whether pump P-18 has the same filter.\n", "")


@wrong("hand_off", "the next step comes first", "in the order of the lesson")
def next_first():
    return "Next step: Look up P-18.\n" + PUMP_NOTE.rpartition("\n")[0]


@wrong("hand_off", "an empty section", "Decisions says nothing")
def no_decisions():
    return re.sub(r"Decisions: .*", "Decisions:", PUMP_NOTE)


@wrong("hand_off", "forgets which pump", "Which pump?")
def which_pump():
    return PUMP_NOTE.replace("why pump P-17 at Tranby stops", "why it stops")


@wrong("hand_off", "forgets what was to be written", "The user asked for something")
def no_proposal():
    return PUMP_NOTE.replace(", and write a proposal for the shift leader", "")


@wrong("hand_off", "the rule in other words", "Copy that rule word for word")
def rule_paraphrased():
    return PUMP_NOTE.replace("Do not switch anything off", "Leave the machines running")


@wrong("hand_off", "rounds a temperature", "the result of read_sensor")
def rounded():
    return PUMP_NOTE.replace("92 °C", "over 90 degrees")


@wrong("hand_off", "retells the text of the alarm", "the result of get_alarm")
def alarm_retold():
    return PUMP_NOTE.replace('"Drive temperature above limit."', "the drive is too hot")


@wrong("hand_off", "computes a date that nobody said", "Nobody in the run said 2025-11-02")
def computed():
    return PUMP_NOTE.replace("due every 90 days", "due every 90 days, so on 2025-11-02")


@wrong("hand_off", "forgets what was decided", "said why")
def undecided():
    return re.sub(r"Decisions: .*", "Decisions: none", PUMP_NOTE)


@wrong("hand_off", "takes nothing for open", "What does the agent not know yet?")
def nothing_open():
    return re.sub(r"Open items: .*", "Open items: none", PUMP_NOTE)


@wrong("hand_off", "a vague next step", "the very next call")
def vague_next():
    return re.sub(r"Next step: .*", "Next step: go on", PUMP_NOTE)


@wrong("hand_off", "copies the whole run", "the cap is 260")
def everything():
    return structured(pump_run()[1:], 2000)


# ---- exact_values ---------------------------------------------------------------------------


@wrong("exact_values", "digits only", "may stand between its digits")
def digits(text):
    return list(dict.fromkeys(re.findall(r"\d{3,}", text)))


@wrong("exact_values", "only numbers with commas", "four digits, no comma")
def only_commas(text):
    return re.findall(r"\d{1,3}(?:,\d{3})+", text)


@wrong("exact_values", "takes counts for exact", "Small numbers are counts")
def counts(text):
    return re.findall(r"\d+(?:,\d+)*", text)


@wrong("exact_values", "takes the comma after a number with it", "at the end of a number")
def comma_at_the_end(text):
    return re.findall(r"\b[A-Z]+-?\d+|[\d,]{3,}", text)


@wrong("exact_values", "findall with several groups", "match[0] is the whole")
def several_groups(text):
    return re.findall(r"\b([A-Z]+)-?(\d+)|(\d{3,})", text)


@wrong("exact_values", "findall with one group", "match[0] is the whole")
def one_group(text):
    return re.findall(r"\d{1,3}(,\d{3})+|\d{3,}", text)


@wrong("exact_values", "gives numbers", "a list of texts")
def as_numbers(text):
    return [int(value) for value in re.findall(r"\d{3,}", text)]


@wrong("exact_values", "codes of one capital", "took one of them")
def one_capital(text):
    return re.findall(r"[A-Z]-?\d+|\d{1,3}(?:,\d{3})+|\d{3,}", text)


@wrong("exact_values", "one comma at most", "more than one comma")
def one_comma(text):
    return re.findall(r"\d{1,3},\d{3}(?!\d)|\d{3,}", text)


@wrong("exact_values", "no codes", "capitals, then digits")
def no_codes(text):
    return re.findall(r"\d{1,3}(?:,\d{3})+|\d{3,}", text)


@wrong("exact_values", "codes without a hyphen", "A hyphen may stand")
def no_hyphen(text):
    return re.findall(r"\b[A-Z]+\d+|\d{1,3}(?:,\d{3})+|\d{3,}", text)


@wrong("exact_values", "takes shouting for a code", "is no code")
def shouting(text):
    return re.findall(r"\b[A-Z]+-?\d+|\b[A-Z]{3,}\b|\d{1,3}(?:,\d{3})+|\d{3,}", text)


@wrong("exact_values", "cuts dates into pieces", "look for it before")
def cut_dates(text):
    return list(dict.fromkeys(re.findall(r"\b[A-Z]+-?\d+|\d{1,3}(?:,\d{3})+|\d{3,}", text)))


@wrong("exact_values", "no quoted text", "between double quotation marks")
def no_quotes(text):
    pattern = r"\d{4}-\d\d-\d\d|\b[A-Z]+-?\d+|\d{1,3}(?:,\d{3})+|\d{3,}"
    return list(dict.fromkeys(re.findall(pattern, text)))


@wrong("exact_values", "looks into the quoted text as well", "isn't a second one")
def into_quotes(text):
    pattern = r"\d{4}-\d\d-\d\d|\b[A-Z]+-?\d+|\d{1,3}(?:,\d{3})+|\d{3,}"
    return list(dict.fromkeys(re.findall(r'"([^"]+)"', text) + re.findall(pattern, text)))


WHOLE = r'"[^"]+"|\d{4}-\d\d-\d\d|\b[A-Z]+-?\d+|\d{1,3}(?:,\d{3})+|\d{3,}'


@wrong("exact_values", "lists a value each time", "is listed once")
def repeats(text):
    return [value.strip('"') for value in re.findall(WHOLE, text)]


@wrong("exact_values", "sorts the values", "in the order in which they stand")
def sorts(text):
    return sorted({value.strip('"') for value in re.findall(WHOLE, text)})


# ---- audit_values ---------------------------------------------------------------------------


@wrong("audit_values", "kept and lost the wrong way round", "Kept is what stands in both")
def swapped(source, summary):
    read, written = find_values(source), find_values(summary)
    kept = [value for value in read if value in written]
    return [value for value in read if value not in written], kept, []


@wrong("audit_values", "takes all of the source for lost", "and not in the summary")
def all_lost(source, summary):
    read, written = find_values(source), find_values(summary)
    return [value for value in read if value in written], read, []


@wrong("audit_values", "never looks for what was invented", "Which list does it belong to?")
def trusting(source, summary):
    read, written = find_values(source), find_values(summary)
    return [v for v in read if v in written], [v for v in read if v not in written], []


@wrong("audit_values", "takes the whole summary for invented", "it isn't invented")
def suspicious(source, summary):
    read, written = find_values(source), find_values(summary)
    return [v for v in read if v in written], [v for v in read if v not in written], written


@wrong("audit_values", "looks for values inside the text", "8841 isn't 88412")
def inside(source, summary):
    read, written = find_values(source), find_values(summary)
    kept = [v for v in read if v in summary]
    lost = [v for v in read if v not in summary]
    return kept, lost, [v for v in written if v not in source]


@wrong("audit_values", "compares spellings", "Commas in a number are spelling")
def spelling(source, summary):
    read, written = find_values(source), find_values(summary)
    kept = [v for v in read if v in written]
    lost = [v for v in read if v not in written]
    return kept, lost, [v for v in written if v not in read]


@wrong("audit_values", "reports the values without commas", "as the source writes it")
def without_commas(source, summary):
    read = [v.replace(",", "") for v in find_values(source)]
    written = [v.replace(",", "") for v in find_values(summary)]
    kept = [v for v in read if v in written]
    lost = [v for v in read if v not in written]
    return kept, lost, [v for v in written if v not in read]


@wrong("audit_values", "hands in the library's audit", "Write your own")
def borrowed(source, summary):
    return audit(source, summary)


@wrong("audit_values", "forgets what was invented", "Return three lists")
def only_two(source, summary):
    return without_commas(source, summary)[:2]


@wrong("audit_values", "gives one flat list", "Return three lists")
def flat(source, summary):
    return find_values(source)[:3]


# ---- merge_notes ----------------------------------------------------------------------------

LISTS = ("done", "facts", "decisions", "open_items")


def united(earlier, later, name):
    return list(dict.fromkeys(earlier[name] + later[name]))


@wrong("merge_notes", "the later note replaces the earlier one", "nothing brings it back")
def replaces(earlier, later):
    return later


@wrong("merge_notes", "lists a fact twice", "is listed twice")
def twice(earlier, later):
    return earlier | {name: earlier[name] + later[name] for name in LISTS}


@wrong("merge_notes", "the new facts first", "The earlier note's facts first")
def new_first(earlier, later):
    return earlier | {name: united(later, earlier, name) for name in LISTS}


@wrong("merge_notes", "the later goal wins", "May a later note change it?")
def later_goal(earlier, later):
    lists = {name: united(earlier, later, name) for name in LISTS}
    return {"goal": later["goal"], **lists, "next_step": later["next_step"]}


@wrong("merge_notes", "the earlier next step stays", "has been taken by now")
def old_step(earlier, later):
    return earlier | {name: united(earlier, later, name) for name in LISTS}


@wrong("merge_notes", "an empty next step wins", "Is there really none?")
def empty_step(earlier, later):
    lists = {name: united(earlier, later, name) for name in LISTS}
    return {"goal": earlier["goal"], **lists, "next_step": later["next_step"]}


@wrong("merge_notes", "drops old decisions", "it will be opened again")
def no_old_decisions(earlier, later):
    lists = {name: united(earlier, later, name) for name in LISTS}
    lists["decisions"] = later["decisions"]
    step = later["next_step"] or earlier["next_step"]
    return {"goal": earlier["goal"], **lists, "next_step": step}


@wrong("merge_notes", "never closes an open item", "that one is answered")
def never_closed(earlier, later):
    lists = {name: united(earlier, later, name) for name in LISTS}
    step = later["next_step"] or earlier["next_step"]
    return {"goal": earlier["goal"], **lists, "next_step": step}


@wrong("merge_notes", "closes all earlier items", "Nobody has answered")
def all_closed(earlier, later):
    return never_closed(earlier, later) | {"open_items": later["open_items"]}


@wrong("merge_notes", "closes an item wherever a line mentions it", "has to begin with")
def closed_by_mention(earlier, later):
    merged = never_closed(earlier, later)
    still = [i for i in merged["open_items"] if not any(i in line for line in later["done"])]
    return merged | {"open_items": still}


@wrong("merge_notes", "closes an item by the earlier note's done", "What does the earlier `done`")
def closed_by_earlier(earlier, later):
    merged = never_closed(earlier, later)
    still = [i for i in merged["open_items"] if not any(d.startswith(i) for d in merged["done"])]
    return merged | {"open_items": still}


@wrong("merge_notes", "lists an open item twice", "each listed once")
def open_twice(earlier, later):
    still = [i for i in earlier["open_items"] if not any(d.startswith(i) for d in later["done"])]
    return never_closed(earlier, later) | {"open_items": [*still, *still, *later["open_items"]]}


@wrong("merge_notes", "keeps the newest eight facts", "facts are left of")
def capped(earlier, later):
    merged = never_closed(earlier, later)
    still = [i for i in merged["open_items"] if not any(d.startswith(i) for d in later["done"])]
    return merged | {"open_items": still, "facts": merged["facts"][-8:]}


@wrong("merge_notes", "gives the facts as one text", "are lists of lines")
def one_text(earlier, later):
    return earlier | {"facts": "\n".join(united(earlier, later, "facts"))}
