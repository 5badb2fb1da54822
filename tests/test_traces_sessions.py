"""Readers of sessions and trajectories: the logs of coding agents and of benchmarks."""

from __future__ import annotations

import base64
import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.messages import turn_groups, validate
from course_lib.traces import (
    NotATranscript,
    claude_code,
    cline,
    codex,
    gemini_cli,
    inspect_log,
    openhands,
    openhands_sdk,
    read_transcripts,
    swe_agent,
    tau_bench,
)
from course_lib.traces.registry import FAMILIES, read_document
from tests.test_traces import EACH

PIXEL = base64.b64encode(b"\x89PNG" + bytes(96)).decode()  # 100 bytes
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
MARKER = {"type": "text", "text": "[image, image/png, 100 bytes]"}


def user(text):
    return {"role": "user", "content": text}


def said(text, **more):
    return {"role": "assistant", "content": text, **more}


def call(id, name="look", arguments="{}"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls, content=None, **more):
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **more}


def result(id, content="ok", **more):
    return {"role": "tool", "content": content, "tool_call_id": id, **more}


@pytest.fixture
def read_all(tmp_path):
    """The runs in a file that holds this: text as it is, a list of rows as JSON Lines."""

    def read_all(data, as_rows=False):
        file = tmp_path / "log"
        if as_rows:
            data = "".join(json.dumps(row) + "\n" for row in data)
        file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        return read_transcripts(file)

    return read_all


@pytest.fixture
def read(read_all):
    """The only run in such a file."""

    def read(data, as_rows=False):
        (run,) = read_all(data, as_rows)
        return run

    return read


def noted(run, *words):
    """The one note that has all the words."""
    (note,) = [note for note in run.notes if all(word in note for word in words)]
    return note


def bare(messages):
    """The messages without what a format keeps beside the shape of chat."""
    shape = {"role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content"}
    return [{key: m[key] for key in m if key in shape} for m in messages]


# ---- Claude Code ----------------------------------------------------------------------------


def use(id, name="look", **given):
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def back(id, content="ok", **more):
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def cc(role, content, uuid=None, parent=None, **more):
    """A row of Claude Code; keys that belong to the message stand under `message`."""
    message = {"role": role, "content": content, **more.pop("message", {})}
    row = {"type": role, "message": message, "sessionId": "s1", "isSidechain": False}
    ids = {"uuid": uuid, "parentUuid": parent} if uuid else {"parentUuid": parent}
    return {**row, **ids, **more}


def part(id, block, uuid=None, parent=None, **more):
    """A row that holds one block of the answer with that message id."""
    usage = {"input_tokens": 7, "output_tokens": 2}
    message = {"id": id, "model": "claude-h", "usage": usage}
    return cc("assistant", [block], uuid, parent, message=message, requestId=f"r-{id}", **more)


