"""Readers of transcripts: files as they are found, and each family of formats."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_lib.messages import CourseError, turn_groups, validate
from course_lib.traces import (
    NoSuchRun,
    NotATranscript,
    Transcript,
    pick_run,
    read_transcripts,
)
from course_lib.traces.registry import FAMILIES, read_document

PIXEL = base64.b64encode(b"\x89PNG" + bytes(96)).decode()  # 100 bytes


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


def call(id, name="look", arguments="{}"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls, content=None):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(id, content="ok"):
    return {"role": "tool", "tool_call_id": id, "content": content}


CHAT = [
    {"role": "system", "content": "You keep a harbour log."},
    user("How deep is berth 4?"),
    calling(call("a1", "depth", '{"berth": 4}')),
    result("a1", "4.2 m"),
    said("4.2 metres."),
]
TOOL = {"type": "function", "function": {"name": "depth", "description": "", "parameters": {}}}


@pytest.fixture
def write(tmp_path):
    def write(data, name="run.json"):
        file = tmp_path / name
        if isinstance(data, bytes):
            file.write_bytes(data)
        elif isinstance(data, str):
            file.write_bytes(data.encode("utf-8"))
        else:
            file.write_text(json.dumps(data), encoding="utf-8")
        return file

    return write


@pytest.fixture
def read(write):
    """The only run in a file that holds this."""

    def read(data, name="run.json"):
        (run,) = read_transcripts(write(data, name))
        return run

    return read


def lines(*rows, end="\n"):
    return end.join(json.dumps(row, ensure_ascii=False) for row in rows) + end


def noted(run, *words):
    """The one note that has all the words."""
    (note,) = [note for note in run.notes if all(word in note for word in words)]
    return note


# ---- OpenAI chat: where the messages stand --------------------------------------------------


def test_a_list_of_messages_is_read_as_it_is(read):
    run = read(CHAT)
    assert run == Transcript(CHAT, name="run.json", format="OpenAI chat messages")
    assert validate(run.messages) == []


def test_a_path_may_be_a_string(write):
    assert read_transcripts(str(write(CHAT)))[0].messages == CHAT


def test_an_object_with_messages(read):
    run = read({"messages": CHAT})
    assert (run.messages, run.format) == (CHAT, "OpenAI chat messages")


def test_a_request_knows_its_tools_and_model(read):
    run = read({"model": "m-1", "messages": CHAT, "tools": [TOOL]})
    assert (run.messages, run.tools, run.model) == (CHAT, (TOOL,), "m-1")
    assert (run.format, run.notes) == ("OpenAI chat request", ())


def test_tools_in_the_older_shape_and_under_kwargs(read):
    parameters = {"type": "object", "properties": {"berth": {"type": "integer"}}}
    function = {"name": "depth", "description": "How deep", "parameters": parameters}
    want = ({"type": "function", "function": function},)
    assert read({"messages": CHAT, "functions": [function]}).tools == want
    assert read({"messages": CHAT, "kwargs": {"tools": json.dumps([function])}}).tools == want


def response(message, **more):
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"object": "chat.completion", "choices": [choice], **more}


@pytest.mark.parametrize("pack", [dict, json.dumps], ids=["object", "JSON in a string"])
def test_the_answer_of_a_request_is_its_last_message(read, pack):
    answer = pack(response(CHAT[-1], usage={"prompt_tokens": 31}, model="m-2"))
    run = read({"messages": CHAT[:-1], "response": answer})
    assert run.messages == CHAT
    assert (run.format, run.model, run.usage) == (
        "OpenAI chat request",
        "m-2",
        {"prompt_tokens": 31},
    )
    assert noted(run, "answer", "last message")


def test_request_and_response_side_by_side(read):
    document = {"request": {"messages": CHAT[:2], "tools": [TOOL]}, "response": response(CHAT[2])}
    run = read(document)
    assert run.messages == CHAT[:3]
    assert run.tools == (TOOL,)
    assert read({"input": CHAT[:-1], "output": CHAT[-1]}).messages == CHAT
    assert read({"messages": CHAT[:-1], "response": {"message": CHAT[-1]}}).messages == CHAT


def test_an_answer_that_the_messages_have_already_is_not_repeated(read):
    run = read({"messages": CHAT, "response": response(CHAT[-1])})
    assert (run.messages, run.notes) == (CHAT, ())


def test_an_answer_with_the_words_of_the_user_is_still_an_answer(read):
    echo = read({"messages": [user("ping")], "response": response(said("ping"))})
    assert echo.messages == [user("ping"), said("ping")]


def test_an_answer_alone(read):
    run = read(response({"content": "4.2 metres."}))
    assert (run.messages, run.format) == ([said("4.2 metres.")], "OpenAI chat response")


def test_further_versions_of_an_answer_are_left_out(read):
    answer = {"choices": [{"message": said(text)} for text in ("one", "two", "three")]}
    run = read({"messages": [user("Count")], **answer})
    assert run.messages == [user("Count"), said("one")]
    assert noted(run, "2 more versions")


def test_other_lists_of_messages_are_named(read):
    run = read({"messages": CHAT, "history": [user("before")], "drafts": [said("hm")]})
    assert run.messages == CHAT
    assert noted(run, "'history', 'drafts'", "left out")


def test_what_was_really_sent_is_preferred(read):
    document = {
        "messages": [user("as prose")],
        "response": response(said("prose")),
        "fncall_messages": CHAT[:-1],
        "fncall_response": response(CHAT[-1]),
    }
    assert read(document).messages == CHAT


def test_messages_written_as_a_string(read):
    assert read({"messages": json.dumps(CHAT)}).messages == CHAT
    assert read(json.dumps(json.dumps(CHAT))).messages == CHAT


def test_the_format_is_told_by_content_not_by_the_name(read):
    assert read(CHAT, "holiday.png").messages == CHAT
    assert read(lines(*CHAT), "run.json").messages == CHAT


# ---- many runs ------------------------------------------------------------------------------


def test_a_line_per_message_is_one_run(read):
    assert read(lines(*CHAT), "run.jsonl").messages == CHAT
    assert read(lines(CHAT[1]), "run.jsonl").messages == CHAT[1:2]


def test_a_line_per_request_is_many_runs(write):
    file = write(lines({"messages": CHAT}, {"messages": [user("hi"), said("ho")]}), "log.jsonl")
    first, second = read_transcripts(file)
    assert (first.messages, first.name) == (CHAT, "log.jsonl, run 1")
    assert (second.messages, second.name) == ([user("hi"), said("ho")], "log.jsonl, run 2")


@pytest.mark.parametrize("key", ["traj", "messages", "steps_taken"])
def test_a_list_of_runs(write, key):
    runs = read_transcripts(write([{"task": i, key: [user(f"task {i}")]} for i in range(3)]))
    assert [run.messages[0]["content"] for run in runs] == ["task 0", "task 1", "task 2"]


def test_runs_further_down_and_beside_each_other(write):
    deep = write({"info": {"n": 1}, "simulations": [{"id": 1, "messages": CHAT}] * 2})
    assert [run.messages for run in read_transcripts(deep)] == [CHAT, CHAT]
    batch = write(lines(*[{"custom_id": "x", "body": {"model": "m", "messages": CHAT}}] * 2))
    assert [run.model for run in read_transcripts(batch)] == ["m", "m"]
    named = write({"monday": CHAT, "tuesday": [user("hi")]})
    assert [len(run.messages) for run in read_transcripts(named)] == [5, 1]
    nested = write([CHAT, [user("hi")]])
    assert [len(run.messages) for run in read_transcripts(nested)] == [5, 1]


def test_runs_are_looked_for_down_to_a_depth(write):
    document = {"rows": [{"messages": CHAT}, {"messages": CHAT}]}
    for _ in range(3):
        document = {"more": 1, "in": document}
    assert len(read_transcripts(write(document))) == 2
    with pytest.raises(NotATranscript):
        read_transcripts(write({"more": 1, "in": document}))
    deep = read_transcripts(write([{"a": [{"messages": CHAT}, {"b": 1}]}, {"messages": CHAT}]))
    assert [run.notes for run in deep] == [(), ()]


def test_a_row_without_a_run_is_named(write):
    runs = read_transcripts(write([{"messages": CHAT}, {"about": 1}, {"messages": CHAT}]))
    assert [run.messages for run in runs] == [CHAT, CHAT]
    assert all(noted(run, "Row 2", "left out") for run in runs)


def test_a_list_that_is_understood_in_small_part_is_refused(write):
    event = {"kind": "event", "detail": {"code": 1}}
    with pytest.raises(NotATranscript, match="no run is in it"):
        read_transcripts(write([{"messages": CHAT}, event, event]))
    assert len(read_transcripts(write([{"messages": CHAT}, event]))) == 1


def test_a_log_of_growing_requests_says_so(write):
    answered = [
        {"messages": CHAT[:2], "response": response({**CHAT[2], "refusal": None, "audit": 7})},
        {"messages": CHAT[:4], "response": response(CHAT[4])},
    ]
    for run in read_transcripts(write(answered)):
        assert noted(run, "run 2 holds the whole session")
    apart = read_transcripts(write([{"messages": CHAT[:2]}, {"messages": [CHAT[0], user("?")]}]))
    assert not any("session" in note for run in apart for note in run.notes)
    longer = read_transcripts(write([{"messages": [user("?")]}, {"messages": CHAT}]))
    assert not any("session" in note for run in longer for note in run.notes)
    same = read_transcripts(write([{"messages": CHAT}, {"messages": CHAT}]))
    assert not any("session" in note for run in same for note in run.notes)


def test_pick_run_opens_the_first_and_says_how_to_choose(write):
    runs = read_transcripts(write([{"messages": [user(str(i))]} for i in range(40)], "tau.json"))
    first = pick_run(runs, name="tau.json")
    assert first.messages == [user("0")]
    want = "tau.json holds 40 runs, counted from 1; this is run 1. Choose another: run=2 to run=40."
    assert first.notes == (*runs[0].notes, want)
    assert pick_run(runs, 3, "tau.json") is runs[2]
    assert pick_run(runs, 40) is runs[39]
    assert pick_run(runs[:2], name="t").notes[-1].endswith("Choose another: run=2.")


def test_pick_run_of_a_single_run_adds_nothing(write):
    runs = read_transcripts(write(CHAT))
    assert pick_run(runs) == pick_run(runs, 1) == runs[0]


@pytest.mark.parametrize("run", [0, 4, -1, "2", True, 1.0])
def test_pick_run_refuses_what_is_not_there(write, run):
    runs = read_transcripts(write([{"messages": CHAT}] * 3, "tau.json"))
    with pytest.raises(NoSuchRun) as error:
        pick_run(runs, run, "tau.json")
    text = str(error.value)
    assert f"run={run!r}" in text and "tau.json holds 3 runs" in text and "run=1 to run=3" in text


def test_pick_run_among_one_or_none(write):
    with pytest.raises(NoSuchRun, match="holds one run"):
        pick_run(read_transcripts(write(CHAT)), 2)
    with pytest.raises(NoSuchRun, match="The file holds no runs"):
        pick_run([])
    with pytest.raises(NoSuchRun, match="holds 2 runs"):
        pick_run(read_transcripts(write([{"messages": CHAT}] * 2)), 3)


# ---- OpenAI chat: content -------------------------------------------------------------------


def test_content_may_be_null_a_string_or_parts(read):
    parts = [{"type": "text", "text": "see"}, {"type": "text", "text": "this", "mark": 1}]
    run = read([user(parts), calling(call("a"), content=None), result("a", parts)])
    assert [m["content"] for m in run.messages] == [parts, None, parts]
    assert run.notes == ()


def test_plain_strings_and_other_kinds_of_text_among_the_parts_become_text(read):
    run = read([user(["one", {"type": "input_text", "text": "two"}, {"text": "three"}])])
    assert run.messages[0]["content"] == [
        {"type": "text", "text": text} for text in ("one", "two", "three")
    ]


@pytest.mark.parametrize("content", [{"depth": 4.2, "ö": None}, [{"depth": 4}], 4.2, [1, 2]])
def test_content_that_is_json_becomes_json_text(read, content):
    run = read([CHAT[2], {**CHAT[3], "content": content}])
    assert json.loads(run.messages[1]["content"]) == content
    assert "\\u" not in run.messages[1]["content"]
    assert noted(run, "kept as JSON text")


PICTURES = {
    "chat": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
    "bare": {"type": "image_url", "image_url": f"data:image/png;base64,{PIXEL}"},
    "responses": {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
    "anthropic": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
    },
    "mcp": {"type": "image", "data": PIXEL, "mimeType": "image/png"},
}


@pytest.mark.parametrize("kind", PICTURES)
def test_a_picture_keeps_its_place_and_size_but_not_its_bytes(read, kind):
    text = [{"type": "text", "text": t} for t in ("before", "after")]
    run = read([user([text[0], PICTURES[kind], text[1]])])
    marker = {"type": "text", "text": "[image, image/png, 100 bytes]"}
    assert run.messages[0]["content"] == [text[0], marker, text[1]]
    assert noted(run, "An image or file", "left out")


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 1234])
def test_the_size_of_bytes_is_exact(read, size):
    data = base64.b64encode(bytes(size)).decode()
    run = read([user([{"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}])])
    assert run.messages[0]["content"][0]["text"] == f"[audio, wav, {size:,} bytes]"


def test_a_file_keeps_its_name(read):
    part = {"file_data": f"data:application/pdf;base64,{PIXEL}", "filename": "log.pdf"}
    run = read([user([{"type": "file", "file": part}, {"type": "file", "file": part}])])
    marker = {"type": "text", "text": "[file, log.pdf, application/pdf, 100 bytes]"}
    assert run.messages[0]["content"] == [marker, marker]
    assert noted(run, "2 images or files")


def test_what_is_only_linked_stays(read):
    link = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    bare = {"type": "input_image", "image_url": "https://example.org/a.png"}
    run = read([user([link, bare, {"type": "file", "file": {"file_id": "f1"}}])])
    assert run.messages[0]["content"] == [link, link, {"type": "file", "file": {"file_id": "f1"}}]
    assert run.notes == ()


def test_pictures_beside_the_text(read):
    run = read([{**user("see"), "images": [PIXEL, "https://example.org/a.png"]}])
    assert noted(run, "An image or file")
    assert run.messages == [
        user(
            [
                {"type": "text", "text": "see"},
                {"type": "text", "text": "[image, 100 bytes]"},
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            ]
        )
    ]


def test_text_that_looks_like_data_stays_text(read):
    document = {"type": "document", "source": {"type": "text", "data": "a" * 80}}
    run = read([user([{"type": "text", "text": f"data:image/png;base64,{PIXEL}"}, document])])
    first, second = run.messages[0]["content"]
    assert first["text"].endswith(PIXEL)
    assert "a" * 80 in second["text"]


def test_a_link_to_something_else_is_not_taken_for_a_picture(read):
    part = {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}
    content = read([user(["see", part])]).messages[0]["content"]
    assert [piece["type"] for piece in content] == ["text", "text"]
    assert json.loads(content[1]["text"]) == part


def test_a_part_of_an_unknown_kind_is_kept_as_text_and_named(read):
    part = {"type": "sonar", "depths": [4.2, 4.1]}
    run = read([user([part])])
    assert json.loads(run.messages[0]["content"][0]["text"]) == part
    assert noted(run, "'sonar'")


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_stands_under_one_key(read, key):
    run = read([user("?"), {**said("4.2 m"), key: "Look it up."}])
    assert run.messages[1] == {**said("4.2 m"), "reasoning_content": "Look it up."}


def test_reasoning_is_kept_once_and_whole(read):
    parts = [{"type": "thinking", "thinking": "Second."}, {"type": "text", "text": "4.2 m"}]
    run = read(
        [
            {**said("a"), "reasoning_content": "Same.", "reasoning": "Same."},
            {**said(parts), "reasoning_content": "First."},
            {**calling(call("a")), "content": [{"type": "reasoning", "summary": ["Third."]}]},
        ]
    )
    assert [m["reasoning_content"] for m in run.messages] == [
        "Same.",
        "First.\n\nSecond.",
        "Third.",
    ]
    assert run.messages[1]["content"] == parts[1:]


def test_unknown_keys_stay_and_nulls_go(read):
    run = read([{**user("hi"), "name": "ada", "ts": 7, "tool_calls": None, "audio": None}])
    assert run.messages == [{**user("hi"), "name": "ada", "ts": 7}]


def test_rows_that_are_no_messages_are_named(read):
    run = read([CHAT[0], {"meta": 1}, "text", CHAT[1], {"role": "exit", "content": "x"}, CHAT[4]])
    assert run.messages == [CHAT[0], CHAT[1], CHAT[4]]
    assert noted(run, "Rows 2 and 3", "left out")
    assert noted(run, "'exit'", "left out")


def test_roles_in_other_words(read):
    roles = ["Developer", "USER", "human", "ai", "model"]
    run = read([{"role": role, "content": "x"} for role in roles])
    assert [m["role"] for m in run.messages] == [
        "developer",
        "user",
        "user",
        "assistant",
        "assistant",
    ]


# ---- OpenAI chat: calls and ids -------------------------------------------------------------


def test_several_calls_in_one_answer(read):
    messages = [user("?"), calling(call("a"), call("b")), result("b", "B"), result("a", "A")]
    run = read(messages)
    assert run.messages == messages
    assert len(turn_groups(run.messages)[1]) == 1
    assert run.notes == ()


def test_ids_that_are_used_twice_stay_and_are_noted(read):
    round_trip = [calling(call("s:0")), result("s:0")]
    run = read([user("?"), *round_trip, *round_trip, *round_trip])
    assert run.messages == [user("?"), *round_trip, *round_trip, *round_trip]
    assert noted(run, "'s:0'", "again", "2 times")
    assert len(run.notes) == 1


@pytest.mark.parametrize(
    "written",
    [
        {"id": "a", "type": "function", "function": {"name": "depth", "arguments": {"ö": [4]}}},
        {"id": "a", "name": "depth", "arguments": {"ö": [4]}},
        {"id": "a", "function": "depth", "arguments": {"ö": [4]}},
        {"id": "a", "function": "depth", "args": {"ö": [4]}},
        {"id": "a", "type": "tool_use", "name": "depth", "input": {"ö": [4]}},
    ],
)
def test_a_call_in_another_shape(read, written):
    run = read([calling(written), result("a")])
    assert run.messages[0]["tool_calls"] == [call("a", "depth", '{"ö": [4]}')]


@pytest.mark.parametrize("text", ["", "{ }", '{"a":1}', "{not json", '"{}"'])
def test_arguments_that_are_a_string_stay_to_the_letter(read, text):
    run = read([calling(call("a", arguments=text)), result("a")])
    assert run.messages[0]["tool_calls"][0]["function"]["arguments"] == text


def test_arguments_that_are_missing_are_an_empty_object(read):
    run = read([calling({"id": "a", "function": {"name": "look"}}), result("a")])
    assert run.messages[0]["tool_calls"] == [call("a")]


def test_a_custom_tool(read):
    written = {"id": "a", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    run = read([calling(written), result("a")])
    assert run.messages[0]["tool_calls"] == [call("a", "sql", '{"input": "SELECT 1"}')]
    assert noted(run, "custom tool")


def test_unknown_keys_of_a_call_stay(read):
    run = read([calling({**call("a"), "index": 0, "extra": None}), result("a")])
    assert run.messages[0]["tool_calls"] == [{**call("a"), "index": 0}]


def test_calls_written_as_a_string_and_calls_that_are_none(read):
    run = read([{**said(None), "tool_calls": json.dumps([call("a")])}, result("a")])
    assert run.messages[0]["tool_calls"] == [call("a")]
    odd = read([calling(call("a"), "b", None), result("a"), {**said("x"), "tool_calls": []}])
    assert odd.messages[0]["tool_calls"] == [call("a")]
    assert "tool_calls" not in odd.messages[2]
    assert noted(odd, "2 tool calls", "left out")


def test_a_call_that_the_content_repeats_is_read_once(read):
    parts = [{"type": "text", "text": "hm"}, {"type": "tool_use", "id": "a", "name": "look"}]
    run = read([calling(call("a"), content=parts), result("a")])
    assert run.messages[0] == calling(call("a"), content=parts[:1])
    assert run.notes == ()


def test_a_number_as_an_id_becomes_a_string(read):
    run = read([calling(call(7), call(0)), result(0), result(7)])
    assert run.messages == [calling(call("7"), call("0")), result("0"), result("7")]


@pytest.mark.parametrize("key", ["toolCallId", "call_id", "id"])
def test_the_id_of_a_result_under_another_key(read, key):
    run = read([calling(call("a"), call("b")), {"role": "tool", key: "b", "content": "B"}])
    assert run.messages[1]["tool_call_id"] == "b"


def test_the_id_of_a_result_in_a_list(read):
    run = read([calling(call("a"), call("b")), {**result(None), "tool_call_ids": ["b"]}])
    assert run.messages[1] == result("b")


def test_function_call_and_the_role_function(read):
    asked = {"role": "assistant", "content": None, "function_call": {"name": "depth"}}
    run = read([user("?"), asked, {"role": "function", "name": "depth", "content": "4.2"}])
    assert run.messages == [
        user("?"),
        calling(call("call_1", "depth")),
        {**result("call_1", "4.2"), "name": "depth"},
    ]
    assert noted(run, "`function_call`")
    assert noted(run, "had no id")
    assert validate(run.messages) == []


def test_where_ids_are_missing_order_decides(read):
    bare = {"function": {"name": "look", "arguments": "{}"}}
    answer = {"role": "tool", "content": "ok"}
    run = read([calling(bare, bare), answer, answer, calling(bare), answer])
    assert [c["id"] for m in run.messages for c in m.get("tool_calls", ())] == [
        "call_1",
        "call_2",
        "call_3",
    ]
    ids = [m["tool_call_id"] for m in run.messages if m["role"] == "tool"]
    assert ids == ["call_1", "call_2", "call_3"]
    assert noted(run, "3 tool calls had no id")
    assert noted(run, "3 tool results", "order decided")


def test_an_empty_id_is_no_id(read):
    run = read([calling(call("")), result("")])
    assert run.messages == [calling(call("call_1")), result("call_1")]


def test_order_prefers_the_nearest_turn_and_the_tool_that_is_named(read):
    def named(name):
        return {"role": "tool", "name": name, "content": name}

    run = read([calling(call("old", "a")), calling(call("x", "a"), call("y", "b")), named("b")])
    assert run.messages[2]["tool_call_id"] == "y"
    run = read([calling(call("old", "a")), calling(call("x", "a"), call("y", "b")), named("a")])
    assert run.messages[2]["tool_call_id"] == "x"
    run = read([calling(call("x", "a"), call("y", "b")), named("?")])
    assert run.messages[1]["tool_call_id"] == "x"


def test_a_call_without_an_id_takes_the_id_of_its_result(read):
    run = read([calling({"function": {"name": "look"}}), result("r9")])
    assert run.messages == [calling(call("r9")), result("r9")]


def test_a_made_id_is_never_one_that_is_taken(read):
    run = read([calling(call("call_1")), calling({"name": "look"}), result("call_1"), result(None)])
    assert [m["tool_calls"][0]["id"] for m in run.messages[:2]] == ["call_1", "call_2"]
    assert [m["tool_call_id"] for m in run.messages[2:]] == ["call_1", "call_2"]


def test_a_result_without_a_call_gets_an_id_and_a_note(read):
    run = read([user("?"), result(None, "lost"), result("z")])
    assert [m["tool_call_id"] for m in run.messages[1:]] == ["call_1", "z"]
    assert noted(run, "'call_1' and 'z'", "answer no call")
    assert len(turn_groups(run.messages)[1]) == 2


def test_a_second_result_is_noted(read):
    run = read([calling(call("a")), result("a", "1"), result("a", "2")])
    assert [m["content"] for m in run.messages[1:]] == ["1", "2"]
    assert noted(run, "'a'", "more than one result")


def test_a_call_that_was_never_answered_is_named(read):
    run = read([user("?"), calling(call("a", "depth")), user("Hello?")])
    assert noted(run, "'a' (depth)", "never answered")


def test_a_call_at_the_end_is_only_waiting(read):
    assert read([user("?"), calling(call("a"), call("b")), result("a")]).notes == ()


def test_results_find_the_nearest_open_call_of_their_id(read):
    run = read([calling(call("a")), calling(call("a")), result("a"), user("?")])
    assert noted(run, "never answered")
    assert [len(group) for group in turn_groups(run.messages)[1]] == [1, 2]


# ---- files as they are found ----------------------------------------------------------------

TEXT = lines(*CHAT, user("Går båten? 🎉"))


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode("utf-8-sig"),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\n\n  \n").encode(),
        TEXT.strip().encode(),
        TEXT.encode("utf-16"),
        gzip.compress(TEXT.encode("utf-8-sig"), mtime=0),
        TEXT.replace("}\n", "},\n").encode(),
        json.dumps(json.loads("[" + ",".join(TEXT.splitlines()) + "]"), indent=1).encode(),
        b"\n".join(json.dumps(json.loads(row), indent=1).encode() for row in TEXT.splitlines()),
    ],
    ids=["BOM", "CRLF", "blank", "no end", "UTF-16", "gzip", "commas", "indented", "concatenated"],
)
def test_the_same_run_however_it_was_saved(read, data):
    run = read(data)
    assert run.messages == [*CHAT, user("Går båten? 🎉")]
    assert not any("left out" in note for note in run.notes)


def test_a_torn_last_line_is_left_out(read):
    run = read(TEXT + '{"role": "user", "content": "Och till')
    assert len(run.messages) == 6
    assert run.notes == ("Line 7 isn't complete: left out.",)


def test_a_line_torn_inside_a_letter(read):
    run = read((TEXT + '{"role": "user", "content": "å').encode()[:-1])
    assert len(run.messages) == 6
    assert noted(run, "Line 7 isn't complete")


def test_torn_and_foreign_lines_between(read):
    rows = TEXT.splitlines()
    rows[1:1] = ["", '{"role": "us', "Traceback (most recent call last):"]
    rows[5:5] = ['{"role": "assistant", "con']
    run = read("\n".join(rows))
    assert run.messages == [*CHAT, user("Går båten? 🎉")]
    assert noted(run, "Lines 3 and 6 aren't complete: left out.")
    assert noted(run, "Line 4 isn't JSON: left out.")


def test_a_torn_first_line(read):
    run = read('ent": "half"}\n' + TEXT)
    assert len(run.messages) == 6
    assert noted(run, "Line 1 isn't JSON: left out.")


@pytest.mark.parametrize("rows", [CHAT[1:2], CHAT])
def test_a_torn_first_line_before_few_lines(read, rows):
    assert read('ent": "half"}\n' + lines(*rows)).messages == rows


def test_text_with_a_row_in_it_is_not_json_lines(write):
    text = "\n".join(["Dear Ada,", "here it is:", json.dumps(CHAT[1]), "Yours"])
    assert "isn't JSON: line 1, column 1" in refusal(write(text))
    text = "\n".join(["Dear Ada,", '{"here": it is}', '{"and": more}', json.dumps(CHAT[1])])
    assert "isn't JSON: line 1, column 1" in refusal(write(text))


def test_two_indented_values_after_each_other(read):
    run = read(json.dumps(CHAT[1], indent=1) + json.dumps(CHAT[4], indent=1))
    assert run.messages == [CHAT[1], CHAT[4]]
    assert noted(run, "2 JSON values")


def test_two_objects_on_one_line_are_split(read):
    rows = TEXT.splitlines()
    run = read("\n".join([rows[0], rows[1] + rows[2], rows[3], rows[4] + " " + rows[5]]))
    assert run.messages == [*CHAT, user("Går båten? 🎉")]
    assert run.notes == ("Lines 2 and 4 hold more than one JSON value each: read one after the "
                         "other.",)  # fmt: skip


def test_a_whole_object_with_a_torn_one_behind_it(read):
    run = read(TEXT.rstrip() + '{"role": "us')
    assert len(run.messages) == 6
    assert noted(run, "The end of line 6", "left out")


def test_many_lines_are_not_all_listed(read):
    good, bad = TEXT.splitlines(), ["{"] * 20
    run = read("\n".join(good + bad))
    note = noted(run, "aren't complete")
    assert note == "Lines 7, 8, 9, 10, 11, 12, 13 and 13 more aren't complete: left out."


def test_gzip_that_was_cut(read):
    rows = [
        said(base64.b64encode(bytes([i, j]) * 40).decode()) for i in range(80) for j in range(80)
    ]
    packed = gzip.compress(lines(*rows).encode())
    run = read(packed[: len(packed) // 2], "run.jsonl.gz")
    assert 0 < len(run.messages) < len(rows)
    assert run.messages == rows[: len(run.messages)]
    assert noted(run, "gzip", "cut off")


def test_bytes_that_are_not_utf8(read):
    run = read(TEXT.encode() + '{"role": "user", "content": "båt"}'.encode("latin-1"))
    assert run.messages[-1] == user("b\ufffdt")
    assert noted(run, "Line 7", "UTF-8")


def test_half_a_surrogate_pair_is_shown_as_ufffd_and_noted_once(read):
    text = r'[{"role": "user", "content": "\ud83c\udf89 \ud83d [cut]", "k\udc00": ["\udc00"]}]'
    run = read(text)
    assert run.messages == [{**user("🎉 \ufffd [cut]"), "k\ufffd": ["\ufffd"]}]
    json.dumps(run.messages, ensure_ascii=False).encode("utf-8")
    assert noted(run, "3 halves of surrogate pairs")
    assert len(run.notes) == 1
    inside = read(json.dumps({"messages": r'[{"role": "user", "content": "\ud83d!"}]'}))
    assert inside.messages == [user("\ufffd!")]


def test_a_long_file_is_not_held_twice(tmp_path):
    file = tmp_path / "long.jsonl"
    rows = 60
    with file.open("w", encoding="utf-8") as out:
        for _ in range(rows):
            out.write(json.dumps(said("x" * 100_000)) + "\n")
    tracemalloc.start()
    try:
        (run,) = read_transcripts(file)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(run.messages) == rows
    assert peak < 1.3 * file.stat().st_size


# ---- not a transcript -----------------------------------------------------------------------


def refusal(path):
    with pytest.raises(NotATranscript) as error:
        read_transcripts(path)
    assert isinstance(error.value, CourseError)
    return str(error.value)


def test_another_json_object_says_what_was_seen_and_what_is_understood(write):
    text = refusal(write({"name": "x", "version": 1, "scripts": {}}))
    assert text.startswith(
        "run.json is a JSON object with the keys 'name', 'version', 'scripts'; no run is in it"
    )
    families = ", ".join(family.NAME for family in reversed(FAMILIES[1:]))
    end = f"Understood are {families} and {FAMILIES[0].NAME}, as JSON or JSON Lines."
    assert text.endswith(end)
    assert end.startswith("Understood are OpenAI chat, Anthropic Messages, ")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({str(i): i for i in range(30)}, "'6', '7' and 22 more"),
        ({str(i): i for i in range(9)}, "'6', '7' and 1 more"),
        ({str(i): i for i in range(8)}, "'6', '7';"),
        ({"only": 1}, "a JSON object with the key 'only'"),
        ({}, "an empty JSON object"),
        ([], "an empty JSON list"),
        ([{"a": 1}] * 3, "a JSON list of 3 rows, the first of them a JSON object with the key 'a'"),
        ([1], "a JSON list of 1 row, the first of them a JSON number"),
        ([[1]], "the first of them a list too"),
        ("null", "JSON's null"),
        ("true", "a JSON true or false"),
        ('"hello"', "a JSON string"),
        ([{"role": "admin", "content": "x"}], "no run is in it"),
        ([{"role": "user", "email": "x"}], "no run is in it"),
        ([user("x"), {"a": 1}, {"a": 1}], "no run is in it"),
        ('{"a": 1}\n{"b', "Line 2 isn't complete: left out."),
    ],
)
def test_what_was_seen(write, data, words):
    assert words in refusal(write(data))


@pytest.mark.parametrize(
    "data", [b"", b"  \n\n", b"\xef\xbb\xbf", b"\xff\xfe", gzip.compress(b"", mtime=0)]
)
def test_an_empty_file(write, data):
    assert refusal(write(data)) == "run.json is empty."


def test_a_folder_a_missing_path_and_no_path(tmp_path, monkeypatch):
    assert "is a folder" in refusal(tmp_path)
    assert refusal(tmp_path / "none.json") == f"There is no file {str(tmp_path / 'none.json')!r}."
    monkeypatch.chdir(tmp_path)
    assert refusal("none.json") == f"There is no file 'none.json' in {tmp_path}."
    assert "path is empty" in refusal("")
    assert "not a list" in refusal(CHAT)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"PK\x03\x04 and more", "zip archive"),
        (b"SQLite format 3\x00" + bytes(90), "SQLite database"),
        (b"\x89PNG\r\n" + bytes(90), "PNG picture"),
        (bytes(range(256)), "binary file"),
        (b"\xfe\xfa\xf0\xe1" * 20, "binary file"),
        (b"\x01\x02\x03\x04" * 20, "binary file"),
        (b"text\0text", "binary file"),
        (gzip.compress(bytes(range(256)) * 2, mtime=0), "binary file"),
        (gzip.compress(TEXT.encode(), mtime=0)[:40], "can't be read: Compressed file ended"),
        (b"\x1f\x8bnot gzip at all", "can't be read: Unknown compression method"),
    ],
)
def test_a_binary_file(write, data, words):
    text = refusal(write(data))
    assert text.startswith("run.json") and words in text


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("hello there", "run.json isn't JSON: line 1, column 1: expecting value."),
        ('{"a": 1,\n\n  b: 2}', "isn't JSON: line 3, column 3: expecting property name"),
        ('[1,\n 2,,\n 3]', "isn't JSON: line 2, column 4: expecting value."),
        ("[{'role': 'user'}]", "looks like a printed Python dict"),
        ('[\n{"role": "user",\n "content": "x"}', "isn't complete JSON: it ends at line 3"),
        ('[\n{"role": "user",\n "content": "x', "isn't complete JSON: it ends at line 3"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_json_says_where(write, data, words):
    text = refusal(write(data))
    assert words in text
    assert ("Python dict" in text) == ("'role'" in data)


def test_json_nested_too_deeply(write):
    assert "nested too deeply" in refusal(write("[" * 100_000 + "]" * 100_000))
    assert "no run is in it" in refusal(write("[" * 50 + "]" * 50))


def test_a_broken_indented_file_is_not_taken_for_lines(write):
    text = json.dumps(CHAT, indent=1).replace('"4.2 m"', "4.2 m")
    assert "isn't JSON: line" in refusal(write(text))


# ---- every reader ---------------------------------------------------------------------------

TOOL_USE = {"type": "tool_use", "id": "t1", "name": "depth", "input": {"berth": 4}}
ANTHROPIC = {
    "model": "claude-x",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "You keep a harbour log."}],
    "tools": [{"name": "depth", "description": "How deep", "input_schema": {"type": "object"}}],
    "messages": [
        user("How deep is berth 4?"),
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Look it up.", "signature": "c2ln"},
                {"type": "text", "text": "One moment."},
                TOOL_USE,
                {**TOOL_USE, "id": "t2", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And hurry."},
                {"type": "tool_result", "tool_use_id": "t2", "content": "?", "is_error": True},
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [{"type": "text", "text": "4.2 m"}],
                },
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "4.2 metres."}], "id": "msg_2"},
    ],
}
RESPONSES = {
    "model": "m-3",
    "instructions": "You keep a harbour log.",
    "tools": [{"type": "function", "name": "depth", "parameters": {"type": "object"}}],
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "How?"}]},
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Look."}]},
        {"type": "message", "role": "assistant", "content": "One moment."},
        {"type": "function_call", "id": "fc", "call_id": "c1", "name": "d", "arguments": "{}"},
        {"type": "function_call", "id": "fd", "call_id": "c2", "name": "d", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c2", "output": "4.1"},
        {"type": "function_call_output", "call_id": "c1", "output": "4.2"},
    ],
    "output": [
        {
            "type": "message",
            "id": "m9",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "4.2 metres.", "annotations": []}],
        }
    ],
}
GEMINI = {
    "model": "gemini-x",
    "systemInstruction": {"parts": [{"text": "You keep a harbour log."}]},
    "tools": [{"functionDeclarations": [{"name": "depth", "parameters": {"type": "OBJECT"}}]}],
    "contents": [
        {"role": "user", "parts": [{"text": "How deep?"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Look it up.", "thought": True},
                {"functionCall": {"name": "depth", "args": {"berth": 4}}},
                {"functionCall": {"name": "tide", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "tide", "response": {"cm": 3}}},
                {"functionResponse": {"name": "depth", "response": {"result": "4.2 m"}}},
            ],
        },
    ],
    "candidates": [{"content": {"role": "model", "parts": [{"text": "4.2 metres."}]}}],
    "usageMetadata": {"promptTokenCount": 12},
}
SHAREGPT = {
    "system": "You keep a harbour log.",
    "tools": json.dumps([{"name": "depth", "description": "How deep"}]),
    "conversations": [
        {"from": "human", "value": "How deep?"},
        {"from": "function_call", "value": '{"name": "depth", "arguments": {"berth": 4}}'},
        {"from": "observation", "value": "4.2 m"},
        {"from": "gpt", "value": "4.2 metres."},
    ],
}
EACH = {
    "OpenAI chat": {"messages": CHAT, "tools": [TOOL]},
    "Anthropic Messages": ANTHROPIC,
    "OpenAI Responses": RESPONSES,
    "Gemini contents": GEMINI,
    "ShareGPT": SHAREGPT,
}


@pytest.mark.parametrize("name", EACH)
def test_a_document_is_known_to_its_family_and_never_changed(name):
    document = copy.deepcopy(EACH[name])
    (first, *_) = [family for family in FAMILIES if family.recognise(document)]
    assert name == first.NAME
    (run,) = first.read(document)
    run.messages[0]["content"] = "changed"
    run.messages.clear()
    assert document == EACH[name]


@pytest.mark.parametrize("name", EACH)
def test_what_is_read_is_what_a_provider_accepts(read, name):
    run = read(EACH[name])
    assert validate(run.messages) == []
    assert run.tools[0]["function"]["name"] == "depth"
    assert run.messages[0] == {"role": "system", "content": "You keep a harbour log."}


@pytest.mark.parametrize("name", EACH)
def test_many_runs_of_each_family(write, name):
    runs = read_transcripts(write(lines(EACH[name], EACH[name])))
    (one,) = read_transcripts(write(EACH[name]))
    assert [run.messages for run in runs] == [one.messages, one.messages]


KEYS = sorted(
    {"role", "content", "type", "text", "messages", "tool_calls", "id", "function", "name"}
    | {"arguments", "source", "data", "input", "output", "parts", "contents", "from", "value"}
    | {"conversations", "choices", "message", "tool_call_id", "content"}
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["user", "assistant", "tool", "text", "tool_use", "function_call", "image"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(json_values)
def test_any_json_is_read_or_refused_and_never_changed(document):
    before = copy.deepcopy(document)
    runs, _ = read_document(document)
    assert document == before
    for run in runs:
        turn_groups(run.messages)
        assert all(isinstance(m["content"], str | list | None) for m in run.messages)
        json.dumps(run.messages)


@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.binary(max_size=60), st.sampled_from([b"", b"[", b'{"role":', b"\xff\xfe", b"\x1f\x8b"]))
def test_any_bytes_are_read_or_refused(tmp_path, data, start):
    file = tmp_path / "any"
    file.write_bytes(start + data)
    try:
        read_transcripts(file)
    except NotATranscript as error:
        assert str(error).startswith("any ")


# ---- Anthropic ------------------------------------------------------------------------------


def test_anthropic_blocks(read):
    run = read(ANTHROPIC)
    assert run.messages == [
        CHAT[0],
        user("How deep is berth 4?"),
        {
            **calling(
                call("t1", "depth", '{"berth": 4}'), call("t2", "depth"), content="One moment."
            ),
            "reasoning_content": "Look it up.",
        },
        {**result("t2", "?"), "is_error": True},
        result("t1", "4.2 m"),
        user("And hurry."),
        {**said("4.2 metres."), "id": "msg_2"},
    ]
    assert (run.format, run.model, run.notes) == ("Anthropic request", "claude-x", ())
    function = {"name": "depth", "description": "How deep", "parameters": {"type": "object"}}
    assert run.tools == ({"type": "function", "function": function},)


def test_anthropic_messages_alone_and_the_system_text_beside_plain_ones(read):
    run = read(ANTHROPIC["messages"])
    assert (len(run.messages), run.format) == (6, "Anthropic messages")
    plain = read({"system_prompt": "Be brief.", "messages": [user("hi"), said("ho")]})
    assert plain.messages == [{"role": "system", "content": "Be brief."}, user("hi"), said("ho")]


def test_an_anthropic_answer_beside_its_request_and_alone(read):
    answer = {
        "type": "message",
        "role": "assistant",
        "content": [TOOL_USE],
        "usage": {"input_tokens": 5},
    }
    run = read({"request": {"messages": [user("?")], "system": "S"}, "response": answer})
    assert [m["role"] for m in run.messages] == ["system", "user", "assistant"]
    assert run.messages[2]["tool_calls"] == [call("t1", "depth", '{"berth": 4}')]
    assert noted(run, "last message")
    alone = read(answer)
    assert (len(alone.messages), alone.format) == (1, "Anthropic answer")
    assert alone.usage == {"input_tokens": 5}
    kept = read({"messages": [user("?"), {**answer}], "response": answer})
    assert (len(kept.messages), kept.notes) == (2, ())


def test_anthropic_tools_of_the_provider_answer_in_between(read):
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "tide"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "u"}]},
        {"type": "text", "text": "High at noon."},
    ]
    run = read([user("?"), {"role": "assistant", "content": blocks}])
    assert [m["role"] for m in run.messages] == ["user", "assistant", "tool", "assistant"]
    assert run.messages[1]["tool_calls"] == [call("s1", "web_search", '{"q": "tide"}')]
    assert run.messages[2]["tool_call_id"] == "s1"
    assert run.messages[3]["content"] == "High at noon."


def test_anthropic_reasoning_that_is_encrypted_and_pictures_in_results(read):
    row = {
        "role": "assistant",
        "content": [{"type": "redacted_thinking", "data": "eA=="}, TOOL_USE],
    }
    back = {"type": "tool_result", "tool_use_id": "t1", "content": [PICTURES["anthropic"]]}
    run = read([row, {"role": "user", "content": [back]}])
    assert "reasoning_content" not in run.messages[0]
    assert noted(run, "encrypted")
    signed = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    assert noted(read([{"role": "assistant", "content": [signed, TOOL_USE]}]), "encrypted")
    assert run.messages[1] == result("t1", "[image, image/png, 100 bytes]")
    empty = read([row, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]}])
    assert empty.messages[1] == result("t1", "")


def test_chat_calls_win_over_anthropic_blocks(read):
    parts = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "x"}]
    run = read([user("?"), calling(call("a"), content=parts), result("a")])
    assert run.format == "OpenAI chat messages"
    assert run.messages[1]["reasoning_content"] == "Hm."


# ---- OpenAI Responses -----------------------------------------------------------------------


def test_responses_items(read):
    run = read(RESPONSES)
    assert run.messages == [
        CHAT[0],
        user("How?"),
        {
            **calling(call("c1", "d"), call("c2", "d"), content="One moment."),
            "reasoning_content": "Look.",
        },
        result("c2", "4.1"),
        result("c1", "4.2"),
        {**said("4.2 metres."), "id": "m9"},
    ]
    assert (run.format, run.model, run.notes) == ("OpenAI Responses request", "m-3", ())
    bare = read(RESPONSES["input"])
    assert (bare.messages, bare.format) == (run.messages[1:-1], "OpenAI Responses items")


def test_responses_requests_with_plain_input(read):
    run = read({"instructions": "Be brief.", "input": "hi"})
    assert run.messages == [{"role": "system", "content": "Be brief."}, user("hi")]
    run = read({"input": [user("hi"), said("ho")], "instructions": "Be brief."})
    assert run.messages[1:] == [user("hi"), said("ho")]
    alone = read(
        {"object": "response", "output": RESPONSES["output"], "usage": {"input_tokens": 1}}
    )
    assert (alone.format, alone.usage) == ("OpenAI Responses response", {"input_tokens": 1})


def test_responses_texts_after_each_other_are_messages_of_their_own(read):
    text = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "a"}],
    }
    asked = {"type": "function_call", "call_id": "c", "name": "d", "arguments": "{}"}
    run = read([text, text, asked, text])
    assert [len(m.get("tool_calls", ())) for m in run.messages] == [0, 1, 0]
    assert [m["content"] for m in run.messages] == ["a", "a", "a"]


def test_responses_reasoning_without_words_leaves_no_message(read):
    hidden = {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
    asked = {"type": "function_call", "call_id": "c", "name": "d", "arguments": "{}"}
    run = read([user("?"), hidden, asked, result_item("c"), hidden])
    assert [m["role"] for m in run.messages] == ["user", "assistant", "tool"]
    assert "reasoning_content" not in run.messages[1]
    assert noted(run, "2 pieces of reasoning")


def result_item(id, output="ok", kind="function_call"):
    return {"type": f"{kind}_output", "call_id": id, "output": output}


def test_responses_other_calls(read):
    run = read(
        [
            {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "SELECT 1"},
            result_item("c1", [{"type": "input_text", "text": "1"}], "custom_tool_call"),
            {"type": "local_shell_call", "call_id": "c2", "action": {"command": ["ls"]}},
            result_item("c2", None, "local_shell_call"),
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {"q": "tide"}},
            {"type": "image_generation_call", "id": "g", "result": PIXEL},
            {"type": "ghost"},
        ]
    )
    assert run.messages[:4] == [
        calling(call("c1", "sql", '{"input": "SELECT 1"}')),
        result("c1", "1"),
        calling(call("c2", "local_shell", '{"command": ["ls"]}')),
        result("c2", ""),
    ]
    texts = [part["text"] for part in run.messages[4]["content"]]
    assert texts == ['[web_search: {"action": {"q": "tide"}}]', "[image_generation: {}]",
                     "[image, 100 bytes]"]  # fmt: skip
    assert noted(run, "web_search and image_generation")
    assert noted(run, "'ghost'", "left out")


# ---- Gemini ---------------------------------------------------------------------------------


def test_gemini_contents(read):
    run = read(GEMINI)
    assert run.messages == [
        CHAT[0],
        user("How deep?"),
        {
            **calling(call("call_1", "depth", '{"berth": 4}'), call("call_2", "tide")),
            "reasoning_content": "Look it up.",
        },
        {**result("call_2", '{"cm": 3}'), "name": "tide"},
        {**result("call_1", "4.2 m"), "name": "depth"},
        said("4.2 metres."),
    ]
    assert (run.format, run.model) == ("Gemini request", "gemini-x")
    assert run.usage == {"promptTokenCount": 12}
    assert noted(run, "last message")


def test_gemini_as_pythons_library_writes_it(read):
    contents = [
        {"parts": [{"text": "hi", "thought": None}]},
        {"role": "model", "parts": [{"function_call": {"id": "x", "name": "d", "args": None}}]},
        {"role": "function", "parts": [{"function_response": {"id": "x", "response": {"a": 1}}}]},
    ]
    config = {"system_instruction": "Be brief.", "tools": [{"function_declarations": [TOOL]}]}
    run = read({"contents": contents, "config": config})
    assert run.messages == [
        {"role": "system", "content": "Be brief."},
        user("hi"),
        calling(call("x", "d")),
        result("x", '{"a": 1}'),
    ]
    assert run.tools == (TOOL,)
    assert read(contents).format == "Gemini contents"


def test_gemini_bytes_code_and_a_response_alone(read):
    data = {"mimeType": "image/png", "data": PIXEL}
    run = read([{"role": "user", "parts": [{"inlineData": data}, {"text": "?"}]}])
    assert run.messages[0]["content"][0]["text"] == "[image, image/png, 100 bytes]"
    answer = {"content": {"parts": [{"executableCode": {"code": "1+1"}}], "role": "model"}}
    alone = read({"candidates": [answer, answer], "modelVersion": "g-2"})
    assert json.loads(alone.messages[0]["content"]) == {"executableCode": {"code": "1+1"}}
    assert (alone.format, alone.model) == ("Gemini response", "g-2")
    assert noted(alone, "second version")


def test_parts_that_name_their_type_are_not_geminis(write):
    part = {"type": "text", "text": "hi"}
    rows = [{"role": "user", "parts": [part]}, {"role": "assistant", "parts": [part]}]
    assert "no run is in it" in refusal(write(rows))


# ---- ShareGPT -------------------------------------------------------------------------------


def test_sharegpt(read):
    run = read(SHAREGPT)
    assert run.messages == [
        CHAT[0],
        user("How deep?"),
        calling(call("call_1", "depth", '{"berth": 4}')),
        result("call_1", "4.2 m"),
        said("4.2 metres."),
    ]
    assert run.format == "ShareGPT"
    bare = read([*SHAREGPT["conversations"], {"note": 1}])
    assert bare.messages == run.messages[1:]
    assert noted(bare, "Row 5")


def test_sharegpt_with_calls_in_tags(read):
    tagged = 'Let me look.\n<tool_call>\n{"name": "a", "arguments": {}}\n</tool_call>'
    turns = [
        {"from": "system", "value": "S"},
        {"from": "gpt", "value": tagged + '<tool_call>{"name": "b", "arguments": {}}</tool_call>'},
        {
            "from": "tool",
            "value": "<tool_response>A</tool_response>\n<tool_response>B</tool_response>",
        },
        {"from": "human", "value": "<tool_call>{}</tool_call>", "weight": 0},
    ]
    run = read({"conversations": turns, "system": "other"})
    assert run.messages == [
        {"role": "system", "content": "S"},
        calling(call("call_1", "a"), call("call_2", "b"), content="Let me look."),
        result("call_1", "A"),
        result("call_2", "B"),
        {**user("<tool_call>{}</tool_call>"), "weight": 0},
    ]


def test_sharegpt_calls_that_are_none_stay_text(read):
    run = read([{"from": "function_call", "value": "look at it"}, {"from": "human", "value": "?"}])
    assert run.messages == [said("look at it"), user("?")]
    assert noted(run, "holds no call")
    two = '[{"name": "a", "parameters": {}}, {"name": "b"}]'
    run = read([{"from": "function_call", "value": two}])
    assert run.messages == [calling(call("call_1", "a"), call("call_2", "b"))]


# ---- Transcript -----------------------------------------------------------------------------


def test_a_transcript_shows_itself_shortly():
    assert repr(Transcript(CHAT, "a.json", "OpenAI chat messages")) == (
        "<Transcript 'a.json': 5 messages, OpenAI chat messages>"
    )
    assert "2 notes" in repr(Transcript(CHAT, "a.json", "x", ("one", "two")))