TEXT = {"type": "text", "text": "Both at once."}
CLAUDE = [
    {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
    cc("user", "How deep are berths 4 and 5?", "u1"),
    part("m1", {"type": "thinking", "thinking": "Two calls.", "signature": "c2ln"}, "a0", "u1"),
    part("m1", TEXT, "a1", "a0"),
    part("m1", use("t1", "depth", berth=4), "a2", "a1"),
    part("m1", use("t2", "depth", berth=5), "a3", "a2"),
    cc("user", [back("t1", "4.2 m")], "r1", "a2", toolUseResult={"stdout": "4.2 m"}),
    cc("user", [back("t2", [{"type": "text", "text": "6 m"}])], "r2", "a3"),
    part("m2", {"type": "text", "text": "4.2 and 6 metres."}, "a4", "r2"),
]
CLAUDE_TALK = [
    user("How deep are berths 4 and 5?"),
    calling(
        call("t1", "depth", '{"berth": 4}'),
        call("t2", "depth", '{"berth": 5}'),
        content="Both at once.",
        reasoning_content="Two calls.",
    ),
    result("t1", "4.2 m"),
    result("t2", "6 m"),
    said("4.2 and 6 metres."),
]


def test_claude_code_joins_the_rows_of_an_answer(read):
    run = read(CLAUDE, as_rows=True)
    assert bare(run.messages) == CLAUDE_TALK
    assert (run.format, run.model) == ("Claude Code session", "claude-h")
    assert run.usage == {"input_tokens": 7, "output_tokens": 2}
    assert [len(group) for group in turn_groups(run.messages)[1]] == [3, 1]
    assert validate(run.messages) == []
    assert noted(run, "3 rows go on", "message ids")
    assert noted(run, "file-history-snapshot", "left out")
    assert len(run.notes) == 2


def test_claude_code_keeps_every_result_of_a_branch_in_the_files_order(read):
    rows = [
        cc("user", "?", "u"),
        part("m", use("t1"), "a1", "u"),
        cc("user", [back("t1", "one")], "r1", "a1"),
        part("m", use("t2"), "a2", "a1"),
        part("n", use("t3"), "a3", "a1"),
        part("m", use("t4"), "a4", "a2"),
        *(cc("user", [back(f"t{i}", str(i))], f"r{i}", f"a{i}") for i in (4, 3, 2)),
    ]
    run = read(rows, as_rows=True)
    assert [[c["id"] for c in m.get("tool_calls", ())] for m in run.messages][:4] == [
        [], ["t1", "t2", "t4"], [], ["t3"],
    ]  # fmt: skip
    assert [m["content"] for m in run.messages if m["role"] == "tool"] == ["one", "4", "3", "2"]
    assert sorted(len(group) for group in turn_groups(run.messages)[1]) == [2, 4]


def test_claude_code_tells_answers_apart_that_share_a_constant_id(read):
    def answer(text, **more):
        return cc("assistant", [{"type": "text", "text": text}], message={"id": "x"}, **more)

    run = read([cc("user", "1?"), answer("one"), cc("user", "2?"), answer("two")], as_rows=True)
    assert [m["content"] for m in run.messages] == ["1?", "one", "2?", "two"]
    run = read([answer("one", requestId="a"), answer("two", requestId="b")], as_rows=True)
    assert [m["content"] for m in run.messages] == ["one", "two"]
    rows = [answer("one", requestId="a"), cc("user", "wait"), answer("two", requestId="a")]
    assert [m["role"] for m in read(rows, as_rows=True).messages] == ["assistant", "user"]
    nameless = [cc("assistant", "one"), cc("assistant", "two")]
    assert [m["content"] for m in read(nameless, as_rows=True).messages] == ["one", "two"]


def test_claude_code_reads_what_stands_twice_once(read):
    snapshot = cc("assistant", [TEXT, use("t1", n=1)], "a1", message={"id": "m"})
    longer = cc(
        "assistant", [TEXT, use("t1", n=1), use("t2"), use("t1", n=2)], "a2", message={"id": "m"}
    )
    run = read([snapshot, longer, copy.deepcopy(longer)], as_rows=True)
    assert [c["id"] for c in run.messages[0]["tool_calls"]] == ["t1", "t2", "t1"]
    assert run.messages[0]["content"] == "Both at once."
    assert noted(run, "2 parts of answers stand in the file twice")
    assert noted(run, "Row 3 repeats a row")


def test_claude_code_side_chains_are_runs_of_their_own(read_all):
    def aside(*row, **more):
        return {**cc(*row), "isSidechain": True, **more}

    rows = [
        CLAUDE[1],
        part("m1", use("t1", "Task"), "a1", "u1"),
        aside("user", "Count the boats.", "s1", "a1"),
        aside("user", "Count the gulls.", "g1", agentId="gulls"),
        aside("assistant", "Three boats.", "s2", "s1"),
        aside("assistant", "Nine gulls.", "g2", agentId="gulls"),
        cc("user", [back("t1", "Three boats.")], "r1", "a1"),
    ]
    session, boats, gulls = read_all(rows, as_rows=True)
    assert [m["role"] for m in session.messages] == ["user", "assistant", "tool"]
    assert [m["content"] for m in boats.messages] == ["Count the boats.", "Three boats."]
    assert [m["content"] for m in gulls.messages] == ["Count the gulls.", "Nine gulls."]
    assert [run.name for run in (session, boats, gulls)] == [
        "log, session s1",
        "log, sub-agent s1",
        "log, sub-agent gulls",
    ]
    (alone,) = read_all(rows[3:4], as_rows=True)
    assert (alone.format, alone.name) == ("Claude Code sub-agent", "log")


def test_claude_code_as_it_is_streamed(read_all):
    def streamed(role, content, caller=None):
        row = {"type": role, "message": {"role": role, "content": content}, "session_id": "s"}
        return {**row, "parent_tool_use_id": caller}

    rows = [
        {"type": "system", "subtype": "init", "tools": ["Task"], "session_id": "s"},
        streamed("assistant", [use("t1", "Task")]),
        streamed("user", "Count the boats.", "t1"),
        streamed("assistant", "Three.", "t1"),
        streamed("user", [back("t1", "Three.")]),
        {"type": "result", "subtype": "success", "session_id": "s"},
    ]
    session, boats = read_all(rows, as_rows=True)
    assert [m["role"] for m in session.messages] == ["assistant", "tool"]
    assert [m["content"] for m in boats.messages] == ["Count the boats.", "Three."]
    assert noted(session, "2 rows", "system init and result success")
    assert boats.notes == ()


def test_claude_code_sessions_that_are_linked_are_one_and_others_are_not(read_all):
    rows = [
        cc("user", "one", "u1"),
        cc("assistant", "two", "a1", "u1"),
        {
            "type": "system",
            "subtype": "compact",
            "uuid": "b",
            "logicalParentUuid": "a1",
            "sessionId": "s2",
        },
        cc("user", "three", "u2", "b", sessionId="s2"),
        cc("assistant", "four", "a2", None, sessionId="s2"),
        {key: v for key, v in cc("user", "five").items() if key != "sessionId"},
    ]
    (run,) = read_all(rows, as_rows=True)
    assert [m["content"] for m in run.messages] == ["one", "two", "three", "four", "five"]
    apart = [rows[0], cc("user", "other", "v1", "gone", sessionId="s9"), rows[1]]
    first, second = read_all(apart, as_rows=True)
    assert [m["content"] for m in first.messages] == ["one", "two"]
    assert second.messages == [user("other")]


def test_claude_code_notes_what_is_not_as_it_looks(read):
    fake = {"id": "z", "model": "<synthetic>"}
    rows = [
        cc("user", "Caveat", "u0", isMeta=True),
        cc("user", "Start", "u1", "u0"),
        part("m1", TEXT, "a1", "u1"),
        cc("user", "Left", "u2", "a1"),
        cc("user", "Right", "u3", "a1"),
        cc("user", "In short: berth 4.", "u4", None, isCompactSummary=True),
        cc("assistant", [{"type": "text", "text": "No answer."}], "a2", "u4", message=fake),
        part("m3", {"type": "thinking", "thinking": "", "signature": "c2ln"}, "a3", "u4"),
        {"type": "summary", "summary": "Berths", "leafUuid": "a2"},
        ["?"],
        cc("user", None),
        cc("user", [back("t9", "")]),
    ]
    run = read(rows, as_rows=True)
    assert [m["content"] for m in run.messages] == [
        "Caveat", "Start", "Both at once.", "Left", "Right", "In short: berth 4.", "No answer.",
        "",
    ]  # fmt: skip
    assert noted(run, "Row 1", "isMeta")
    assert noted(run, "Row 5", "both branches")
    assert noted(run, "compacted at row 6")
    assert noted(run, "row 7", "not the model's")
    assert noted(run, "rows 8 and 11", "empty", "left out")
    assert noted(run, "summary", "isn't part of the talk")
    assert noted(run, "Row 10 isn't an object")
    assert run.model == "claude-h"


def test_claude_code_images_errors_and_messages_in_strings(read):
    rows = [
        cc("user", [IMAGE, {"type": "text", "text": "?"}]),
        cc("assistant", [use(7)]),
        cc("user", [back(7, [IMAGE], is_error=True)]),
    ]
    rows[1]["message"] = json.dumps(rows[1]["message"])
    run = read(rows, as_rows=True)
    assert run.messages[0]["content"] == [MARKER, {"type": "text", "text": "?"}]
    assert run.messages[1:] == [
        calling(call("7")),
        {**result("7", MARKER["text"]), "is_error": True},
    ]
    assert noted(run, "2 images or files")


def test_claude_code_torn_and_unanswered(read):
    text = "".join(json.dumps(row) + "\n" for row in CLAUDE[:6]) + '{"type": "user", "mess'
    run = read(text)
    assert [m["role"] for m in run.messages] == ["user", "assistant"]
    assert noted(run, "Line 7 isn't complete")
    late = [*CLAUDE[:7], cc("user", "Hello?", "u9", "r1")]
    assert noted(read(late, as_rows=True), "'t2' (depth) was never answered")


def test_claude_code_a_single_row_and_none(read, read_all):
    run = read(json.dumps(part("m", use("t1"), "a1")))
    assert (bare(run.messages), run.format) == ([calling(call("t1"))], "Claude Code session")
    with pytest.raises(NotATranscript):
        read_all([{"type": "summary", "summary": "x", "leafUuid": "y"}] * 3, as_rows=True)
    with pytest.raises(NotATranscript):
        read_all([part("m3", {"type": "thinking", "thinking": ""}, "a3")], as_rows=True)


def test_claude_code_joins_text_blocks_and_what_is_known_only_at_the_end(read):
    first = {"id": 5, "stop_reason": None, "usage": {"output_tokens": 1}, "model": "m"}
    last = {"id": "5", "stop_reason": "tool_use", "usage": {"output_tokens": 9}, "model": None}
    rows = [
        cc("assistant", "One", "a1", message=first),
        cc("assistant", [TEXT, {"type": "server_tool_use", "id": "w", "name": "s"}], message=last),
        cc("assistant", "", message=last),
    ]
    (message,) = read(rows, as_rows=True).messages
    assert [part["text"] for part in message["content"]] == ["One", "Both at once."]
    assert message["tool_calls"] == [call("w", "s")]
    assert (message["model"], message["stop_reason"]) == ("m", "tool_use")
    assert message["usage"] == {"output_tokens": 9}


def test_claude_code_results_and_inserted_rows_do_not_split_an_answer_but_a_prompt_does(read):
    def answer(id, *blocks, **more):
        return cc("assistant", list(blocks), message={"id": id}, **more)

    rows = [answer("x", use("t1")), cc("user", [back("t1")]), answer("x", use("t2"))]
    assert len(read(rows, as_rows=True).messages) == 2
    rows = [answer("x", use("t1")), cc("user", [back("t1")]), cc("user", "?"), answer("y", TEXT)]
    assert len(read(rows, as_rows=True).messages) == 4
    rows = [answer("x", TEXT), cc("user", "?"), cc("user", [back("z")]), answer("x", use("t2"))]
    assert [m["role"] for m in read(rows, as_rows=True).messages][-1] == "assistant"
    rows = [answer("x", TEXT, requestId="r"), answer("x", use("t1"))]
    assert len(read(rows, as_rows=True).messages) == 1
    rows = [answer("x", TEXT), answer("y", use("t1")), answer("x", use("t2"))]
    assert len(read(rows, as_rows=True).messages) == 3
    rows = [answer("", TEXT), answer("", use("t1"))]
    assert len(read(rows, as_rows=True).messages) == 2


def test_claude_code_rows_that_hold_little_more_than_a_message(read):
    rows = [{"type": role, "message": {"content": "hi"}} for role in ("user", "assistant")]
    run = read(rows, as_rows=True)
    assert (run.messages, run.format) == ([user("hi"), said("hi")], "Claude Code session")


def test_claude_code_sub_agents_in_rows_of_progress_and_prompts_in_between(read_all):
    def progress(role, content):
        inner = {"type": role, "message": {"role": role, "content": content}}
        return {
            "type": "progress",
            "data": {"type": "agent_progress", "agentId": "a", "message": inner},
        }

    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": "In feet, please."}
    rows = [
        cc("user", "?", "u1"),
        progress("user", "Count."),
        {"type": "attachment", "attachment": queued},
        {"type": "attachment", "attachment": {"type": "todo"}},
        progress("assistant", "Three."),
        {"type": "progress", "data": {"type": "agent_progress", "message": "x"}},
    ]
    session, agent = read_all(rows, as_rows=True)
    assert session.messages == [user("?")]
    assert [m["content"] for m in agent.messages] == ["Count.", "Three."]
    assert (agent.name, agent.format) == ("log, sub-agent a", "Claude Code sub-agent")
    assert noted(session, "typed while the model worked", "row 3", "left out")
    assert noted(session, "2 rows", "attachment and progress")


@pytest.mark.parametrize(
    "row",
    [
        {"type": "progress", "message": {"role": "user", "content": "hi"}, "uuid": "u"},
        {"type": "user", "message": "hi", "uuid": "u"},
        {"type": "user", "message": {"role": "system", "content": "hi"}, "uuid": "u"},
        {"type": "user", "message": {"role": "user", "text": "hi"}, "uuid": "u"},
    ],
)
def test_claude_code_takes_no_other_rows(row):
    assert not claude_code.recognise([row])


def test_claude_code_links_rows_that_name_no_session(read_all):
    def lost(*row, **more):
        row = {**cc(*row), **more}
        return {key: value for key, value in row.items() if key != "sessionId"}

    aside = {"isSidechain": True}
    rows = [
        lost("user", "one", "u1"),
        lost("user", "aside", "s1", "u1", **aside),
        lost("assistant", "heard", "s2", "s1", **aside),
        lost("assistant", "two", "a1", "s2"),
        lost("user", "again", None, None, **aside),
        lost("assistant", "yes", None, None, **aside),
    ]
    main, first, second = read_all(rows, as_rows=True)
    assert [m["content"] for m in main.messages] == ["one", "two"]
    assert [m["content"] for m in first.messages] == ["aside", "heard"]
    assert [m["content"] for m in second.messages] == ["again", "yes"]
    assert [run.name for run in (main, second)] == ["log, session", "log, sub-agent"]


def test_claude_code_chains_by_their_own_names(read_all):
    def aside(text, **more):
        return {**cc("user", text, text, more.pop("parent", None)), "isSidechain": True, **more}

    rows = [
        aside("a1", agentId="a"),
        cc("user", "main", "m"),
        aside("b1", agentId="b", parent="a1"),
        aside("c1", parent_tool_use_id="c"),
        aside("c2", parent_tool_use_id="c"),
    ]
    runs = read_all(rows, as_rows=True)
    assert [[m["content"] for m in run.messages] for run in runs] == [
        ["main"], ["a1"], ["b1"], ["c1", "c2"],
    ]  # fmt: skip
    streams = [
        {"type": "user", "message": user(text), "session_id": text, "parent_tool_use_id": None}
        for text in ("one", "two", "one")
    ]
    assert [len(run.messages) for run in read_all(streams, as_rows=True)] == [2, 1]


def test_claude_code_a_model_that_thinks_only_and_one_that_is_none(read):
    fake = {"id": "z", "model": "<synthetic>", "usage": {"input_tokens": 0}}
    thought = part("m1", {"type": "thinking", "thinking": "Hm."}, "a1")
    run = read([thought, cc("assistant", "Stopped.", "a2", message=fake)], as_rows=True)
    assert run.messages[0]["reasoning_content"] == "Hm."
    assert (run.model, run.usage["input_tokens"]) == ("claude-h", 7)
    asked = cc("user", "?", "u1", message={"model": "m-user"})
    assert read([asked, thought], as_rows=True).model == "claude-h"
    assert read([thought, asked], as_rows=True).model == "claude-h"


def test_claude_code_branches_are_those_of_prompts(read):
    rows = [
        cc("user", "one", "u1", "root"),
        cc("user", "note", "u2", "root", isMeta=True),
        cc("user", [back("z")], "u3", "root"),
        {"uuid": "x", "sessionId": "s1"},
    ]
    run = read(rows, as_rows=True)
    assert not any("branches" in note for note in run.notes)
    assert noted(run, "(no type)")


# ---- Codex ----------------------------------------------------------------------------------


def item(kind, **more):
    return {"timestamp": "t", "type": "response_item", "payload": {"type": kind, **more}}


def event(kind, **more):
    return {"timestamp": "t", "type": "event_msg", "payload": {"type": kind, **more}}


def spoken(role, text):
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}])


DYNAMIC = {"name": "depth", "description": "How deep", "inputSchema": {"type": "object"}}
COUNTED = {"last_token_usage": {"input_tokens": 31}, "total_token_usage": {"input_tokens": 99}}
CODEX = [
    {
        "type": "session_meta",
        "payload": {
            "id": "s",
            "base_instructions": {"text": "You are careful."},
            "dynamic_tools": [{"type": "namespace", "name": "sea", "tools": [DYNAMIC]}, DYNAMIC],
        },
    },
    {"type": "turn_context", "payload": {"cwd": "/h", "model": "gpt-h"}},
    spoken("developer", "Sandbox: read only."),
    event("user_message", message="How deep?"),
    spoken("user", "How deep?"),
    item("reasoning", summary=[{"type": "summary_text", "text": "Look."}], encrypted_content="gA"),
    event("agent_reasoning", text="Look."),
    item("function_call", name="shell", arguments='{"command": ["ls"]}', call_id="c1"),
    item("custom_tool_call", name="apply_patch", input="*** Begin", call_id="c2"),
    item("local_shell_call", id="c3", action={"type": "exec", "command": ["pwd"]}),
    item("custom_tool_call_output", call_id="c2", output="done"),
    item("function_call_output", call_id="c1", output={"content": "a.txt", "success": True}),
    item("function_call_output", call_id="c3", output=[{"type": "input_text", "text": "/h"}]),
    event("token_count", info=COUNTED),
    spoken("assistant", "4.2 metres."),
    event("agent_message", message="4.2 metres."),
]
CODEX_TALK = [
    {"role": "developer", "content": "Sandbox: read only."},
    user("How deep?"),
    calling(
        call("c1", "shell", '{"command": ["ls"]}'),
        call("c2", "apply_patch", '{"input": "*** Begin"}'),
        call("c3", "local_shell", '{"type": "exec", "command": ["pwd"]}'),
        reasoning_content="Look.",
    ),
    result("c2", "done"),
    result("c1", "a.txt"),
    result("c3", "/h"),
    said("4.2 metres."),
]


def test_codex_counts_what_is_said_twice_once(read):
    run = read(CODEX, as_rows=True)
    assert bare(run.messages) == CODEX_TALK
    assert (run.format, run.model) == ("Codex rollout", "gpt-h")
    assert run.usage == {"input_tokens": 31}
    assert [tool["function"]["name"] for tool in run.tools] == ["depth", "depth"]
    assert run.tools[0]["function"]["parameters"] == {"type": "object"}
    assert validate(run.messages) == []
    assert noted(run, "4 rows", "event_msg")
    assert noted(run, "16 characters", "beside the messages")
    assert len(run.notes) == 2


def test_codex_notes_compaction_and_what_it_leaves_out(read):
    compacted = {"type": "compacted", "payload": {"message": "", "replacement_history": []}}
    rows = [
        *CODEX,
        compacted,
        item("ghost_snapshot", ghost_commit={}),
        {"type": "world_state", "payload": {}},
        event("thread_rolled_back", num_turns=1),
        spoken("developer", "Sandbox: open."),
        item("web_search_call", status="completed", action={"query": "tide"}),
        "?",
    ]
    run = read(rows, as_rows=True)
    head = [m["content"] for m in run.messages[:3]]
    assert head == ["Sandbox: read only.", "Sandbox: open.", "How deep?"]
    assert noted(run, "A message of instructions", "at its head")
    assert run.messages[-1]["content"].startswith("[web_search: ")
    assert noted(run, "compacted at row 17")
    assert noted(run, "'ghost_snapshot'", "left out")
    assert noted(run, "world_state", "left out")
    assert noted(run, "taken back at row 20")
    assert noted(run, "Row 23 isn't an object")


def test_codex_in_its_older_flat_shape(read):
    rows = [row["payload"] for row in CODEX if row["type"] == "response_item"]
    head = {"id": "s", "timestamp": "t", "instructions": "Be brief.", "git": {}}
    run = read([head, *rows[1:4], {"record_type": "state"}, *rows[4:]], as_rows=True)
    assert bare(run.messages) == CODEX_TALK[1:]
    assert run.format == "Codex rollout"
    assert noted(run, "9 characters")
    assert not any("left out" in note for note in run.notes)


def test_codex_with_nothing_but_what_was_shown(read):
    rows = [row for row in CODEX if row["type"] == "event_msg"]
    run = read(rows, as_rows=True)
    assert bare(run.messages) == [user("How deep?"), said("4.2 metres.", reasoning_content="Look.")]
    assert noted(run, "only what was shown")


def test_codex_as_exec_prints_it(read):
    def done(kind, **more):
        return {"type": "item.completed", "item": {"id": f"i-{kind}", "type": kind, **more}}

    rows = [
        {"type": "thread.started", "thread_id": "x"},
        done("reasoning", text="Look."),
        {"type": "item.started", "item": {"id": "i", "type": "command_execution"}},
        done("command_execution", command="ls", aggregated_output="a.txt", status="completed"),
        done("mcp_tool_call", server="sea", tool="tide", arguments={"h": 1}, error="closed"),
        done("todo_list", items=[]),
        done("agent_message", text="4.2 metres."),
        {"type": "turn.completed", "usage": {"input_tokens": 5}},
    ]
    run = read(rows, as_rows=True)
    assert bare(run.messages) == [
        calling(
            call("i-command_execution", "shell", '{"command": "ls"}'), reasoning_content="Look."
        ),
        result("i-command_execution", "a.txt"),
        calling(call("i-mcp_tool_call", "tide", '{"h": 1}')),
        result("i-mcp_tool_call", "closed"),
        said("4.2 metres."),
    ]
    assert run.usage == {"input_tokens": 5}
    assert noted(run, "user asked")
    assert noted(run, "2 rows", "item.started and todo_list")


def test_codex_torn_repeated_and_empty(read, read_all):
    text = "".join(json.dumps(row) + "\n" for row in CODEX[:8]) + '{"type": "response_it'
    assert noted(read(text), "Line 9 isn't complete")
    again = [spoken("user", "?"), *(CODEX[7], CODEX[11]) * 2, CODEX[7], spoken("user", "!")]
    run = read(again, as_rows=True)
    assert [len(group) for group in turn_groups(run.messages)[1]] == [2, 2, 1, 1]
    assert noted(run, "again", "2 times")
    assert noted(run, "never answered")
    with pytest.raises(NotATranscript):
        read_all(CODEX[:2], as_rows=True)


def test_codex_other_outputs_and_settings(read):
    told = {"type": "turn_context", "payload": {"base_instructions": {"text": ""}, "model": 7}}
    rows = [
        {"type": "session_meta", "payload": json.dumps({"instructions": "Be brief."})},
        told,
        item("local_shell_call", id="i", call_id="c", action={"command": ["ls"]}),
        item("function_call_output", call_id="c", output={"content": "a"}),
        item("custom_tool_call", name="sql", input="", call_id=None, id="q"),
        {"type": "event_msg", "payload": {"type": "token_count", "info": None}},
        {"type": "response_item", "payload": None},
        {},
    ]
    run = read(rows, as_rows=True)
    assert run.messages[0]["tool_calls"][0]["id"] == "c"
    assert json.loads(run.messages[1]["content"]) == {"content": "a"}
    assert run.messages[2]["content"].startswith("[sql: ")
    assert (run.model, run.usage, run.tools) == (None, None, ())
    assert noted(run, "9 characters")
    assert noted(run, "(no type)")


@pytest.mark.parametrize(
    "rows",
    [
        [{"type": "message", "role": "user", "content": "hi"}],
        [{"id": 1, "timestamp": 2, "role": "user", "content": "hi"}],
        [{"id": 1, "timestamp": 2}, {"type": "x"}],
        [{"id": 1, "type": "message", "role": "user", "content": "hi"}, {"id": 2, "at": 3}],
        [{"type": "event", "payload": {"a": 1}}],
        [{"type": "event_msg", "payload": "x"}],
        [{"type": "item.completed"}, {"type": "item", "item": {"id": 1}}],
    ],
)
def test_codex_takes_no_other_rows(rows):
    assert not codex.recognise(rows)


def test_codex_prints_changes_and_errors(read):
    work = {"id": "f", "type": "file_change", "changes": [{"path": "a"}], "status": "failed"}
    tool = {"id": "m", "type": "mcp_tool_call", "tool": "tide", "arguments": {}, "result": "high"}
    rows = [
        {"type": "turn.started"},
        *({"type": "item.completed", "item": i} for i in (work, tool)),
    ]
    run = read(rows, as_rows=True)
    assert run.messages[0]["tool_calls"] == [
        call("f", "apply_patch", '{"changes": [{"path": "a"}]}')
    ]
    assert run.messages[1] == result("f", "failed")
    assert run.messages[3]["content"] == "high"
    assert (run.notes, run.usage) == ((), None)


def test_codex_events_that_say_nothing(read_all):
    odd = [event("user_message", message=None), event("agent_reasoning", text=None)]
    odd += [event("error", message="x"), event("note", text="x")]
    with pytest.raises(NotATranscript):
        read_all(odd, as_rows=True)


# ---- Gemini CLI -----------------------------------------------------------------------------


def answered(id, output, name="depth"):
    return [{"functionResponse": {"id": id, "name": name, "response": {"output": output}}}]


GEMINI_HEAD = {"sessionId": "s", "projectHash": "p", "startTime": "t", "lastUpdated": "t"}
GEMINI_ROWS = [
    {"id": "1", "timestamp": "t", "type": "user", "content": "How deep?"},
    {
        "id": "2",
        "type": "gemini",
        "content": "Both.",
        "toolCalls": [
            {"id": "d-1", "name": "depth", "args": {"berth": 4}, "result": answered("d-1", "4.2")},
            {"id": "d-2", "name": "depth", "args": {"berth": 5}, "result": answered("d-2", "6")},
        ],
        "thoughts": [
            {"subject": "Berths", "description": "Look them up."},
            {"description": "Both."},
        ],
        "tokens": {"input": 12, "total": 20},
        "model": "gemini-h",
    },
    {"id": "3", "type": "info", "content": "Update available."},
    {"id": "4", "type": "gemini", "content": "4.2 and 6.", "tokens": {"input": 31}},
]
GEMINI_TALK = [
    user("How deep?"),
    calling(
        call("d-1", "depth", '{"berth": 4}'),
        call("d-2", "depth", '{"berth": 5}'),
        content="Both.",
        reasoning_content="Berths: Look them up.\n\nBoth.",
    ),
    result("d-1", "4.2", name="depth"),
    result("d-2", "6", name="depth"),
    said("4.2 and 6."),
]
GEMINI_SESSION = {**GEMINI_HEAD, "messages": GEMINI_ROWS}


def test_gemini_cli_calls_stand_with_their_results(read):
    run = read(GEMINI_SESSION)
    assert run.messages == GEMINI_TALK
    assert (run.format, run.model, run.usage) == (
        "Gemini CLI session",
        "gemini-h",
        {"input": 31},
    )
    assert validate(run.messages) == []
    assert noted(run, "info", "left out")
    assert len(run.notes) == 1


def test_gemini_cli_in_rows_as_the_session_stood_at_its_end(read):
    early = {"id": "2", "type": "gemini", "content": "", "toolCalls": []}
    rows = [
        GEMINI_HEAD,
        GEMINI_ROWS[0],
        {"id": "8", "type": "gemini", "content": "Wrong."},
        {"id": "9", "type": "user", "content": "Wait."},
        {"$rewindTo": "8"},
        early,
        {"$set": {"lastUpdated": "u"}},
        *GEMINI_ROWS[1:],
    ]
    run = read(rows, as_rows=True)
    assert run.messages == GEMINI_TALK
    assert noted(run, "Row 5 goes back")
    assert noted(run, "written again later")
    assert read(rows[1:], as_rows=True).messages == GEMINI_TALK
    anew = [*rows, {"$set": {"messages": GEMINI_ROWS[3:]}}]
    assert read(anew, as_rows=True).messages == GEMINI_TALK[-1:]
    lost = read([*rows, {"$rewindTo": "gone"}, GEMINI_ROWS[3]], as_rows=True)
    assert lost.messages == GEMINI_TALK[-1:]


def test_gemini_cli_several_sessions_are_several_runs(read_all):
    runs = read_all([GEMINI_SESSION, GEMINI_SESSION], as_rows=True)
    assert [run.messages for run in runs] == [GEMINI_TALK, GEMINI_TALK]


def test_gemini_cli_parts_images_and_results_of_other_shapes(read):
    picture = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
    calls = [
        {"id": 1, "name": "a", "result": "plain"},
        {"id": 2, "name": "b", "result": [*answered("2", "see"), picture]},
        {"id": 3, "name": "c", "result": None, "status": "cancelled"},
        {"name": "d", "args": {}, "result": [{"text": "from a part"}]},
    ]
    part = {"functionCall": {"id": "1", "name": "a"}}
    rows = [
        {"id": 1, "type": "user", "content": [{"text": "look"}, picture]},
        {"id": 2, "type": "gemini", "content": [{"text": "Yes."}, part], "toolCalls": calls},
        {"id": 3, "type": "user", "content": None},
    ]
    run = read({**GEMINI_HEAD, "messages": rows})
    asked, answer, *results, last = run.messages
    assert asked["content"] == [{"type": "text", "text": "look"}, MARKER]
    assert (answer["content"], len(answer["tool_calls"])) == ("Yes.", 4)
    assert [m["tool_call_id"] for m in results] == ["1", "2", "call_1"]
    assert results[0]["content"] == "plain"
    assert results[1]["content"] == [{"type": "text", "text": "see"}, MARKER]
    assert results[2]["content"] == "from a part"
    assert last == user("")
    assert noted(run, "'3' (c) was never answered")


CONTENTS = [
    {"role": "user", "parts": [{"text": "How deep?"}]},
    {"role": "model", "parts": [{"functionCall": {"id": "x", "name": "depth", "args": {}}}]},
    {"role": "user", "parts": answered("x", "4.2")},
]


@pytest.mark.parametrize(
    "document",
    [
        {"history": CONTENTS, "authType": "oauth"},
        {"history": [{"type": "user", "text": "How deep?"}], "clientHistory": CONTENTS},
    ],
)
def test_gemini_cli_checkpoints(read, document):
    run = read(document)
    assert [m["role"] for m in run.messages] == ["user", "assistant", "tool"]
    assert (run.format, run.notes) == ("Gemini CLI checkpoint", ())


def test_qwen_code_rows(read):
    rows = [
        {"uuid": f"u{i}", "parentUuid": None, "type": "x", "message": content}
        for i, content in enumerate(CONTENTS)
    ]
    rows[1] |= {"model": "qwen-h", "usageMetadata": {"promptTokenCount": 4}}
    run = read([*rows, {"uuid": "u9", "parentUuid": "u2", "type": "system"}], as_rows=True)
    assert [m["role"] for m in run.messages] == ["user", "assistant", "tool"]
    assert (run.format, run.model) == ("Qwen Code session", "qwen-h")
    assert run.usage == {"promptTokenCount": 4}
    assert noted(run, "system", "left out")


def test_gemini_cli_rows_without_ids_and_of_no_type(read):
    rows = [
        GEMINI_HEAD,
        {"type": "user", "content": "one"},
        {"type": "gemini", "toolCalls": [{"id": "x", "name": "n"}]},
        {"type": "gemini", "content": "two", "thoughts": [{"subject": "", "description": None}]},
        {"sessionId": "s"},
    ]
    run = read(rows, as_rows=True)
    assert run.messages == [user("one"), calling(call("x", "n")), said("two")]
    assert noted(run, "(no type)")
    again = [GEMINI_HEAD, *rows[1:3], GEMINI_HEAD, rows[3]]
    assert read(again, as_rows=True).messages == run.messages
    anew = [GEMINI_HEAD, {"$set": {"messages": rows[1:4]}}]
    assert read(anew, as_rows=True).messages == run.messages
    assert read({**GEMINI_HEAD, "messages": [*rows[1:4], {"a": 1}]}).messages == run.messages


def test_gemini_cli_a_thought_in_the_content_comes_after_those_beside_it(read):
    parts = [{"text": "Aloud.", "thought": True}, {"text": "Yes."}, "No."]
    row = {"id": 1, "type": "gemini", "content": parts, "thoughts": [{"description": "First."}]}
    (message,) = read([row, row]).messages
    assert message["reasoning_content"] == "First.\n\nAloud."
    assert [part["text"] for part in message["content"]] == ["Yes.", "No."]
    one = {"id": 1, "type": "gemini", "content": {"text": "Only."}}
    assert read(one).messages == [said("Only.")]
    asked = {"id": 1, "type": "gemini", "content": [{"functionCall": {"name": "n"}}]}
    assert read(asked).messages[0]["tool_calls"][0]["function"]["name"] == "n"


@pytest.mark.parametrize(
    "document",
    [
        {"sessionId": "s", "messages": [{"type": "user", "content": "x"}]},
        {"projectHash": "p", "messages": [{"type": "user", "content": "x"}]},
        {**GEMINI_HEAD, "messages": [{"type": "user"}, {"type": "info", "content": "x"}]},
        [{"type": "user", "content": "x"}],
        [{"type": "gemini"}],
        {"history": CONTENTS},
        {"history": [], "authType": "x"},
        [{"message": CONTENTS[0]}],
        [{"parentUuid": None, "message": {"parts": [1]}}],
    ],
)
def test_gemini_cli_takes_no_other_document(document):
    assert not gemini_cli.recognise(document)


@pytest.mark.parametrize("mark", ["toolCall", "commitHash", "authType", "clientHistory"])
def test_gemini_cli_checkpoints_are_known_by_any_mark(mark):
    assert gemini_cli.recognise({"history": CONTENTS, mark: None})


# ---- Cline and Roo Code ---------------------------------------------------------------------

CLINE = [
    {**user([{"type": "text", "text": "<task>How deep?</task>"}]), "ts": 1},
    {
        **said([{"type": "text", "text": "Look."}, use("t1", "depth")]),
        "ts": 2,
        "modelInfo": {"modelId": "m-h", "providerId": "p"},
        "metrics": {"inputTokens": 9},
    },
    {**user([back("t1", "4.2"), {"type": "text", "text": "<environment_details/>"}]), "ts": 3},
    {**said([{"type": "text", "text": "4.2"}]), "ts": 4},
]


def test_cline_is_anthropic_with_what_it_knows_beside(read):
    run = read(CLINE)
    assert bare(run.messages) == [
        user("<task>How deep?</task>"),
        calling(call("t1", "depth"), content="Look."),
        result("t1", "4.2"),
        user("<environment_details/>"),
        said("4.2"),
    ]
    assert (run.format, run.model, run.usage) == ("Cline history", "m-h", {"inputTokens": 9})
    assert run.notes == ()
    tools = [{"name": "depth", "input_schema": {"type": "object"}}]
    held = read({"messages": CLINE, "system_prompt": "Be brief.", "tools": tools})
    assert held.messages[0] == {"role": "system", "content": "Be brief."}
    assert held.messages[1:] == run.messages
    assert held.tools[0]["function"]["name"] == "depth"


def test_cline_calls_in_tags_stay_text(read):
    rows = [
        user("How deep?"),
        said([{"type": "text", "text": "Hm. <read_file><path>a</path></read_file>"}]),
        user([{"type": "text", "text": "[read_file for 'a'] Result:"}, {"text": "4.2"}]),
        said("<list_files></list_files>"),
        user("[list_files] Result:\na"),
    ]
    run = read(rows)
    assert [m["role"] for m in run.messages] == ["user", "assistant"] * 2 + ["user"]
    assert not any("tool_calls" in m for m in run.messages)
    assert run.format == "Cline history"
    assert noted(run, "2 calls stand as tags")
    other = read([said("<b_c>x</b_c>"), user("[read_file] Result: x")])
    assert (other.format, other.notes) == ("OpenAI chat messages", ())
    timed = [{**user([{"text": "x"}]), "ts": 1}, calling(call("a")), {**result("a"), "ts": 2}]
    assert read(timed).format == "OpenAI chat messages"


def test_cline_summaries_and_what_was_no_longer_sent(read):
    rows = [
        {**user("old"), "condenseParent": "c"},
        {**said("older"), "truncationParent": "c"},
        {**said([{"type": "text", "text": "In short"}]), "isSummary": True, "condenseId": "c"},
        {**user("on"), "metadata": {"kind": "compaction_summary"}},
    ]
    run = read(rows)
    assert [m["content"] for m in run.messages] == ["old", "older", "In short", "on"]
    assert noted(run, "compacted at rows 3 and 4")
    assert noted(run, "Messages 1 and 2", "no longer sent")


def test_roo_code_reasoning_in_rows_of_its_own(read):
    thought = [{"type": "summary_text", "text": "Deep?"}]
    rows = [
        CLINE[0],
        {"type": "reasoning", "summary": thought, "id": "rs"},
        {"type": "reasoning", "summary": [], "encrypted_content": "gA"},
        {**CLINE[1], "reasoning_content": "Deeper."},
        CLINE[2],
        {"note": 1},
        {**said("4.2"), "reasoning_content": "Sure."},
    ]
    run = read(rows)
    assert [m.get("reasoning_content") for m in run.messages if m["role"] == "assistant"] == [
        "Deep?\n\nDeeper.",
        "Sure.",
    ]
    assert [m["content"] for m in run.messages if m["role"] == "assistant"] == ["Look.", "4.2"]
    assert noted(run, "Row 6", "isn't a message")
    assert noted(run, "encrypted")


@pytest.mark.parametrize("mark", sorted(cline.MARKS))
def test_cline_is_known_by_any_of_its_marks(mark):
    assert cline.recognise([{**user("hi"), mark: None}])
    assert cline.recognise({"conversation": [{**user("hi"), mark: None}]})
    assert not cline.recognise([user("hi"), {mark: None, "note": 1}])


def test_cline_takes_no_other_document():
    assert cline.recognise([{**user(texts("hi")), "ts": 1}])
    assert not cline.recognise([{**user("hi"), "ts": 1}])
    assert not cline.recognise([{**user(texts("hi")), "ts": "noon"}])
    assert not cline.recognise([{**user("hi"), "isSummary": 1}, {"a": 1}, {"a": 1}])
    assert not cline.recognise({"a": 1})


def test_cline_rows_in_plain_words_and_a_thought_before_the_user(read):
    text = [said(["<read_file>a</read_file>"]), user(["[read_file] Result:"]), {"note": 1}]
    assert noted(read(text), "A call stands as tags")
    thought = {"type": "reasoning", "text": "Hm."}
    rows = [{**user("?"), "isSummary": False}, thought, user("!"), {**said(None), "content": []}]
    run = read([*rows, {**said("x"), "modelInfo": {"id": "m-i"}}])
    assert not any("reasoning_content" in m for m in run.messages)
    assert run.model == "m-i"


# ---- tau-bench ------------------------------------------------------------------------------

TALK = [
    {"role": "system", "content": "Policy"},
    user("How deep?"),
    calling(call("c", "depth")),
    result("c", "4.2"),
    said("4.2"),
]


def tau(task, trial=0, traj=TALK, **more):
    return {"task_id": task, "reward": 1.0, "info": {}, "traj": traj, "trial": trial, **more}


def test_tau_bench_runs_are_named_by_task_and_trial(read_all):
    failed = tau(2, 1, [], info={"error": "Timeout", "traceback": "..."})
    stopped = tau("x", 1, TALK[:2], reward=0.0, info={"error": "Out of money"})
    runs = read_all([tau(0), failed, stopped])
    assert [run.name for run in runs] == ["log, task 0 trial 0", "log, task x trial 1"]
    assert [run.messages for run in runs] == [TALK, TALK[:2]]
    assert all(noted(run, "task 2 trial 1", "left out") for run in runs)
    assert noted(runs[0], "reward was 1.0")
    assert noted(runs[1], "stopped with an error: Out of money")
    assert runs[0].format == "tau-bench run"
    assert [run.name for run in read_all([tau(7)], as_rows=True)] == ["log, task 7 trial 0"]


def test_tau_bench_with_function_call_and_usage(read):
    asked = {"role": "assistant", "content": None, "function_call": {"name": "depth"}}
    old = [user("?"), asked, {"role": "function", "name": "depth", "content": "4.2"}]
    run = read([tau(0, traj=[*old, said("4.2", usage={"prompt_tokens": 3})])])
    assert [m["role"] for m in run.messages] == ["user", "assistant", "tool", "assistant"]
    assert validate(run.messages) == []
    assert run.usage == {"prompt_tokens": 3}
    assert noted(run, "`function_call`")


def test_tau_bench_ids_that_are_used_again(read):
    run = read([tau(0, traj=[user("?"), *TALK[2:4], *TALK[2:4]])])
    assert [len(group) for group in turn_groups(run.messages)[1]] == [2, 2]
    assert noted(run, "'c' is used again")


def test_tau_bench_of_the_second_version(read_all):
    asked = {"id": "c", "name": "depth", "arguments": {"berth": 4}, "requestor": "assistant"}
    other = {"id": "d", "name": "tide", "arguments": {}, "requestor": "assistant"}
    own = {"id": "u", "name": "restart", "arguments": {}, "requestor": "user"}
    answers = [
        {"role": "tool", "id": "d", "content": "3 cm", "requestor": "assistant"},
        {"role": "tool", "id": "c", "content": "4.2", "requestor": "assistant"},
    ]
    messages = [
        user("How deep?"),
        calling(asked, other, usage={"prompt_tokens": 8}),
        {"role": "tool", "tool_messages": answers},
        {"role": "user", "content": None, "tool_calls": [own]},
        {"role": "tool", "id": "u", "content": "on", "requestor": "user"},
        said("4.2"),
    ]
    simulation = {"id": "q", "task_id": "t1", "trial": 2, "messages": messages}
    simulation["reward_info"] = {"reward": 0.5}
    info = {"agent_info": {"llm": "gpt-h"}}
    (run,) = read_all({"info": info, "tasks": [], "simulations": [simulation]})
    assert [m["role"] for m in run.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [m["tool_call_id"] for m in run.messages[2:4]] == ["d", "c"]
    assert (run.name, run.model) == ("log, task t1 trial 2", "gpt-h")
    assert run.usage == {"prompt_tokens": 8}
    assert noted(run, "2 messages", "simulated user")
    assert noted(run, "reward was 0.5")


def test_tau_bench_without_a_word(read_all):
    with pytest.raises(NotATranscript):
        read_all([tau(0, traj=[]), tau(1, traj=[])])
    with pytest.raises(NotATranscript):
        own = {"role": "tool", "content": "on", "requestor": "user"}
        read_all([tau(0, traj=[own])])


def test_tau_bench_keeps_what_the_user_says_and_names_what_it_can(read_all):
    own = {"name": "restart", "arguments": {}, "requestor": "user"}
    spoken = {"role": "user", "content": "I restart it.", "tool_calls": [own]}
    simulation = {"task_id": 3, "trial": None, "reward_info": None}
    messages = [{"role": "user", "content": ""}, spoken, said("Good."), "?"]
    first = {**simulation, "messages": json.dumps(messages)}
    runs = read_all({"info": {"agent_info": {"llm": 4}}, "simulations": [first, {"a": 1}]})
    (run,) = runs
    assert [m["content"] for m in run.messages] == ["", "I restart it.", "Good."]
    assert (run.name, run.model) == ("log, task 3", None)
    assert not any("reward" in note or "simulated" in note for note in run.notes)
    assert noted(run, "in the run without a task")


@pytest.mark.parametrize(
    "row",
    [
        {"traj": TALK},
        {"task_id": 1, "traj": "x"},
        {"task_id": 1, "messages": TALK},
        {"task_id": 1, "messages": TALK, "trial": 1},
    ],
)
def test_tau_bench_takes_no_other_rows(row):
    assert not tau_bench.recognise([row])


# ---- SWE-agent ------------------------------------------------------------------------------


def step(n, **more):
    return {"action": f"act {n}", "observation": f"saw {n}", "response": f"said {n}", **more}


HISTORY = [
    {"role": "system", "content": "Fix it.", "agent": "main", "message_type": "system_prompt"},
    {**user("The bug"), "agent": "main"},
    {**calling(call("c1", "bash"), content="Hm."), "thought": "Hm.", "action": "ls"},
    {"role": "tool", "content": "a long list", "tool_call_ids": ["c1"]},
    said("said 2"),
    user("saw 2"),
]
SENT = [*HISTORY[:3], {**HISTORY[3], "content": "Old output omitted"}, HISTORY[4]]
SWE = {
    "environment": "main",
    "history": HISTORY,
    "trajectory": [step(1, query=HISTORY[:2]), step(2, query=SENT)],
    "info": {"exit_status": "submitted", "model_stats": {"api_calls": 2}},
    "replay_config": json.dumps({"agent": {"model": {"name": "gpt-h"}}}),
}


def test_swe_agent_reads_the_history_and_says_what_was_sent(read):
    run = read(SWE)
    assert bare(run.messages) == [
        {"role": "system", "content": "Fix it."},
        user("The bug"),
        calling(call("c1", "bash"), content="Hm."),
        result("c1", "a long list"),
        said("said 2"),
        user("saw 2"),
    ]
    assert (run.format, run.model) == ("SWE-agent trajectory", "gpt-h")
    assert noted(run, "`trajectory[i].query`", "1 of 5 messages")
    assert len(run.notes) == 1
    same = read({**SWE, "trajectory": [step(1, messages=HISTORY)]})
    assert noted(same, "(`trajectory`) is the same")
    bare_steps = read({**SWE, "trajectory": [step(1)]})
    assert (bare_steps.messages, bare_steps.notes) == (run.messages, ())


def test_swe_agent_without_a_history(read):
    rebuilt = read({"trajectory": SWE["trajectory"]})
    assert [m["content"] for m in rebuilt.messages] == [
        "Fix it.", "The bug", "Hm.", "Old output omitted", "said 2", "said 2", "saw 2",
    ]  # fmt: skip
    assert noted(rebuilt, "keeps no `history`")
    older = read({"trajectory": [step(1), step(2, messages=SENT)], "history": []})
    assert bare(older.messages)[-1] == said("said 2")
    last = [step(2, response="", thought="Hm."), step(3, response="", observation="")]
    steps = read({"trajectory": [step(1), *last]})
    assert [m["content"] for m in steps.messages] == ["said 1", "saw 1", "Hm.", "saw 2", "act 3"]
    assert noted(steps, "only the steps")


def test_swe_agent_several_attempts_and_thinking(read_all):
    thinking = {"type": "thinking", "thinking": "Deep.", "signature": "c2ln"}
    second = [*HISTORY[:2], said("Again.", thinking_blocks=[thinking])]
    attempts = [SWE, {**SWE, "history": second}]
    first, last = read_all({"attempts": attempts, **SWE})
    assert (first.name, last.name) == ("log, attempt 1", "log, attempt 2")
    assert last.messages[-1]["reasoning_content"] == "Deep."
    assert "thinking_blocks" not in last.messages[-1]
    (alone,) = read_all({"attempts": [SWE], **SWE})
    assert alone.name == "log"


MINI = {
    "info": {"mini_version": "1.1", "config": {"model": {"model_name": "gpt-h"}}},
    "messages": [
        {"role": "system", "content": "Fix it."},
        user("The bug"),
        {**said("```bash\nls\n```"), "extra": {"response": {"usage": {"prompt_tokens": 6}}}},
        {**user("<output>a</output>"), "extra": {"returncode": 0}},
        {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}},
    ],
    "trajectory_format": "mini-swe-agent-1.1",
}


def test_mini_swe_agent(read):
    run = read(MINI)
    assert [m["role"] for m in run.messages] == ["system", "user", "assistant", "user"]
    assert not any("extra" in m for m in run.messages)
    assert (run.format, run.model) == ("mini-SWE-agent trajectory", "gpt-h")
    assert run.usage == {"prompt_tokens": 6}
    assert noted(run, "'exit'", "left out")
    old = {key: value for key, value in MINI.items() if key != "trajectory_format"}
    assert read(old).format == run.format


def test_mini_swe_agent_with_calls_and_as_responses(read):
    messages = [user("The bug"), calling(call("c", "bash")), result("c", "a")]
    assert read({**MINI, "messages": messages}).messages == messages
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look."}]},
        {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"},
    ]
    rows = [
        user("The bug"),
        {"object": "response", "output": output, "usage": {"input_tokens": 4}, "extra": {}},
        {"type": "function_call_output", "call_id": "c", "output": "a", "extra": {}},
    ]
    run = read({**MINI, "messages": rows})
    assert bare(run.messages) == [
        user("The bug"), calling(call("c", "bash"), reasoning_content="Look."), result("c", "a"),
    ]  # fmt: skip
    assert run.usage == {"input_tokens": 4}


def test_swe_agent_thinking_beside_every_kind_of_content(read):
    thinking = {"type": "thinking", "thinking": "Deep."}
    contents = ["Yes.", "", None, texts("Yes.")]
    history = [said(content, thinking_blocks=[thinking]) for content in contents]
    history += [said("No.", thinking_blocks=[]), said("No.", thinking_blocks=None)]
    run = read({**SWE, "history": history, "replay_config": "[]"})
    assert [m.get("reasoning_content") for m in run.messages] == ["Deep."] * 4 + [None] * 2
    words = [[part["text"] for part in m["content"]] for m in run.messages[:4]]
    assert words == [["Yes."], [], [], ["Yes."]]
    assert run.model is None


@pytest.mark.parametrize(
    "document",
    [
        [SWE],
        {"trajectory": [{"action": "a"}, {"observation": "b"}]},
        {"messages": [user("x")], "info": {"exit_status": "x"}},
        {"messages": [user("x")], "trajectory_format": "other-1"},
        {"trajectory_format": "mini-swe-agent-1", "messages": "x"},
    ],
)
def test_swe_agent_takes_no_other_document(document):
    assert not swe_agent.recognise(document)


def test_mini_swe_agent_by_its_format_alone(read):
    run = read({"messages": MINI["messages"][:3], "trajectory_format": "mini-swe-agent-1"})
    assert (len(run.messages), run.format) == (3, "mini-SWE-agent trajectory")
    odd = [{"object": "response", "output": None}, user("x"), {"output": [1], **user("y")}]
    run = read({**MINI, "messages": odd})
    assert [m["content"] for m in run.messages] == ["x", "y"]


# ---- OpenHands ------------------------------------------------------------------------------


def response(id, *calls, content=None):
    message = {"role": "assistant", "content": content, "tool_calls": list(calls)}
    return {"id": id, "model": "m-h", "usage": {"n": 1}, "choices": [{"message": message}]}


def oh_act(id, kind, source="agent", metadata=None, **args):
    event = {"id": id, "source": source, "action": kind, "args": args, "message": "..."}
    return {**event, "tool_call_metadata": metadata} if metadata else event


def oh_see(cause, kind, content="", metadata=None, **extras):
    event = {"source": "environment", "observation": kind, "content": content, "extras": extras}
    event |= {} if cause is None else {"cause": cause}
    return {**event, "tool_call_metadata": metadata} if metadata else event


def oh_meta(id, name, answer):
    return {"tool_call_id": id, "function_name": name, "model_response": answer}


BOTH = response("r1", call("c1", "bash"), call("c2", "edit"), content="Both.")
OPENHANDS = [
    oh_act(
        0, "system", content="Be brief.", tools=[{"type": "function", "function": {"name": "b"}}]
    ),
    oh_act(1, "message", "user", content="How deep?", image_urls=[]),
    oh_act(2, "recall", "user", query="How deep?"),
    oh_act(9, "change_agent_state", "environment", agent_state="init"),
    oh_see(2, "recall", repo_instructions="..."),
    oh_see(None, "agent_state_changed", agent_state="running"),
    oh_act(3, "run", metadata=oh_meta("c1", "bash", BOTH), command="ls", thought="Both."),
    oh_act(4, "edit", metadata=oh_meta("c2", "edit", BOTH), path="a"),
    oh_see(4, "edit", "edited", oh_meta("c2", "edit", BOTH)),
    oh_see(3, "run", "a.txt", oh_meta("c1", "bash", BOTH)),
    oh_act(5, "message", content="4.2", image_urls=None, wait_for_response=True),
    oh_see(5, "null"),
]
OPENHANDS_TALK = [
    {"role": "system", "content": "Be brief."},
    user("How deep?"),
    calling(call("c1", "bash"), call("c2", "edit"), content="Both."),
    result("c2", "edited", name="edit"),
    result("c1", "a.txt", name="bash"),
    said("4.2"),
]


@pytest.mark.parametrize("pack", [list, lambda rows: {"history": rows}], ids=["list", "history"])
def test_openhands_pairs_actions_with_what_came_of_them(read, pack):
    run = read(pack(OPENHANDS))
    assert run.messages == OPENHANDS_TALK
    assert (run.format, run.model, run.usage) == ("OpenHands events", "m-h", {"n": 1})
    assert run.tools[0]["function"]["name"] == "b"
    assert validate(run.messages) == []
    assert noted(run, "5 rows", "recall, change_agent_state, agent_state_changed and null")
    assert noted(run, "at row 5 (`recall`)")
    assert len(run.notes) == 2


def test_openhands_without_the_models_answers(read):
    rows = [
        [oh_act(0, "message", "user", content="?"), oh_see(0, "null")],
        [oh_act(7, "run", command="ls", thought="Hm.", blocking=False), oh_see(7, "run", "a.txt")],
        [oh_act(8, "read", path="a", metadata={"tool_call_id": "c", "function_name": "view"})],
        oh_see(8, "read", "text"),
        oh_act(9, "finish", outputs={"content": "Done."}, thought=""),
    ]
    run = read(rows)
    assert run.messages == [
        user("?"),
        calling(call("7", "run", '{"command": "ls"}'), content="Hm."),
        result("7", "a.txt", name="run"),
        calling(call("c", "view", '{"path": "a"}')),
        result("c", "text", name="view"),
        said("Done."),
    ]
    assert noted(run, "2 calls", "run and read", "rebuilt")


def test_openhands_the_users_actions_pictures_errors_and_condensation(read):
    url = f"data:image/png;base64,{PIXEL}"
    rows = [
        oh_act(1, "message", "user", content="See", image_urls=[url]),
        oh_act(2, "run", "user", command="ls"),
        oh_see(2, "run", "a.txt"),
        oh_see(2, "null"),
        oh_act(3, "browse", metadata=oh_meta("c", "browser", response("r", call("c", "browser")))),
        oh_see(3, "browse", "page", oh_meta("c", "browser", None), screenshot=url),
        oh_see(None, "error", "It broke."),
        oh_act(4, "condensation", forgotten_event_ids=[1]),
        oh_see(99, "server_ready", "up"),
        oh_act(5, "finish", metadata=oh_meta("f", "finish", response("q", call("f", "finish")))),
        "?",
        {"id": 7},
    ]
    run = read(rows)
    assert run.messages == [
        user([{"type": "text", "text": "See"}, MARKER]),
        user('[run: {"command": "ls"}]'),
        user("a.txt"),
        calling(call("c", "browser")),
        result("c", [{"type": "text", "text": "page"}, MARKER], name="browser"),
        user("It broke."),
        calling(call("f", "finish")),
    ]
    assert noted(run, "compacted at row 8")
    assert noted(run, "user's own (run)")
    assert noted(run, "4 rows", "null, condensation, server_ready and no event")
    assert noted(run, "2 images or files")


def test_openhands_results_of_an_evaluation(read_all):
    runs = read_all([{"instance_id": i, "history": OPENHANDS} for i in range(2)], as_rows=True)
    assert [run.messages for run in runs] == [OPENHANDS_TALK, OPENHANDS_TALK]


def test_openhands_takes_no_other_rows():
    assert not openhands.recognise([{"action": "a", "observation": "b"}])
    assert not openhands.recognise([{"observation": 1, "extras": {}}, {"action": 1, "args": {}}])


def test_openhands_odd_answers_and_thoughts(read):
    empty = {"choices": [{"message": {"text": "?"}}]}
    nameless = [{**response("", call(i, "b")), "id": None} for i in "ab"]
    bookkept = {"security_risk": "LOW", "confirmation_state": "x", "hidden": 0, "is_input": 0}
    rows = [
        oh_act(
            1, "run", metadata=oh_meta("c", "bash", empty), command="ls", unset=None, **bookkept
        ),
        *(oh_act(n, "run", metadata=oh_meta(n, "b", a)) for n, a in enumerate(nameless, 2)),
        oh_see(None, "run", "ok", {"tool_call_id": "c"}),
        oh_act(4, "finish", final_thought="Done.", outputs={"content": "x"}),
        oh_act(5, "finish"),
        oh_act(6, "system", "environment", content=None),
        oh_see(None, "condense", "In short"),
    ]
    run = read(rows)
    assert run.messages == [
        calling(call("c", "bash", '{"command": "ls"}')),
        calling(call("a", "b")),
        calling(call("b", "b")),
        result("c"),
        said("Done."),
        said(""),
        {"role": "system", "content": ""},
    ]
    assert noted(run, "compacted at row 8")


@pytest.mark.parametrize("key", ["screenshot", "set_of_marks", "image_urls", "images"])
def test_openhands_pictures_under_each_of_their_keys(read, key):
    url = f"data:image/png;base64,{PIXEL}"
    extras = {key: [url, "", None] if key.startswith("image") else url}
    rows = [
        oh_act(3, "browse", url="u"),
        {**oh_see(3, "browse", **extras), "content": None},
    ]
    assert read(rows).messages[1]["content"] == [MARKER]
    rows[1]["content"] = texts("a", "b")
    contents = read(rows).messages[1]["content"]
    assert [part["text"] for part in contents] == ["a", "b", MARKER["text"]]


def sdk(kind, **more):
    return {"kind": kind, "id": "e", "timestamp": "t", **more}


def texts(*words):
    return [{"type": "text", "text": word, "cache_prompt": False} for word in words]


def sdk_act(id, answer="r1", thought=(), **more):
    asked = {"id": id, "name": "bash", "arguments": '{"n": 1}', "origin": "completion"}
    event = {"tool_call": asked, "tool_call_id": id, "tool_name": "bash", "llm_response_id": answer}
    return sdk("ActionEvent", thought=texts(*thought), action={"n": 1}, **event, **more)


SDK = [
    sdk(
        "SystemPromptEvent",
        system_prompt={"type": "text", "text": "Be brief."},
        tools=[{"type": "function", "function": {"name": "bash"}}],
    ),
    sdk("MessageEvent", source="user", llm_message={"role": "user", "content": texts("How?")}),
    sdk("ConversationStateUpdateEvent", key="a", value=1),
    sdk_act("c1", thought=["Both."], reasoning_content="Hm."),
    sdk_act("c2"),
    sdk("AgentErrorEvent", error="No such tool", tool_name="bash", tool_call_id="c2"),
    sdk(
        "ObservationEvent", observation={"content": texts("a")}, tool_name="bash", tool_call_id="c1"
    ),
    sdk("MessageEvent", source="agent", llm_message={"role": "assistant", "content": texts("4.2")}),
]
BASH = [call("c1", "bash", '{"n": 1}'), call("c2", "bash", '{"n": 1}')]
SDK_TALK = [
    {"role": "system", "content": "Be brief."},
    user("How?"),
    calling(*BASH, content="Both.", reasoning_content="Hm."),
    result("c2", "No such tool", name="bash"),
    result("c1", "a", name="bash"),
    said("4.2"),
]


def test_openhands_sdk_events(read):
    run = read(SDK)
    assert bare(run.messages) == SDK_TALK
    assert run.format == "OpenHands SDK events"
    assert run.tools[0]["function"]["name"] == "bash"
    assert validate(run.messages) == []
    assert noted(run, "ConversationStateUpdateEvent", "left out")
    assert bare(read({"events": SDK}).messages) == SDK_TALK
    assert bare(read(SDK, as_rows=True).messages) == SDK_TALK


def test_openhands_sdk_variants(read):
    url = f"data:image/png;base64,{PIXEL}"
    thinking = [{"type": "thinking", "thinking": "Deep.", "signature": "c2ln"}]
    message = {"role": "user", "content": [{"type": "image", "image_urls": [url, url]}]}
    rows = [
        sdk("MessageEvent", llm_message=message, extended_content=texts("Mind the tide.")),
        sdk_act("c1", "r1", thinking_blocks=thinking),
        sdk("ObservationEvent", observation={"output": "a"}, tool_name="bash", tool_call_id="c1"),
        {**sdk_act("c3", "r2"), "tool_call": None},
        sdk("UserRejectObservation", rejection_reason="No.", tool_call_id="c3"),
        sdk("Condensation", forgotten_event_ids=["e"]),
        sdk("CondensationSummaryEvent", summary="In short"),
    ]
    run = read(rows)
    assert run.messages[0]["content"] == [
        MARKER,
        MARKER,
        {"type": "text", "text": "Mind the tide."},
    ]
    assert run.messages[1]["reasoning_content"] == "Deep."
    assert run.messages[2]["content"] == "a"
    assert run.messages[3]["tool_calls"] == [call("c3", "bash", '{"n": 1}')]
    assert [m["content"] for m in run.messages[4:]] == ["No.", "In short"]
    assert noted(run, "compacted at row 6")
    assert read(rows[6:]).messages == [user("In short")]
    link = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    rows[0]["llm_message"]["content"] = [
        {"type": "image", "image_urls": [link["image_url"]["url"]]},
        {"type": "thinking", "text": "x"},
    ]
    assert read(rows[:1]).messages[0]["content"] == [
        link,
        {"type": "text", "text": "Mind the tide."},
    ]


@pytest.mark.parametrize(
    ("observation", "content"),
    [
        ({"content": "a"}, "a"),
        ({"text": "a"}, "a"),
        ({"message": "a"}, "a"),
        ({"exit_code": 1}, '{"exit_code": 1}'),
        ("a", "a"),
        (None, ""),
    ],
)
def test_openhands_sdk_results_of_many_shapes(read, observation, content):
    seen = sdk("ObservationEvent", observation=observation, tool_call_id="c1")
    assert read([sdk_act("c1"), seen]).messages[1] == result("c1", content)
    more = {**seen, "observation": {"content": texts("b")}, "extended_content": texts("Mind.")}
    words = [part["text"] for part in read([sdk_act("c1"), more]).messages[1]["content"]]
    assert words == ["b", "Mind."]


def test_openhands_sdk_reasoning_of_responses_and_calls_without_a_copy(read):
    item = {"id": "rs", "summary": ["Hm."], "encrypted_content": None}
    answer = {"role": "assistant", "content": texts("Yes."), "responses_reasoning_item": item}
    older = {"id": "c9", "type": "function", "function": {"name": "b", "arguments": "{}"}}
    rows = [
        {**SDK[0], "dynamic_context": {"type": "text", "text": "Today"}},
        sdk("MessageEvent", llm_message=answer, llm_response_id="r1"),
        sdk("MessageEvent", llm_message={"role": "user", "content": []}, llm_response_id="r1"),
        {**sdk_act("c9", "r1"), "tool_call": older},
        sdk("MessageEvent", llm_message=None),
        sdk(
            "MessageEvent", llm_message={"role": "assistant", "content": "x"}, llm_response_id=None
        ),
        {"kind": 4},
    ]
    run = read(rows)
    head = [part["text"] for part in run.messages[0]["content"]]
    assert head == ["Be brief.", "Today"]
    assert run.messages[1]["reasoning_content"] == "Hm."
    assert run.messages[1]["tool_calls"] == [call("c9", "b")]
    assert [m["content"] for m in run.messages[2:]] == ["", "x"]
    assert noted(run, "MessageEvent and no kind")


@pytest.mark.parametrize("event", [event for event in SDK if "State" not in event["kind"]])
def test_openhands_sdk_is_known_by_any_event_of_talk(event):
    assert openhands_sdk.recognise([event])
    assert not openhands_sdk.recognise([{**event, "kind": "PauseEvent"}])


# ---- Inspect --------------------------------------------------------------------------------


def sample(id=1, epoch=1, messages=None, **more):
    talk = [
        {"id": "a", "role": "system", "content": "Be brief."},
        {"id": "b", "role": "user", "content": "attachment://ab12", "source": "input"},
        {
            "id": "c",
            "role": "assistant",
            "content": [
                {"type": "reasoning", "reasoning": "Look."},
                {"type": "text", "text": "Yes"},
            ],
            "tool_calls": [
                {"id": "t1", "function": "depth", "arguments": {"berth": 4}, "type": "function"},
                {"id": "t2", "function": "tide", "arguments": {}},
            ],
        },
        {"id": "d", "role": "tool", "content": "4.2", "tool_call_id": "t1", "function": "depth"},
        {
            "role": "tool",
            "content": "",
            "tool_call_id": "t2",
            "function": "tide",
            "error": {"type": "timeout", "message": "Too slow"},
        },
        {"role": "user", "content": "Go on", "tool_call_id": ["t1"]},
        {"role": "assistant", "content": "4.2", "model": "m-h"},
    ]
    whole = {"id": id, "epoch": epoch, "input": "?", "target": "4.2", "scores": {}}
    call_event = {"event": "model", "tools": [{"name": "depth", "parameters": {}}], "output": {}}
    call_event["output"] = {"model": "m-h", "usage": {"input_tokens": 9}}
    return {
        **whole,
        "messages": talk if messages is None else messages,
        "attachments": {"ab12": "How deep?"},
        "events": [{"event": "state"}, call_event],
        **more,
    }


INSPECT = {"version": 2, "status": "success", "eval": {"model": "m-e"}, "samples": [sample()]}
INSPECT_TALK = [
    {"role": "system", "content": "Be brief."},
    user("How deep?"),
    calling(
        call("t1", "depth", '{"berth": 4}'),
        call("t2", "tide"),
        content=[{"type": "text", "text": "Yes"}],
        reasoning_content="Look.",
    ),
    result("t1", "4.2", name="depth"),
    result("t2", "Error: Too slow", name="tide"),
    user("Go on"),
    said("4.2"),
]


def test_inspect_samples(read):
    run = read(INSPECT)
    assert bare(run.messages) == INSPECT_TALK
    assert run.messages[4]["is_error"] is True
    assert (run.name, run.format) == ("log, sample 1 epoch 1", "Inspect sample")
    assert (run.model, run.usage) == ("m-h", {"input_tokens": 9})
    assert run.tools[0]["function"]["name"] == "depth"
    assert validate(run.messages) == []
    assert run.notes == ()


def test_inspect_a_sample_out_of_an_archive(read):
    run = read(sample("x", 2))
    assert bare(run.messages) == INSPECT_TALK
    assert run.name == "log, sample x epoch 2"


def test_inspect_names_its_samples_and_what_is_missing(read_all):
    plain = [user("?"), said("!")]
    samples = [
        sample(1, 1, plain, events=None, error={"message": "Out of time"}),
        sample(1, 2, []),
        sample("b", 1, [user("attachment://gone")], output={"usage": {"n": 1}}, events=[]),
    ]
    first, last = read_all({**INSPECT, "samples": samples})
    assert [run.name for run in (first, last)] == ["log, sample 1 epoch 1", "log, sample b epoch 1"]
    assert (first.messages, first.model) == (plain, "m-e")
    assert noted(first, "error: Out of time")
    assert all(noted(run, "sample 1 epoch 2", "left out") for run in (first, last))
    assert noted(last, "attachment://gone", "isn't in this file")
    assert last.usage == {"n": 1}
    with pytest.raises(NotATranscript):
        read_all({**INSPECT, "samples": None})


def test_inspect_pictures_hidden_reasoning_and_the_providers_tools(read):
    own = {"type": "tool_use", "tool_type": "code", "id": "w", "name": "web_search"}
    own |= {"arguments": "tide", "result": "high", "error": None, "context": "sea"}
    hidden = {"type": "reasoning", "reasoning": "gAAA", "redacted": True, "summary": "Search."}
    talk = [
        user([{"type": "image", "image": f"data:image/png;base64,{PIXEL}"}]),
        said([hidden, own, {"type": "text", "text": "High."}], tool_calls=[call("c")]),
        {"role": "tool", "content": "x", "tool_call_id": "c", "tool_error": "Broken"},
    ]
    run = read(sample(messages=talk))
    assert run.messages[0]["content"] == [MARKER]
    assert run.messages[1]["reasoning_content"] == "Search."
    told = run.messages[1]["content"]
    assert told[0]["text"] == '[web_search: {"arguments": "tide", "result": "high"}]'
    assert [part["text"] for part in told][1:] == ["High."]
    assert [part["text"] for part in run.messages[2]["content"]] == ["Error: Broken", "x"]
    assert noted(run, "web_search", "provider runs itself")


def test_an_inspect_archive_says_how_to_open_it(tmp_path):
    file = tmp_path / "log.eval"
    file.write_bytes(b"PK\x03\x04" + bytes(40))
    with pytest.raises(NotATranscript, match=r"zip archive.*unpack.*\.eval.*samples"):
        read_transcripts(file)


def test_inspect_takes_no_other_document():
    talk = [user("?")]
    assert not inspect_log.recognise({"eval": "x", "samples": [{"messages": talk}]})
    assert not inspect_log.recognise({"samples": [{"messages": talk}]})
    assert not inspect_log.recognise({"eval": {}, "samples": [{"messages": [1]}]})
    assert not inspect_log.recognise({"id": 1, "epoch": 1, "messages": talk})
    assert not inspect_log.recognise({"target": "x", "epoch": 1, "messages": talk})
    assert not inspect_log.recognise({"id": 1, "target": "x", "epoch": 1, "messages": []})
    assert not inspect_log.recognise([INSPECT])


@pytest.mark.parametrize("key", sorted(inspect_log.SAMPLE_KEYS - {"target"}))
def test_inspect_samples_are_known_by_two_of_their_keys(key):
    assert inspect_log.recognise({"id": 1, "target": "x", key: {}, "messages": [user("?")]})


def test_inspect_odd_samples(read):
    call_event = {"event": "model", "model": "m-c", "tools": None}
    own = {"type": "tool_use", "tool_type": "code", "arguments": "", "error": "No."}
    talk = [said([own, {"type": "text", "text": "x", "redacted": True}], function="f"), "?"]
    run = read(sample(messages=json.dumps(talk), events=[call_event], output=None, error="Late"))
    assert run.messages[0]["content"][0]["text"] == '[None: {"error": "No."}]'
    assert run.messages[0]["content"][1]["text"] == "x"
    assert "function" not in run.messages[0]
    assert run.model == "m-c"
    assert noted(run, "error: Late")
    assert noted(run, "(code)")
    broken = {"role": "tool", "content": "", "tool_call_id": "c", "error": {"message": "No."}}
    talk = [user("attachment://gone"), calling(call("c")), broken]
    run = read(sample(messages=talk, attachments=None, events=None))
    assert run.messages[0] == user("attachment://gone")
    assert run.messages[2] == {**result("c", "Error: No."), "is_error": True}
    bare_log = {**INSPECT, "eval": {}, "samples": [sample(messages=[user("?")], events=None)]}
    assert read(bare_log).model is None
    hidden = {"type": "reasoning", "reasoning": "gAAA", "redacted": True}
    run = read(sample(messages=[said([hidden, {"type": "text", "text": "x"}])]))
    assert "reasoning_content" not in run.messages[0]
    assert noted(run, "encrypted")


# ---- every reader ---------------------------------------------------------------------------

SESSIONS = {
    "Claude Code": CLAUDE,
    "Codex": CODEX,
    "Gemini CLI": GEMINI_SESSION,
    "Cline": CLINE,
    "tau-bench": [tau(0), tau(1)],
    "SWE-agent": SWE,
    "OpenHands": OPENHANDS,
    "OpenHands SDK": SDK,
    "Inspect": INSPECT,
}


@pytest.mark.parametrize("name", [*SESSIONS, *EACH])
def test_a_document_is_known_to_its_own_family_first(name):
    document = {**SESSIONS, **EACH}[name]
    first = next(family for family in FAMILIES if family.recognise(document))
    assert name == first.NAME


@pytest.mark.parametrize("name", SESSIONS)
def test_a_document_is_never_changed(name):
    document = copy.deepcopy(SESSIONS[name])
    runs, _ = read_document(document)
    for run in runs:
        for message in run.messages:
            message.clear()
    assert document == SESSIONS[name]


@pytest.mark.parametrize("name", ["Claude Code", "Codex", "OpenHands", "OpenHands SDK"])
def test_a_log_that_is_cut_anywhere_is_read(name, read_all):
    text = "".join(json.dumps(row) + "\n" for row in SESSIONS[name])
    whole = read_all(text)[0].messages
    seen = set()
    for end in range(len(text) // 3, len(text), 97):
        (run,) = read_all(text[:end])
        turn_groups(run.messages)
        seen.add(len(run.messages))
    assert len(seen) > 1 and max(seen) <= len(whole)


WORDS = sorted(
    {"type", "role", "content", "message", "payload", "uuid", "parentUuid", "sessionId", "id"}
    | {"isSidechain", "action", "observation", "args", "extras", "cause", "kind", "traj", "ts"}
    | {"task_id", "trajectory", "history", "messages", "trajectory_format", "samples", "eval"}
    | {"epoch", "target", "toolCalls", "result", "projectHash", "$set", "$rewindTo", "tool_calls"}
    | {"tool_call_metadata", "item", "llm_message", "thought", "parts", "simulations", "info"}
)
KINDS = ["user", "assistant", "tool", "gemini", "response_item", "event_msg", "session_meta"]
KINDS += ["message", "reasoning", "item.completed", "tool_use", "tool_result", "tool-call"]
KINDS += ["ActionEvent", "ObservationEvent", "MessageEvent", "mini-swe-agent-1", "run", "system"]
odd_json = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from([*KINDS, "", "x", "[]"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6)
    ),
    max_leaves=30,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(odd_json)
def test_any_json_of_these_words_is_read_or_refused(document):
    before = copy.deepcopy(document)
    runs, _ = read_document(document)
    assert document == before
    for run in runs:
        turn_groups(run.messages)
        assert all(isinstance(m["content"], str | list | None) for m in run.messages)
        json.dumps(run.messages)


PLACES = st.lists(st.integers(0, 40), min_size=1, max_size=4)
JUNK = st.sampled_from([None, 0, "", "x", [], {}, [None], {"type": "x"}, "[1]", True, 1.5])


def spoiled(document, places, junk):
    """The document with the value at a path, chosen by numbers, replaced."""
    if not places or not isinstance(document, dict | list) or not document:
        return junk
    keys = list(document) if isinstance(document, dict) else range(len(document))
    key = keys[places[0] % len(keys)]
    inner = spoiled(document[key], places[1:], junk)
    if isinstance(document, dict):
        return {**document, key: inner}
    return [*document[:key], inner, *document[key + 1 :]]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.sampled_from(sorted(SESSIONS)), PLACES, JUNK)
def test_a_value_of_another_type_stops_no_reader(name, places, junk):
    document = spoiled(SESSIONS[name], places, junk)
    for family in FAMILIES:
        if family.NAME in SESSIONS and family.recognise(document):
            for run in family.read(document):
                turn_groups(run.messages)
                json.dumps(run.messages)
