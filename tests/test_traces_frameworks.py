"""Readers of what frameworks and tracers write down."""

from __future__ import annotations

import base64
import copy
import json

import pytest

from course_lib.messages import turn_groups, validate
from course_lib.traces import NotATranscript, files, read_transcripts
from course_lib.traces.exchange import read_exchange
from course_lib.traces.registry import FAMILIES, read_document
from tests.test_traces import EACH as CHAT_FAMILIES

PIXEL = base64.b64encode(b"\x89PNG" + bytes(96)).decode()  # 100 bytes
MARK = {"type": "text", "text": "[image, image/png, 100 bytes]"}
SYSTEM = {"role": "system", "content": "You keep a harbour log."}
ASK = {"role": "user", "content": "How deep is berth 4?"}
CALL = {
    "id": "a1",
    "type": "function",
    "function": {"name": "depth", "arguments": '{"berth": 4}'},
}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "content": "4.2 m", "tool_call_id": "a1"}
NAMED = {**RESULT, "name": "depth"}
ANSWER = {"role": "assistant", "content": "4.2 metres."}
TALK = [SYSTEM, ASK, CALLING, RESULT, ANSWER]
NAMED_TALK = [SYSTEM, ASK, CALLING, NAMED, ANSWER]


@pytest.fixture
def runs(tmp_path):
    """The runs in a file that holds this; several rows for JSON Lines if it is a tuple."""

    def runs(data):
        file = tmp_path / "run.json"
        text = "\n".join(map(json.dumps, data)) if isinstance(data, tuple) else json.dumps(data)
        file.write_text(text, encoding="utf-8")
        return read_transcripts(file)

    return runs


@pytest.fixture
def read(runs):
    """The only run in a file that holds this."""

    def read(data):
        (run,) = runs(data)
        return run

    return read


def noted(run, *words):
    """The one note that has all the words."""
    (note,) = [note for note in run.notes if all(word in note for word in words)]
    return note


def calling(*names, content=None):
    """An answer that calls these tools, with the ids that a reader makes."""
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for n, name in enumerate(names, 1)
    ]
    return {"role": "assistant", "content": content, "tool_calls": calls}


# ---- LangChain ------------------------------------------------------------------------------

LC_FIELDS = [
    ("system", {"content": "You keep a harbour log."}),
    ("human", {"content": "How deep is berth 4?", "id": None, "example": False}),
    (
        "ai",
        {
            "content": "",
            "tool_calls": [
                {"name": "depth", "args": {"berth": 4}, "id": "a1", "type": "tool_call"}
            ],
            "additional_kwargs": {"tool_calls": [{"id": "a1", "function": {"name": "no"}}]},
            "invalid_tool_calls": [],
        },
    ),
    ("tool", {"content": "4.2 m", "tool_call_id": "a1", "status": "success", "artifact": None}),
    (
        "ai",
        {
            "content": "4.2 metres.",
            "usage_metadata": {"input_tokens": 9},
            "response_metadata": {"model_name": "m-1", "token_usage": {"total": 1}},
        },
    ),
]
CLASSES = {"system": "SystemMessage", "human": "HumanMessage", "tool": "ToolMessage"}
LC_DUMP = [{"type": kind, **fields} for kind, fields in LC_FIELDS]
LC_DICT = [{"type": kind, "data": {"type": kind, **fields}} for kind, fields in LC_FIELDS]
LC = [
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain_core", "messages", CLASSES.get(kind, "AIMessageChunk")],
        "kwargs": fields,
    }
    for kind, fields in LC_FIELDS
]


@pytest.mark.parametrize("rows", [LC_DUMP, LC_DICT, LC], ids=["dump", "dict", "lc"])
def test_langchain_in_its_spellings(read, rows):
    run = read(rows)
    assert run.messages == TALK
    assert (run.format, run.model, run.usage) == ("LangChain", "m-1", {"input_tokens": 9})
    assert run.notes == ()
    assert read({"messages": rows}).messages == TALK
    assert read(tuple(rows)).messages == TALK


def test_langchain_rows_of_a_data_base(read):
    rows = [{"id": n, "session_id": "s", "message": row} for n, row in enumerate(LC_DICT)]
    assert read(rows).messages == TALK
    packed = [{**row, "message": json.dumps(row["message"])} for row in rows]
    assert read(tuple(packed)).messages == TALK
    assert read({"SessionId": "s", "History": json.dumps(LC_DICT)}).messages == TALK


def test_langchain_calls_where_providers_keep_them(read):
    beside = {"tool_calls": [CALL]}
    run = read([LC_DUMP[1], {"type": "ai", "content": "", "additional_kwargs": beside}])
    assert run.messages == [ASK, CALLING]
    old = {"function_call": {"name": "depth", "arguments": "{}"}}
    run = read(
        [
            {"type": "AIMessage", "content": "", "additional_kwargs": old},
            {"type": "function", "name": "depth", "content": "4.2 m"},
        ]
    )
    assert run.messages == [calling("depth"), {**NAMED, "tool_call_id": "call_1"}]
    block = {"type": "tool_use", "id": "a1", "name": "depth", "input": {"berth": 4}}
    run = read([LC_DUMP[1], {"type": "ai", "content": [block]}])
    assert run.messages == [ASK, CALLING]
    chunk = {"name": "depth", "args": '{"berth": 4}', "id": "a1", "index": 0}
    run = read([LC_DUMP[1], {"type": "AIMessageChunk", "content": "", "tool_call_chunks": [chunk]}])
    assert run.messages == [ASK, CALLING]


def test_langchain_content_blocks(read):
    content = [
        {"type": "thinking", "thinking": "Look it up."},
        {"type": "reasoning", "reasoning": "Then say it."},
        "One moment.",
        {"type": "image", "base64": PIXEL, "mime_type": "image/png"},
        {"type": "non_standard", "value": {"type": "text", "text": "Done."}},
        {"type": "tool_call", "id": "a1", "name": "depth", "args": {"berth": 4}},
    ]
    run = read(
        [
            LC_DUMP[1],
            {"type": "ai", "content": content, "tool_calls": [LC_FIELDS[2][1]["tool_calls"][0]]},
        ]
    )
    texts = [{"type": "text", "text": text} for text in ("One moment.", "Done.")]
    assert run.messages[1] == {
        "role": "assistant",
        "content": [texts[0], MARK, texts[1]],
        "reasoning_content": "Look it up.\n\nThen say it.",
        "tool_calls": [CALL],
    }
    beside = {"reasoning_content": "Hm."}
    run = read([LC_DUMP[1], {"type": "ai", "content": "x", "additional_kwargs": beside}])
    assert run.messages[1]["reasoning_content"] == "Hm."


def test_langchain_tools_of_the_provider_answer_in_between(read):
    content = [
        {"type": "server_tool_call", "id": "s1", "name": "search", "args": {"q": "tide"}},
        {"type": "server_tool_result", "tool_call_id": "s1", "output": "High at noon."},
        {"type": "text", "text": "Now the depth."},
    ]
    run = read([LC_DUMP[1], {**LC_DUMP[2], "content": content}, LC_DUMP[3]])
    assert [m["role"] for m in run.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert run.messages[3] == {**CALLING, "content": "Now the depth."}
    assert validate(run.messages) == []


def test_langchain_faults_are_noted(read):
    bad = {"name": "depth", "args": '{"berth": ', "id": "a2", "error": "no JSON"}
    failed = {**LC_DUMP[3], "tool_call_id": "a2", "status": "error", "artifact": {"raw": 1}}
    run = read(
        [
            LC_DUMP[1],
            {**LC_DUMP[2], "invalid_tool_calls": [bad]},
            failed,
            {"type": "remove", "content": "", "id": "x"},
            LC_DUMP[4],
        ]
    )
    assert run.messages[1]["tool_calls"][1]["function"]["arguments"] == '{"berth": '
    assert run.messages[2]["is_error"] is True
    assert noted(run, "'a1' (depth)", "never answered")
    assert noted(run, "couldn't read")
    assert noted(run, "artifact")
    assert noted(run, "taken out of the graph's state")


def test_langchain_roles(read):
    developer = {"content": "S", "additional_kwargs": {"__openai_role__": "developer"}}
    rows = [
        {"type": "system", "data": developer},
        {"type": "chat", "data": {"content": "x", "role": "assistant"}},
        {"type": "human", "data": {"content": "y", "name": "ada"}},
    ]
    assert read(rows).messages == [
        {"role": "developer", "content": "S"},
        {"role": "assistant", "content": "x"},
        {"role": "user", "content": "y", "name": "ada"},
    ]


def snapshot(rows, step):
    return {"values": {"messages": rows}, "next": [], "metadata": {"step": step}, "tasks": []}


def test_langgraph_steps_are_read_once(runs):
    steps = [snapshot(LC_DUMP[:n], n) for n in (2, 3, 4, 5)]
    for order in (steps, steps[::-1], tuple(steps)):
        (run,) = runs(order)
        assert run.messages == TALK
        assert noted(run, "3 steps", "read once")


def test_langgraph_updates_go_on_from_each_other(read):
    updates = [
        {"messages": LC_DUMP[:2]},
        {"agent": {"messages": [{**LC_DUMP[2], "id": "m2"}]}},
        {"tools": {"messages": [LC_DUMP[3]]}},
        {"agent": {"messages": LC_DUMP[4]}},
    ]
    assert read(updates).messages == TALK
    end = {"messages": [*LC_DUMP[:2], {**LC_DUMP[2], "id": "m2"}, {**LC_DUMP[3], "id": "m3"}]}
    run = read([*updates[:3], end, {"agent": {"messages": [{**LC_DUMP[3], "id": "m3"}]}}])
    assert run.messages == TALK[:4]


def test_langgraph_updates_of_a_message_that_is_there(read):
    change = {"agent": {"messages": [{**LC_DUMP[2], "id": "m2", "content": "Changed."}]}}
    updates = [
        {"messages": LC_DUMP[:2]},
        {"agent": {"messages": [{**LC_DUMP[2], "id": "m2"}]}},
        change,
    ]
    assert read(updates).messages == TALK[:3]
    assert (
        len(read([*updates[:2], {"agent": {"messages": [{**LC_DUMP[2], "id": "m3"}]}}]).messages)
        == 4
    )


def test_langgraph_checkpoints_and_traces(read):
    saved = {"v": 1, "id": "x", "channel_values": {"messages": LC, "branch": None}}
    assert read({"checkpoint": saved, "metadata": {}}).messages == TALK
    assert read({"checkpoint": json.dumps(saved)}).messages == TALK
    smith = {
        "run_type": "llm",
        "inputs": {"messages": [LC[:2]]},
        "outputs": {"generations": [[{"text": "", "message": LC[2]}]]},
        "extra": {"invocation_params": {"tools": [{"name": "depth", "input_schema": {}}]}},
    }
    run = read(smith)
    assert run.messages == TALK[:3]
    assert run.tools[0]["function"]["name"] == "depth"


def test_langgraph_threads_stay_apart(runs):
    other = [LC_DUMP[0], {"type": "human", "content": "And berth 5?"}]
    first, second = runs([snapshot(LC_DUMP, 1), snapshot(other, 1)])
    assert (first.messages, len(second.messages)) == (TALK, 2)


# ---- LlamaIndex -----------------------------------------------------------------------------

LLAMA = [
    {
        "role": "system",
        "additional_kwargs": {},
        "blocks": [{"block_type": "text", "text": SYSTEM["content"]}],
    },
    {
        "role": "user",
        "additional_kwargs": {},
        "blocks": [{"block_type": "text", "text": ASK["content"]}],
    },
    {
        "role": "assistant",
        "additional_kwargs": {},
        "blocks": [
            {"block_type": "thinking", "content": "Look.", "num_tokens": None},
            {
                "block_type": "tool_call",
                "tool_call_id": "a1",
                "tool_name": "depth",
                "tool_kwargs": {"berth": 4},
            },
        ],
    },
    {
        "role": "tool",
        "additional_kwargs": {"tool_call_id": "a1", "name": "depth"},
        "blocks": [{"block_type": "text", "text": "4.2 m"}],
    },
    {"role": "assistant", "additional_kwargs": {}, "content": "4.2 metres."},
]
LLAMA_TALK = [SYSTEM, ASK, {**CALLING, "reasoning_content": "Look."}, NAMED, ANSWER]


def test_a_chat_store_holds_a_run_for_each_key(runs):
    store = {"store": {"ann": LLAMA, "bob": [{"role": "user", "content": "hi"}]}}
    first, second = runs({**store, "class_name": "SimpleChatStore"})
    assert first.messages == LLAMA_TALK
    assert second.messages == [{"role": "user", "content": "hi"}]
    assert second.name == "run.json, bob"
    packed = {"chat_store": json.dumps({"store": {"ann": LLAMA}}), "token_limit": 9}
    (run,) = runs(packed)
    assert (run.messages, run.notes) == (LLAMA_TALK, ())


def test_llama_index_messages_without_a_store(read):
    assert read(LLAMA).messages == LLAMA_TALK
    assert read({"chat_history": LLAMA}).messages == LLAMA_TALK
    run = read(LLAMA)
    assert run.format == "LlamaIndex"


@pytest.mark.parametrize(
    "call",
    [CALL, {"id": "a1", "type": "tool_use", "name": "depth", "input": {"berth": 4}}],
    ids=["OpenAI", "Anthropic"],
)
def test_llama_index_calls_beside_the_content(read, call):
    asked = {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": [call]}}
    back = {"role": "tool", "content": "4.2 m", "additional_kwargs": {"tool_call_id": "a1"}}
    assert read([LLAMA[1], asked, back]).messages == [ASK, CALLING, RESULT]


def test_llama_index_blocks(read):
    blocks = [
        {"block_type": "image", "image": PIXEL, "image_mimetype": "image/png", "url": None},
        {"block_type": "image", "image": None, "url": "https://example.org/a.png"},
        {"block_type": "document", "data": None, "url": "https://example.org/a.pdf"},
        {"block_type": "cache", "cache_control": {"type": "ephemeral"}},
        {"block_type": "citable", "title": "t", "content": [{"block_type": "text", "text": "c"}]},
        {"block_type": "sonar", "ping": 1},
    ]
    run = read([{"role": "user", "blocks": blocks}, {"role": "chatbot", "content": "x"}])
    assert run.messages == [
        {
            "role": "user",
            "content": [
                MARK,
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                {"type": "text", "text": "[document, https://example.org/a.pdf]"},
                {"type": "text", "text": "c"},
            ],
        },
        {"role": "assistant", "content": "x"},
    ]
    assert noted(run, "'sonar'", "left out")


# ---- Semantic Kernel ------------------------------------------------------------------------

DOT_NET = [
    {"Role": {"Label": "system"}, "Items": [{"$type": "TextContent", "Text": SYSTEM["content"]}]},
    {"Role": {"Label": "user"}, "Items": [{"$type": "TextContent", "Text": ASK["content"]}]},
    {
        "Role": {"Label": "assistant"},
        "Items": [
            {
                "$type": "FunctionCallContent",
                "Id": "a1",
                "PluginName": "Harbour",
                "FunctionName": "depth",
                "Arguments": {"berth": 4},
            }
        ],
        "ModelId": "m-2",
        "Metadata": {"Usage": {"TotalTokens": 7}},
    },
    {
        "Role": {"Label": "tool"},
        "Items": [
            {"$type": "TextContent", "Text": "4.2 m"},
            {
                "$type": "FunctionResultContent",
                "CallId": "a1",
                "PluginName": "Harbour",
                "FunctionName": "depth",
                "Result": "4.2 m",
            },
        ],
    },
    {"Role": {"Label": "assistant"}, "Content": "4.2 metres.", "Items": None},
]
KERNEL_NAME = "Harbour-depth"
KERNEL_CALL = {**CALL, "function": {**CALL["function"], "name": KERNEL_NAME}}
KERNEL_TALK = [
    SYSTEM,
    ASK,
    {**CALLING, "tool_calls": [KERNEL_CALL]},
    {**NAMED, "name": KERNEL_NAME},
    ANSWER,
]
PYTHON = {
    "messages": [
        {
            "content_type": "message",
            "role": "user",
            "items": [{"content_type": "text", "text": ASK["content"]}],
        },
        {
            "content_type": "message",
            "role": "assistant",
            "ai_model_id": "m-3",
            "items": [
                {"content_type": "reasoning", "text": "Look."},
                {
                    "content_type": "function_call",
                    "id": "a1",
                    "name": KERNEL_NAME,
                    "function_name": "depth",
                    "plugin_name": "Harbour",
                    "arguments": '{"berth": 4}',
                },
            ],
        },
        {
            "content_type": "message",
            "role": "tool",
            "items": [
                {
                    "content_type": "function_result",
                    "id": "a1",
                    "call_id": "fc_9",
                    "result": "4.2 m",
                    "name": KERNEL_NAME,
                }
            ],
        },
        {
            "content_type": "message",
            "role": "assistant",
            "items": [{"content_type": "text", "text": "4.2 metres."}],
        },
    ],
    "system_message": SYSTEM["content"],
}


def test_semantic_kernel_of_dot_net(read):
    run = read(DOT_NET)
    assert run.messages == KERNEL_TALK
    assert (run.format, run.model, run.usage) == ("Semantic Kernel", "m-2", {"TotalTokens": 7})
    lower = json.loads(
        json.dumps(DOT_NET).replace('"Role"', '"role"').replace('"Items"', '"items"')
    )
    assert read({"Messages": lower}).messages == KERNEL_TALK


def test_semantic_kernel_of_python(read):
    run = read(PYTHON)
    want = [*KERNEL_TALK]
    want[2] = {**want[2], "reasoning_content": "Look."}
    assert (run.messages, run.model) == (want, "m-3")
    first = {"content_type": "message", "role": "system", "content": SYSTEM["content"]}
    again = read({**PYTHON, "messages": [first, *PYTHON["messages"]]})
    assert again.messages == want


def test_semantic_kernel_before_items(read):
    old = {
        "ChatResponseMessage.FunctionToolCalls": [
            {"Id": "a1", "Name": KERNEL_NAME, "Arguments": '{"berth": 4}'}
        ]
    }
    back = {"ChatCompletionsToolCall.Id": "a1"}
    rows = [
        DOT_NET[1],
        {"Role": {"Label": "assistant"}, "Content": None, "Metadata": old},
        {"Role": {"Label": "tool"}, "Content": "4.2 m", "Metadata": back},
    ]
    assert read(rows).messages == [ASK, KERNEL_TALK[2], RESULT]


def test_semantic_kernel_several_results_and_pictures(read):
    results = [
        {"$type": "FunctionResultContent", "CallId": id, "Result": value}
        for id, value in (("b", {"cm": 3}), ("a", None))
    ]
    call = {"$type": "FunctionCallContent", "FunctionName": "depth", "Arguments": None}
    rows = [
        {
            "Role": {"Label": "User"},
            "AuthorName": "ada",
            "Items": [
                {"$type": "ImageContent", "Data": PIXEL, "MimeType": "image/png"},
                {"$type": "ImageContent", "Uri": "https://example.org/a.png"},
                {"$type": "SonarContent"},
            ],
        },
        {"Role": {"Label": "assistant"}, "Items": [{**call, "Id": "a"}, {**call, "Id": "b"}]},
        {"Role": {"Label": "tool"}, "Items": [*results, {"$type": "TextContent", "Text": "late"}]},
    ]
    run = read(rows)
    link = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    assert run.messages[0] == {"role": "user", "name": "ada", "content": [MARK, link]}
    texts = [{"type": "text", "text": text} for text in ('{"cm": 3}', "late")]
    assert run.messages[2:] == [
        {"role": "tool", "content": texts, "tool_call_id": "b"},
        {"role": "tool", "content": "", "tool_call_id": "a"},
    ]
    assert noted(run, "'sonar'", "left out")
    rows[2]["Role"] = {"Label": "user"}
    run = read(rows)
    assert [m["role"] for m in run.messages[2:]] == ["tool", "tool", "user"]
    assert run.messages[4]["content"] == "late"


# ---- pydantic-ai ----------------------------------------------------------------------------


def part(kind, **fields):
    return {"part_kind": kind, **fields}


PYDANTIC = [
    {
        "kind": "request",
        "parts": [
            part("system-prompt", content=SYSTEM["content"]),
            part("user-prompt", content=ASK["content"]),
        ],
    },
    {
        "kind": "response",
        "model_name": "m-4",
        "usage": {"input_tokens": 3},
        "parts": [
            part("thinking", content="Look."),
            part("tool-call", tool_name="depth", args={"berth": 4}, tool_call_id="a1"),
        ],
    },
    {
        "kind": "request",
        "parts": [part("tool-return", tool_name="depth", content="4.2 m", tool_call_id="a1")],
    },
    {"kind": "response", "parts": [part("text", content="4.2 metres.")]},
]


def test_pydantic_ai(read):
    run = read(PYDANTIC)
    assert run.messages == LLAMA_TALK
    assert (run.format, run.model, run.usage) == ("pydantic-ai", "m-4", {"input_tokens": 3})
    assert read({"usage": {}, "message_history": PYDANTIC}).messages == LLAMA_TALK
    assert read(tuple(PYDANTIC)).messages == LLAMA_TALK


def test_pydantic_ai_instructions_stand_at_the_head(read):
    said = ["Be brief.", "Be brief.", "Be kind.", None]
    rows = [
        {"kind": "request", "instructions": text, "parts": [part("user-prompt", content="x")]}
        for text in said
    ]
    run = read(rows)
    assert run.messages[0] == {"role": "system", "content": "Be kind."}
    assert len(run.messages) == 5
    assert noted(run, "instructions changed")


@pytest.mark.parametrize(
    ("args", "want"),
    [
        ('{"berth":4}', '{"berth":4}'),
        ({"args_json": '{"berth":4}'}, '{"berth":4}'),
        ({"args_dict": {"berth": 4}}, '{"berth": 4}'),
        (None, "{}"),
    ],
)
def test_pydantic_ai_arguments(read, args, want):
    row = {"kind": "response", "parts": [part("tool-call", tool_name="d", args=args)]}
    (message,) = read([row]).messages
    assert message["tool_calls"][0]["function"]["arguments"] == want


def test_pydantic_ai_retries_files_and_tools_of_the_provider(read):
    retry = part("retry-prompt", tool_name="depth", tool_call_id="a1", content=[{"msg": "int"}])
    rows = [
        PYDANTIC[1],
        {"kind": "request", "parts": [retry, part("retry-prompt", content="Plain text.")]},
        {
            "kind": "response",
            "parts": [
                part("builtin-tool-call", tool_name="search", args={}, tool_call_id="s1"),
                part("builtin-tool-return", tool_name="search", content="x", tool_call_id="s1"),
                part("file", content={"kind": "binary", "data": PIXEL, "media_type": "image/png"}),
                part("sonar"),
            ],
        },
    ]
    run = read(rows)
    assert [m["role"] for m in run.messages] == [
        "assistant",
        "tool",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert run.messages[1]["content"] == '[{"msg": "int"}]'
    assert run.messages[5]["content"] == MARK["text"]
    assert noted(run, "'sonar'", "left out")


def test_pydantic_ai_prompts_of_several_parts(read):
    picture = {"kind": "binary", "data": PIXEL, "media_type": "image/png"}
    link = {"kind": "image-url", "url": "https://example.org/a.png"}
    content = ["See", picture, link, {"kind": "cache-point"}]
    back = part("tool-return", tool_name="depth", tool_call_id="a1", content={"deep": [4.2]})
    shot = part("tool-return", tool_name="shot", tool_call_id="a2", content=[picture])
    run = read(
        [
            {"kind": "request", "parts": [part("user-prompt", content=content), part("x")]},
            {"kind": "request", "parts": [back, shot]},
        ]
    )
    assert run.messages[0]["content"] == [
        {"type": "text", "text": "See"},
        MARK,
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]
    assert [m["content"] for m in run.messages[1:]] == ['{"deep": [4.2]}', MARK["text"]]
    assert noted(run, "'x'", "left out")
    assert noted(run, "'a1' and 'a2'", "answer no call")
    more = [
        {"kind": "uploaded-file", "file_id": "f1"},
        {"kind": "text-content", "content": "t"},
        {"kind": "sonar"},
        7,
    ]
    run = read([{"kind": "request", "parts": [part("user-prompt", content=more)]}])
    assert [part["text"] for part in run.messages[0]["content"]] == ["[file, f1]", "t"]
    assert noted(run, "'sonar' and 'int'", "left out")


def test_pydantic_ai_of_the_first_versions(read):
    rows = [
        {"role": "system", "content": SYSTEM["content"]},
        {"role": "user", "content": ASK["content"]},
        {
            "role": "model-structured-response",
            "calls": [
                {"tool_name": "depth", "args": {"args_json": '{"berth": 4}'}, "tool_id": "a1"}
            ],
        },
        {"role": "tool-return", "tool_name": "depth", "content": "4.2 m", "tool_id": "a1"},
        {"role": "model-text-response", "content": "4.2 metres."},
    ]
    assert read(rows).messages == NAMED_TALK


def test_a_pydantic_ai_call_without_a_result_is_named(read):
    run = read([*PYDANTIC[:2], PYDANTIC[0], PYDANTIC[3]])
    assert noted(run, "'a1' (depth)", "never answered")


# ---- OpenTelemetry --------------------------------------------------------------------------


def said(role, *parts):
    return {"role": role, "parts": list(parts)}


def words(text):
    return {"type": "text", "content": text}


ASKED = [
    said("user", words(ASK["content"])),
    said(
        "assistant", {"type": "tool_call", "id": "a1", "name": "depth", "arguments": {"berth": 4}}
    ),
    said("tool", {"type": "tool_call_response", "id": "a1", "response": "4.2 m"}),
]
ANSWERED = [{**said("assistant", words("4.2 metres.")), "finish_reason": "stop"}]
SCHEMA = {"name": "depth", "description": "How deep", "parameters": {"type": "object"}}
ATTRIBUTES = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m-5",
    "gen_ai.usage.input_tokens": 31,
    "gen_ai.system_instructions": json.dumps([words(SYSTEM["content"])]),
    "gen_ai.input.messages": json.dumps(ASKED),
    "gen_ai.output.messages": json.dumps(ANSWERED),
    "gen_ai.tool.definitions": json.dumps([{"type": "function", **SCHEMA}]),
}
FIRST = {
    **ATTRIBUTES,
    "gen_ai.input.messages": json.dumps(ASKED[:1]),
    "gen_ai.output.messages": json.dumps(ASKED[1:2]),
}


def value(plain):
    if isinstance(plain, bool):
        return {"boolValue": plain}
    if isinstance(plain, int):
        return {"intValue": str(plain)}
    if isinstance(plain, list):
        return {"arrayValue": {"values": [value(item) for item in plain]}}
    if isinstance(plain, dict):
        return {"kvlistValue": {"values": pairs(plain)}}
    return {"stringValue": plain}


def pairs(plain):
    return [{"key": key, "value": value(item)} for key, item in plain.items()]


def otlp(*attributes, trace="t1", events=()):
    spans = [
        {
            "traceId": trace,
            "spanId": f"{trace}-{n}",
            "startTimeUnixNano": str(1000 - n),  # in the order of their ends, say
            "attributes": pairs(told),
            "events": list(events),
        }
        for n, told in enumerate(attributes)
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]}


def flat_span(attributes, n=0, **more):
    context = {"trace_id": "0x1", "span_id": f"0x{n}"}
    start = f"2026-01-01T00:00:0{n}Z"
    return {
        "name": "chat",
        "context": context,
        "start_time": start,
        "attributes": attributes,
        **more,
    }


def test_otel_messages_in_a_span(read):
    run = read(otlp({"http.url": "x"}, ATTRIBUTES))
    assert run.messages == TALK
    assert (run.format, run.model) == ("OpenTelemetry traces", "m-5")
    assert run.usage == {"input_tokens": 31}
    assert run.tools == ({"type": "function", "function": SCHEMA},)
    assert read(flat_span(ATTRIBUTES)).messages == TALK


def test_otel_attributes_with_structure(read):
    told = {**ATTRIBUTES, "gen_ai.input.messages": ASKED, "gen_ai.output.messages": ANSWERED}
    assert read(otlp(told)).messages == TALK
    assert read([flat_span(told)]).messages == TALK


def test_otel_requests_of_a_trace_are_one_run(runs):
    whole, first = runs(otlp(ATTRIBUTES, FIRST))
    assert (whole.messages, first.messages) == (TALK, TALK[:3])
    assert noted(whole, "An earlier request of this run")
    assert not first.notes
    rows = (flat_span(ATTRIBUTES, 2), flat_span(FIRST, 1))
    assert [run.messages for run in runs(rows)] == [TALK, TALK[:3]]


def test_otel_traces_stay_apart_and_agents_are_not_read_twice(runs):
    agent = {**ATTRIBUTES, "gen_ai.operation.name": "invoke_agent"}
    tool = {**ATTRIBUTES, "gen_ai.operation.name": "execute_tool"}
    both = (otlp(FIRST, agent, tool), otlp(ATTRIBUTES, trace="t2"))
    assert [run.messages for run in runs(both)] == [TALK[:3], TALK]
    (run,) = runs(otlp(agent))
    assert run.messages == TALK


def event(name, **fields):
    return {"name": f"gen_ai.{name}", "timeUnixNano": "5", "attributes": pairs(fields)}


EVENTS = [
    event("system.message", content=SYSTEM["content"]),
    event("user.message", content=ASK["content"]),
    event("assistant.message", tool_calls=json.dumps([CALL])),
    event("tool.message", content="4.2 m", id="a1"),
    event("choice", index=0, message=json.dumps(ANSWER)),
    event("choice", index=1, message=json.dumps({"role": "assistant", "content": "Four."})),
]
CHAT = {"gen_ai.operation.name": "chat"}


def test_otel_events_of_a_span(read):
    assert read(otlp(CHAT, events=EVENTS)).messages == TALK
    listed = [
        {
            "event.name": e["name"],
            **{p["key"]: p["value"].get("stringValue") for p in e["attributes"]},
        }
        for e in EVENTS[:5]
    ]
    assert read(flat_span({**CHAT, "events": json.dumps(listed)})).messages == TALK


def test_otel_log_records(read):
    bodies = [
        ("gen_ai.system.message", {"content": SYSTEM["content"]}),
        ("gen_ai.user.message", {"content": ASK["content"]}),
        ("gen_ai.assistant.message", {"tool_calls": [CALL]}),
        ("gen_ai.tool.message", {"content": "4.2 m", "id": "a1"}),
        ("gen_ai.choice", {"index": 0, "message": {"content": "4.2 metres."}}),
    ]
    records = [
        {
            "timeUnixNano": str(n),
            "traceId": "t",
            "spanId": "s",
            "body": value(body),
            "attributes": pairs({"event.name": name}),
        }
        for n, (name, body) in enumerate(bodies)
    ]
    assert read({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).messages == TALK
    for record in records:
        record["eventName"] = record.pop("attributes")[0]["value"]["stringValue"]
    assert read(tuple(records)).messages == TALK


def test_otel_details_in_an_event(read):
    told = {key: item for key, item in ATTRIBUTES.items() if "messages" in key}
    details = event(
        "client.inference.operation.details", **{k: json.loads(v) for k, v in told.items()}
    )
    rest = {key: item for key, item in ATTRIBUTES.items() if key not in told}
    assert read(otlp(rest, events=[details])).messages == TALK


def test_otel_prompts_by_number(read):
    told = {
        "llm.request.type": "chat",
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": SYSTEM["content"],
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": ASK["content"],
        "gen_ai.prompt.2.role": "assistant",
        "gen_ai.prompt.2.tool_calls.0.id": "a1",
        "gen_ai.prompt.2.tool_calls.0.name": "depth",
        "gen_ai.prompt.2.tool_calls.0.arguments": '{"berth": 4}',
        "gen_ai.prompt.3.role": "tool",
        "gen_ai.prompt.3.content": "4.2 m",
        "gen_ai.prompt.3.tool_call_id": "a1",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "4.2 metres.",
        "llm.request.functions.0.name": "depth",
        "llm.request.functions.0.description": "How deep",
        "llm.request.functions.0.parameters": json.dumps({"type": "object"}),
    }
    run = read(otlp(told))
    assert run.messages == TALK
    assert run.tools == ({"type": "function", "function": SCHEMA},)
    mixed = {key: told[key] for key in reversed(told)}
    assert read(flat_span(mixed)).messages == TALK


INFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "m-6",
    "llm.token_count.prompt": 12,
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.content": SYSTEM["content"],
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.contents.0.message_content.type": "text",
    "llm.input_messages.1.message.contents.0.message_content.text": ASK["content"],
    "llm.input_messages.2.message.role": "assistant",
    "llm.input_messages.2.message.tool_calls.0.tool_call.id": "a1",
    "llm.input_messages.2.message.tool_calls.0.tool_call.function.name": "depth",
    "llm.input_messages.2.message.tool_calls.0.tool_call.function.arguments": '{"berth": 4}',
    "llm.input_messages.3.message.role": "tool",
    "llm.input_messages.3.message.content": "4.2 m",
    "llm.input_messages.3.message.tool_call_id": "a1",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "4.2 metres.",
    "llm.tools.0.tool.json_schema": json.dumps({"type": "function", "function": SCHEMA}),
}


def plain(messages):
    """The messages with a content of one text as that text."""
    return [
        {**m, "content": m["content"][0]["text"]}
        if isinstance(m["content"], list) and len(m["content"]) == 1
        else m
        for m in messages
    ]


def test_openinference_flat_and_nested(read):
    run = read(otlp(INFERENCE))
    assert plain(run.messages) == TALK
    assert (run.model, run.usage) == ("m-6", {"prompt": 12})
    assert run.tools == ({"type": "function", "function": SCHEMA},)
    rows = [{"message": {"role": m["role"], "content": m["content"]}} for m in (SYSTEM, ASK)]
    nested = {
        "openinference": {"span": {"kind": "LLM"}},
        "llm": {"input_messages": rows, "output_messages": [{"message": ANSWER}]},
    }
    assert read(flat_span(nested)).messages == [SYSTEM, ASK, ANSWER]
    column = [{"message.role": m["role"], "message.content": m["content"]} for m in (SYSTEM, ASK)]
    table = {
        "context.trace_id": "t",
        "start_time": 1,
        "attributes.openinference.span.kind": "LLM",
        "attributes.llm.input_messages": column,
        "attributes.llm.output_messages": json.dumps(
            [{"message.role": "assistant", "message.content": "4.2 metres."}]
        ),
    }
    assert read([table]).messages == [SYSTEM, ASK, ANSWER]


def test_openinference_pictures_and_more_than_ten_messages(read):
    told = {"openinference.span.kind": "LLM"}
    for n in range(12):
        told[f"llm.input_messages.{n}.message.role"] = "user"
        told[f"llm.input_messages.{n}.message.content"] = str(n)
    at = "llm.input_messages.12.message"
    told[f"{at}.role"] = "user"
    told[f"{at}.contents.0.message_content.type"] = "image"
    told[f"{at}.contents.0.message_content.image.image.url"] = f"data:image/png;base64,{PIXEL}"
    run = read(otlp(told))
    assert [m["content"] for m in run.messages[:12]] == [str(n) for n in range(12)]
    assert run.messages[12]["content"] == [MARK]


def test_openinference_spans_that_hold_only_values(read):
    asked = {"messages": [ASK], "model": "m-7", "tools": [{"type": "function", "function": SCHEMA}]}
    answered = {"choices": [{"message": ANSWER}], "usage": {"total_tokens": 4}}
    told = {
        "openinference.span.kind": "LLM",
        "input.value": json.dumps(asked),
        "output.value": json.dumps(answered),
    }
    run = read(otlp(told))
    assert (run.messages, run.model) == ([ASK, ANSWER], "m-7")
    assert run.usage == {"total_tokens": 4}
    assert len(run.tools) == 1


def test_otel_spans_without_messages_are_refused(runs):
    with pytest.raises(NotATranscript, match="resourceSpans"):
        runs(otlp({"http.url": "x"}))


def test_genai_parts(read):
    parts = [
        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": PIXEL},
        {"type": "uri", "modality": "image", "uri": "https://example.org/a.png"},
        {"type": "uri", "uri": "https://example.org/a.pdf"},
        {"type": "document-url", "url": "https://example.org/b.pdf"},
        {"type": "file", "file_id": "f1"},
        {"type": "sonar"},
    ]
    thought = {"type": "reasoning", "content": "Look."}
    run = read([said("user", *parts), said("assistant", thought, *ASKED[1]["parts"]), *ASKED[2:]])
    link = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    files = [
        "[file, https://example.org/a.pdf]",
        "[document, https://example.org/b.pdf]",
        "[file, f1]",
    ]
    linked = [{"type": "text", "text": text} for text in files]
    assert run.messages == [
        {"role": "user", "content": [MARK, link, *linked]},
        {**CALLING, "reasoning_content": "Look."},
        RESULT,
    ]
    assert noted(run, "'sonar'", "left out")


def test_genai_results_in_a_message_of_the_users(read):
    calls = [{"type": "tool_call", "id": id, "name": "d"} for id in "ab"]
    results = [{"type": "tool_call_response", "id": id, "result": {"n": id}} for id in "ba"]
    run = read([said("assistant", *calls), said("user", *results, words("And?"))])
    assert [m["role"] for m in run.messages] == ["assistant", "tool", "tool", "user"]
    assert run.messages[1] == {"role": "tool", "content": '{"n": "b"}', "tool_call_id": "b"}


def test_otel_agents_of_pydantic_ai_keep_the_whole_talk(read):
    whole = [said("system", words(SYSTEM["content"])), *ASKED, *ANSWERED]
    agent = {"agent_name": "log", "pydantic_ai.all_messages": json.dumps(whole)}
    assert read(otlp(agent)).messages == TALK


def test_otel_spans_of_adk(runs):
    asked = {
        "model": "g-3",
        "config": {"system_instruction": SYSTEM["content"]},
        "contents": [{"role": "user", "parts": [{"text": ASK["content"]}]}],
    }
    answered = {"content": {"role": "model", "parts": [{"text": "4.2 metres."}]}}
    request = {
        "gcp.vertex.agent.llm_request": json.dumps(asked),
        "gcp.vertex.agent.llm_response": json.dumps(answered),
    }
    tool = {"gen_ai.operation.name": "execute_tool", "gcp.vertex.agent.llm_request": "{}"}
    agent = {
        "gen_ai.input.messages": json.dumps(ASKED[:1]),
        "gen_ai.operation.name": "invoke_agent",
    }
    (run,) = runs(otlp(request, tool, agent))
    assert (run.messages, run.model) == ([SYSTEM, ASK, ANSWER], "g-3")


@pytest.mark.parametrize(
    "key", ["startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time"]
)
@pytest.mark.parametrize("times", [("999", "1000"), (999, 1000), ("2026-01-01", "2026-01-02")])
def test_otel_spans_in_the_order_of_their_starts(runs, key, times):
    asked = [{**FIRST, "gen_ai.input.messages": [said("user", words(text))]} for text in "ab"]
    spans = [{"trace_id": 7, key: t, "attributes": a} for t, a in zip(times, asked, strict=True)]
    assert [run.messages[1]["content"] for run in runs(spans[::-1])] == ["a", "b"]


def test_otel_log_records_of_two_requests(runs):
    records = [
        {
            "timeUnixNano": time,
            "traceId": "t",
            "spanId": span,
            "eventName": "gen_ai.user.message",
            "body": value({"content": text}),
        }
        for time, span, text in (("1", "s1", "a"), ("2", "s2", "b"))
    ]
    assert [run.messages[0]["content"] for run in runs(records)] == ["a", "b"]


def test_otel_times_as_javascript_writes_them(runs):
    late, early = [1760000000, 900], [1760000000, 100]
    spans = [
        {"traceId": "t", "startTime": time, "attributes": told}
        for time, told in (
            (late, ATTRIBUTES),
            (early, {**FIRST, "gen_ai.input.messages": ASKED[:1]}),
        )
    ]
    spans[1]["attributes"]["gen_ai.output.messages"] = [said("assistant", words("Which berth?"))]
    assert [run.messages[-1]["content"] for run in runs(spans)] == ["Which berth?", "4.2 metres."]


def test_otel_events_whose_body_is_text(read):
    record = {"timeUnixNano": "1", "traceId": "t", "spanId": "s", "attributes": []}
    records = [
        {**record, "eventName": "gen_ai.user.message", "body": value(ASK["content"])},
        {**record, "eventName": "gen_ai.choice", "body": value("4.2 metres.")},
    ]
    assert read({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).messages == [
        ASK,
        ANSWER,
    ]


def test_genai_results_without_a_part_of_their_own(read):
    run = read([*ASKED[:2], said("tool", words("4.2 m")), said("user", "And", words("then?"))])
    assert run.messages[2] == RESULT
    assert [part["text"] for part in run.messages[3]["content"]] == ["And", "then?"]


# ---- Langfuse -------------------------------------------------------------------------------


def observation(asked, answered, n=0, kind="GENERATION", trace="t1", **more):
    return {
        "id": f"o{n}",
        "traceId": trace,
        "type": kind,
        "startTime": f"2026-01-01T00:00:0{n}Z",
        "input": asked,
        "output": answered,
        "model": "m-8",
        "usageDetails": {"input": 5},
        "metadata": "{}",
        **more,
    }


TRACE = {"id": "t1", "name": "run", "sessionId": "s", "userId": None, "projectId": "p"}
TRACED = [
    observation(json.dumps(json.dumps(TALK[:4])), json.dumps(ANSWER), 2),
    observation(json.dumps(TALK[:2]), json.dumps(json.dumps(CALLING)), 1),
    observation('"{}"', '"4.2 m"', 3, "TOOL"),
]
LANGFUSE = {"trace": {**TRACE, "input": None, "output": "{}"}, "observations": TRACED}


def test_langfuse(runs):
    whole, first = runs(LANGFUSE)
    assert (whole.messages, first.messages) == (TALK, TALK[:3])
    assert (whole.format, whole.model, whole.usage) == ("Langfuse traces", "m-8", {"input": 5})
    assert noted(whole, "earlier request")
    assert [run.messages for run in runs(TRACED)] == [TALK, TALK[:3]]
    assert [run.messages for run in runs({"data": TRACED, "meta": {}})] == [TALK, TALK[:3]]
    snake = [
        {
            "trace_id": "t",
            "type": "GENERATION",
            "start_time": "1",
            "input": TALK[:4],
            "output": ANSWER,
        }
    ]
    assert runs(snake)[0].messages == TALK
    assert runs(TRACED[0])[0].messages == TALK


def test_langfuse_traces_stay_apart(runs):
    other = observation([ASK], "4.2 metres.", 9, trace="t2")
    found = runs((*TRACED, other))
    assert [run.messages for run in found] == [TALK, TALK[:3], [ASK, ANSWER]]
    found = runs([LANGFUSE, {**LANGFUSE, "observations": [other]}])
    assert [run.messages for run in found] == [TALK, TALK[:3], [ASK, ANSWER]]


def test_langfuse_tools_among_the_messages(runs):
    listed = {"role": "tool", "content": {"type": "function", "function": SCHEMA}}
    (run,) = runs([observation([*TALK[:4], listed], ANSWER)])
    assert run.messages == TALK
    assert run.tools == (listed["content"],)


@pytest.mark.parametrize(
    "answered",
    [
        ANSWER,
        [ANSWER],
        "4.2 metres.",
        {"content": "4.2 metres."},
        {"choices": [{"message": ANSWER}]},
        [{"message": ANSWER}],
        [said("assistant", words("4.2 metres."))],
        LC_DUMP[4],
        LC[4],
        [*TALK[:4], ANSWER],
    ],
)
def test_langfuse_answers_in_their_shapes(runs, answered):
    (run,) = runs([observation(TALK[:4], answered)])
    assert run.messages == TALK


@pytest.mark.parametrize(
    "asked",
    [
        TALK[:4],
        {"messages": TALK[:4]},
        LC_DUMP[:4],
        {"messages": [LC[:4]]},
        [said("system", words(SYSTEM["content"])), *ASKED],
    ],
)
def test_langfuse_requests_in_their_shapes(runs, asked):
    (run,) = runs([observation(asked, ANSWER)])
    assert run.messages == TALK


def test_langfuse_calls_alone_and_rows_that_are_no_messages(runs):
    (run,) = runs([observation(TALK[:2], [CALL])])
    assert run.messages == TALK[:3]
    (run,) = runs([observation([ASK, {"note": 1}], {"messages": [ANSWER]})])
    assert run.messages == [ASK, ANSWER]
    assert noted(run, "Row 2")
    with pytest.raises(NotATranscript):
        runs([observation(7, "x"), observation({}, {})])


def test_langfuse_requests_that_are_the_same_stand_after_each_other(runs):
    again = [observation([ASK], ANSWER, n) for n in (1, 2)]
    whole, first = runs(again)
    assert whole.messages == first.messages == [ASK, ANSWER]
    assert noted(whole, "earlier request")


def test_langfuse_requests_of_plain_strings(runs):
    (run,) = runs([observation([ASK["content"], ASK], "4.2 metres.")])
    assert run.messages == [ASK, ASK, ANSWER]


def test_instructions_beside_items_of_the_responses_interface():
    run = read_exchange([ASK, ITEM, OUTPUT], {"output": [SPOKEN]}, system=SYSTEM["content"])
    assert run.messages == TALK
    assert read_exchange(None, None) is None


def test_langfuse_structured_answers_and_plain_prompts(runs):
    (run,) = runs([observation("How deep?", {"deep": 4.2})])
    assert run.messages == [
        {"role": "user", "content": "How deep?"},
        {"role": "assistant", "content": '{"deep": 4.2}'},
    ]


def test_langfuse_requests_of_other_providers(runs):
    gemini = {
        "model": "g-1",
        "config": {"system_instruction": SYSTEM["content"]},
        "contents": [{"role": "user", "parts": [{"text": ASK["content"]}]}],
    }
    answer = {"content": {"role": "model", "parts": [{"text": "4.2 metres."}]}}
    (run,) = runs([observation(json.dumps(json.dumps(gemini)), json.dumps(answer))])
    assert run.messages == [SYSTEM, ASK, ANSWER]
    items = [
        ASK,
        {"type": "function_call", "call_id": "a1", "name": "depth", "arguments": '{"berth": 4}'},
        {"type": "function_call_output", "call_id": "a1", "output": "4.2 m"},
    ]
    message = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "4.2 metres."}],
    }
    response = {"object": "response", "instructions": SYSTEM["content"], "output": [message]}
    (run,) = runs([observation(items, response)])
    assert run.messages == TALK
    blocks = [{"type": "tool_use", "id": "a1", "name": "depth", "input": {"berth": 4}}]
    back = [{"type": "tool_result", "tool_use_id": "a1", "content": "4.2 m"}]
    rows = [ASK, {"role": "assistant", "content": blocks}, {"role": "user", "content": back}]
    (run,) = runs([observation({"system": SYSTEM["content"], "messages": rows}, ANSWER)])
    assert run.messages == TALK


def test_langfuse_states_of_a_graph_are_the_run(runs):
    states = [
        observation({"messages": LC_DUMP[:2]}, {"messages": LC_DUMP}, 0, "CHAIN"),
        observation(json.dumps({"messages": LC_DUMP[:2]}), {"messages": [LC_DUMP[2]]}, 1, "SPAN"),
        observation(
            [{"role": "user", "content": "Be kind."}, ASK],
            {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": [CALL]}},
            2,
            modelParameters={"tools": json.dumps([SCHEMA])},
        ),
        observation([{"role": "user", "content": "Is it polite?"}], "Yes.", 3),
    ]
    state, apart = runs(states)
    assert state.messages == TALK
    assert (state.model, len(state.tools)) == ("m-1", 1)
    assert noted(state, "read once")
    assert [m["content"] for m in apart.messages] == ["Is it polite?", "Yes."]


def test_langfuse_without_requests_reads_what_there_is(runs):
    attributes = {"gen_ai.input.messages": ASKED, "gen_ai.output.messages": ANSWERED}
    (run,) = runs([observation(None, None, metadata=json.dumps({"attributes": attributes}))])
    assert run.messages == TALK[1:]
    (run,) = runs({**TRACE, "input": TALK[:4], "output": ANSWER})
    assert run.messages == TALK
    (run,) = runs([observation({"messages": TALK[:4]}, ANSWER, kind="AGENT")])
    assert run.messages == TALK


# ---- OpenAI Agents SDK ----------------------------------------------------------------------

ITEM = {"type": "function_call", "call_id": "a1", "name": "depth", "arguments": '{"berth": 4}'}
OUTPUT = {"type": "function_call_output", "call_id": "a1", "output": "4.2 m"}
SPOKEN = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "4.2 metres."}],
}


def agent_span(n, **data):
    return {
        "object": "trace.span",
        "id": f"span_{n}",
        "trace_id": "trace_1",
        "started_at": f"2026-01-01T00:00:0{n}Z",
        "span_data": data,
    }


def test_openai_agents_spans(runs):
    answer = {"object": "response", "model": "m-9", "output": [SPOKEN]}
    spans = [
        {"object": "trace", "id": "trace_1", "workflow_name": "w"},
        agent_span(
            3, type="response", response_id="r2", input=[ASK, ITEM, OUTPUT], response=answer
        ),
        agent_span(2, type="function", name="depth", input='{"berth": 4}', output="4.2 m"),
        agent_span(1, type="generation", input=TALK[:2], output=[CALLING], model="m-9"),
    ]
    for document in ({"data": spans}, spans, tuple(spans)):
        first, second = runs(document)
        assert (first.messages, second.messages) == (TALK[:3], TALK[1:])
        assert (first.format, second.model) == ("OpenAI Agents SDK", "m-9")


def test_openai_agents_spans_that_name_answers_only_by_id(read):
    spans = [
        agent_span(1, type="response", response_id="r1"),
        agent_span(2, type="function", name="depth", input='{"berth": 4}', output="4.2 m"),
    ]
    run = read({"data": spans})
    made = {**CALL, "id": "call_1"}
    assert run.messages == [{**CALLING, "tool_calls": [made]}, {**RESULT, "tool_call_id": "call_1"}]
    assert noted(run, "by their ids only")


def test_openai_agents_items_of_a_run(read):
    items = [
        {"type": "tool_call_item", "agent": {"name": "a"}, "raw_item": ITEM},
        {"type": "tool_call_output_item", "raw_item": OUTPUT, "output": "4.2 m"},
        {"type": "message_output_item", "raw_item": SPOKEN},
    ]
    result = {
        "input": ASK["content"],
        "new_items": items,
        "raw_responses": [{"usage": {"total_tokens": 8}}],
    }
    run = read(result)
    assert (run.messages, run.usage) == (TALK[1:], {"total_tokens": 8})
    back = {
        "type": "function_call_result",
        "callId": "a1",
        "output": {"type": "text", "text": "4.2 m"},
    }
    call = {"type": "function_call", "callId": "a1", "name": "depth", "arguments": '{"berth": 4}'}
    state = {
        "$schemaVersion": "1.0",
        "originalInput": [ASK],
        "generatedItems": [{"type": "x", "rawItem": raw} for raw in (call, back, SPOKEN)],
    }
    assert read(state).messages == TALK[1:]
    snake = {"original_input": ASK["content"], "generated_items": items}
    assert read(snake).messages == TALK[1:]


def test_openai_agents_sessions(read, runs):
    rows = [
        {"id": n, "session_id": "s", "message_data": json.dumps(item)}
        for n, item in enumerate([ASK, ITEM, OUTPUT, SPOKEN])
    ]
    assert read(rows).messages == TALK[1:]
    assert read(tuple(rows)).messages == TALK[1:]
    other = {"id": 9, "session_id": "t", "message_data": json.dumps(ASK)}
    found = runs([other, *rows])
    assert [(run.name, run.messages) for run in found] == [
        ("run.json, t", [ASK]),
        ("run.json, s", TALK[1:]),
    ]
    assert (
        read({"agent_sessions": [{"session_id": "s"}], "agent_messages": rows}).messages == TALK[1:]
    )


# ---- Google ADK -----------------------------------------------------------------------------


def adk_event(author, *parts, role=None, **more):
    content = {"parts": list(parts)} | ({"role": role} if role else {})
    return {"author": author, "actions": {}, "invocation_id": "e", "content": content, **more}


SESSION = {
    "app_name": "harbour",
    "events": [
        adk_event("user", {"text": ASK["content"]}),
        {"author": "agent", "actions": {"state_delta": {"a": 1}}, "content": None},
        adk_event("agent", {"function_call": {"id": "a1", "name": "depth", "args": {"berth": 4}}}),
        adk_event(
            "agent",
            {"function_response": {"id": "a1", "name": "depth", "response": {"result": "4.2 m"}}},
            role="user",
        ),
        adk_event("agent", {"text": "4.2"}, partial=True),
        adk_event(
            "agent",
            {"text": "4.2 metres."},
            role="model",
            usage_metadata={"total": 3},
            model_version="g-2",
        ),
    ],
}


def test_adk_sessions(read):
    run = read(SESSION)
    assert run.messages == NAMED_TALK[1:]
    assert (run.format, run.usage, run.model) == ("Google ADK sessions", {"total": 3}, "g-2")
    assert noted(run, "part of an answer")
    assert noted(run, "says nothing")
    assert read(SESSION["events"]).messages == NAMED_TALK[1:]
    assert read({"session": SESSION}).messages == NAMED_TALK[1:]


def test_adk_evaluation_cases(runs):
    turn = {
        "userContent": {"role": "user", "parts": [{"text": ASK["content"]}]},
        "intermediateData": {
            "toolUses": [{"id": "a1", "name": "depth", "args": {"berth": 4}}],
            "toolResponses": [{"id": "a1", "name": "depth", "response": {"result": "4.2 m"}}],
        },
        "finalResponse": {"role": "model", "parts": [{"text": "4.2 metres."}]},
    }
    (run,) = runs({"eval_cases": [{"eval_id": "1", "conversation": [turn]}]})
    assert run.messages == NAMED_TALK[1:]


# ---- Hugging Face rows ----------------------------------------------------------------------

FILLED = {
    "messages": [
        {
            "role": "user",
            "content": [{"type": "text", "text": ASK["content"], "index": None}],
            "tool_calls": None,
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "a1",
                    "type": "function",
                    "function": {"name": "depth", "arguments": {"berth": 4, "quay": None}},
                }
            ],
        },
        {"role": "tool", "content": "4.2 m", "tool_call_id": "a1", "tool_calls": None},
    ],
    "tools": json.dumps([{"type": "function", "function": SCHEMA}]),
}


def test_hugging_face_rows_without_their_nulls(read):
    run = read(FILLED)
    assert plain(run.messages) == TALK[1:4]
    assert run.messages[0]["content"] == [{"type": "text", "text": ASK["content"]}]
    assert run.tools == ({"type": "function", "function": SCHEMA},)
    assert run.format == "Hugging Face rows"
    assert noted(run, "null")
    page = {"features": [{"name": "messages"}], "rows": [{"row_idx": 0, "row": FILLED}]}
    assert read(page).messages == run.messages


def test_hugging_face_pictures_in_a_column(read):
    content = [{"type": "image", "text": None}, {"type": "text", "text": "See?"}, {"type": "image"}]
    row = {
        "messages": [{"role": "user", "content": content}],
        "images": [{"bytes": PIXEL, "path": None}, {"src": "x", "width": 4, "height": 3}],
    }
    run = read(row)
    assert [part["text"] for part in run.messages[0]["content"]] == [
        "[image, 100 bytes]",
        "See?",
        "[image, 4 × 3]",
    ]
    assert noted(run, "2 pictures")


def test_hugging_face_prompts_and_their_answers(read):
    assert read({"prompt": TALK[:2], "completion": [ANSWER]}).messages == [*TALK[:2], ANSWER]
    run = read({"prompt": [ASK], "chosen": [ANSWER], "rejected": [SYSTEM]})
    assert run.messages == [ASK, ANSWER]
    assert noted(run, "'rejected'")
    run = read({"chosen": [ASK, ANSWER], "rejected": [ASK, SYSTEM]})
    assert run.messages == [ASK, ANSWER]


# ---- Vercel AI SDK --------------------------------------------------------------------------

VERCEL_CALL = {"toolCallId": "a1", "toolName": "depth"}
VERCEL = [
    {"role": "system", "content": SYSTEM["content"]},
    {"role": "user", "content": [{"type": "text", "text": ASK["content"]}]},
    {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": "Look."},
            {"type": "tool-call", **VERCEL_CALL, "input": {"berth": 4}},
        ],
    },
    {
        "role": "tool",
        "content": [
            {"type": "tool-result", **VERCEL_CALL, "output": {"type": "text", "value": "4.2 m"}}
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "4.2 metres."}]},
]
WINDOW = [
    {"id": "m1", "role": "user", "parts": [{"type": "text", "text": ASK["content"]}]},
    {
        "id": "m2",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {
                "type": "tool-depth",
                "toolCallId": "a1",
                "state": "output-available",
                "input": {"berth": 4},
                "output": "4.2 m",
            },
            {"type": "step-start"},
            {"type": "text", "text": "4.2 metres."},
        ],
    },
]


def test_vercel_model_messages(read):
    run = read(VERCEL)
    assert run.messages == LLAMA_TALK
    assert run.format == "Vercel AI SDK"
    older = json.loads(json.dumps(VERCEL).replace('"input"', '"args"'))
    older[3]["content"][0] = {"type": "tool-result", **VERCEL_CALL, "result": "4.2 m"}
    assert read({"system": SYSTEM["content"], "messages": older[1:]}).messages == LLAMA_TALK


def test_vercel_windows_keep_several_answers_in_a_message(read):
    assert read(WINDOW).messages == NAMED_TALK[1:]
    parts = [part for part in WINDOW[1]["parts"] if part["type"] != "step-start"]
    assert read([WINDOW[0], {**WINDOW[1], "parts": parts}]).messages == NAMED_TALK[1:]
    invocation = {"state": "result", **VERCEL_CALL, "args": {"berth": 4}, "result": "4.2 m"}
    old = {"role": "assistant", "content": "4.2 metres.", "toolInvocations": [invocation]}
    assert read([ASK, old]).messages == NAMED_TALK[1:]
    part = {"type": "tool-invocation", "toolInvocation": invocation}
    both = {**old, "parts": [part, {"type": "text", "text": "4.2 metres."}]}
    assert read([ASK, both]).messages == NAMED_TALK[1:]


def test_vercel_failures_files_and_what_only_the_window_sees(read):
    call = {"type": "tool-depth", "toolCallId": "a1", "input": {}}
    parts = [
        {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{PIXEL}"},
        {"type": "source-url", "url": "https://example.org"},
        {"type": "data-weather", "data": {}},
        {"type": "sonar"},
    ]
    run = read(
        [
            {"role": "user", "parts": parts},
            {
                "role": "assistant",
                "parts": [
                    {**call, "state": "output-error", "errorText": "no such berth"},
                    {**call, "toolCallId": "a2", "state": "input-available"},
                ],
            },
            {"role": "user", "content": "And?"},
        ]
    )
    assert run.messages[0]["content"] == MARK["text"]
    assert [len(m.get("tool_calls", ())) for m in run.messages] == [0, 2, 0, 0]
    assert run.messages[2]["content"] == "no such berth"
    assert run.messages[2]["is_error"] is True
    assert noted(run, "'a2' (depth)", "never answered")
    assert noted(run, "'sonar'", "A part")
    failed = {
        "type": "tool-result",
        **VERCEL_CALL,
        "output": {"type": "error-json", "value": {"e": 1}},
    }
    run = read([*VERCEL[:3], {"role": "tool", "content": [failed]}])
    assert run.messages[3] == {**NAMED, "content": '{"e": 1}', "is_error": True}


def test_vercel_in_a_span(read):
    told = {
        "ai.model.id": "m-10",
        "ai.prompt.messages": json.dumps(VERCEL[:2]),
        "ai.response.toolCalls": json.dumps([{**VERCEL_CALL, "args": '{"berth": 4}'}]),
        "ai.prompt.tools": [json.dumps({"type": "function", **SCHEMA})],
    }
    run = read(otlp(told))
    assert plain(run.messages) == TALK[:3]
    assert (run.model, len(run.tools)) == ("m-10", 1)
    told = {"ai.prompt.messages": json.dumps(VERCEL[:4]), "ai.response.text": "4.2 metres."}
    assert plain(read(otlp(told)).messages) == LLAMA_TALK


# ---- Bedrock Converse -----------------------------------------------------------------------

BEDROCK = {
    "modelId": "m-11",
    "system": [{"text": SYSTEM["content"]}, {"cachePoint": {"type": "default"}}],
    "messages": [
        {"role": "user", "content": [{"text": ASK["content"]}]},
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Look.", "signature": "c2ln"}}},
                {"toolUse": {"toolUseId": "a1", "name": "depth", "input": {"berth": 4}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "a1", "content": [{"text": "4.2 m"}]}},
            ],
        },
    ],
    "toolConfig": {
        "tools": [{"toolSpec": {**SCHEMA, "inputSchema": {"json": SCHEMA["parameters"]}}}]
    },
    "output": {"message": {"role": "assistant", "content": [{"text": "4.2 metres."}]}},
    "usage": {"inputTokens": 6},
}
BEDROCK["toolConfig"]["tools"][0]["toolSpec"].pop("parameters")


def test_bedrock_converse(read):
    run = read(BEDROCK)
    want = [SYSTEM, ASK, {**CALLING, "reasoning_content": "Look."}, RESULT, ANSWER]
    assert (run.messages, run.model, run.usage) == (want, "m-11", {"inputTokens": 6})
    assert run.tools == ({"type": "function", "function": SCHEMA},)
    assert read(BEDROCK["messages"]).messages == want[1:4]


def test_bedrock_results_and_pictures(read):
    picture = {"image": {"format": "png", "source": {"bytes": PIXEL}}}
    results = [
        {"toolUseId": "a1", "content": [{"json": {"m": 4.2}}], "status": "error"},
        {"toolUseId": "a2", "content": [{"text": "see"}, picture]},
    ]
    said = [{"toolResult": result} for result in results] + [{"text": "And?"}, {"sonar": 1}]
    run = read([*BEDROCK["messages"][:2], {"role": "user", "content": said}])
    texts = {"role": "tool", "content": [{"type": "text", "text": "see"}, MARK]}
    assert run.messages[2:] == [
        {**RESULT, "content": '{"m": 4.2}', "is_error": True},
        {**texts, "tool_call_id": "a2"},
        {"role": "user", "content": "And?"},
    ]
    assert noted(run, "'sonar'", "left out")
    paper = {
        "document": {"format": "pdf", "name": "log", "source": {"s3Location": {"uri": "s3://x"}}}
    }
    run = read([*BEDROCK["messages"], {"role": "user", "content": [paper]}, ANSWER])
    assert run.messages[-2:] == [{"role": "user", "content": "[document, log]"}, ANSWER]


def test_bedrock_in_the_events_of_a_span(read):
    asked, result = BEDROCK["messages"][1]["content"], BEDROCK["messages"][2]["content"]
    events = [
        event("user.message", content=json.dumps([{"text": ASK["content"]}])),
        event("assistant.message", content=json.dumps(asked)),
        event("tool.message", content=json.dumps(result), id="a1"),
        event("choice", finish_reason="end_turn", message=json.dumps([{"text": "4.2 metres."}])),
    ]
    run = read(otlp(CHAT, events=events))
    want = [ASK, {**CALLING, "reasoning_content": "Look."}, RESULT, ANSWER]
    assert plain(run.messages) == want


# ---- long files -----------------------------------------------------------------------------


def test_rows_share_the_strings_of_their_keys(tmp_path):
    file = tmp_path / "run.jsonl"
    file.write_text((json.dumps(ASK) + "\n") * 3, encoding="utf-8")
    rows, _ = files.load(file)
    assert rows == [ASK] * 3
    assert len({id(key) for row in rows for key in row}) == 2


@pytest.mark.parametrize("chunk", [1, 90, 200, 1 << 18])
def test_a_bad_line_costs_only_itself_however_the_file_is_cut(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(files, "CHUNK", chunk)
    good = [json.dumps({"role": "user", "content": f"line {n} é"}) for n in range(9)]
    lines = [*good[:4], good[4] + good[5], '{"role": "us', good[6], "Traceback:", *good[7:]]
    lines += [r'{"role": "user", "content": "\ud83d!"}', '{"a": [{}', '{"b": 1}]}', '{"torn": ']
    file = tmp_path / "run.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    rows, notes = files.load(file)
    assert rows == [*map(json.loads, good), {"role": "user", "content": "\ufffd!"}, {"b": 1}]
    assert notes == (
        "Line 5 holds more than one JSON value: read one after the other.",
        "Lines 6, 12 and 14 aren't complete: left out.",
        "Line 8 isn't JSON: left out.",
        "One half of a surrogate pair (a cut emoji, say) is shown as U+FFFD.",
        "The end of line 13 isn't complete: left out.",
    )


# ---- every reader ---------------------------------------------------------------------------

EACH = {
    "LangChain": [LC_DUMP, LC_DICT, LC, {"messages": LC_DUMP}, snapshot(LC_DUMP, 1)],
    "LlamaIndex": [LLAMA, {"store": {"a": LLAMA}}],
    "Semantic Kernel": [DOT_NET, PYTHON],
    "pydantic-ai": [PYDANTIC],
    "OpenTelemetry GenAI messages": [ASKED],
    "OpenTelemetry traces": [otlp(ATTRIBUTES), [flat_span(INFERENCE)], otlp(CHAT, events=EVENTS)],
    "Langfuse traces": [LANGFUSE, TRACED],
    "OpenAI Agents SDK": [
        {"data": [agent_span(1, type="response", input=[ASK], response={"output": [SPOKEN]})]}
    ],
    "Google ADK sessions": [SESSION],
    "Hugging Face rows": [FILLED],
    "Vercel AI SDK": [VERCEL, WINDOW],
    "Bedrock Converse": [BEDROCK],
}
EACH["OpenTelemetry traces"].append(
    [flat_span({**ATTRIBUTES, "gen_ai.input.messages": ASKED, "gen_ai.output.messages": ANSWERED})]
)
EACH["Langfuse traces"] += [
    [observation(TALK[:4], ANSWER)],
    [observation({"messages": LC_DUMP[:2]}, {"messages": LC_DUMP}, 0, "CHAIN")],
]
DOCUMENTS = [(name, document) for name, documents in EACH.items() for document in documents]


@pytest.mark.parametrize(("name", "document"), DOCUMENTS)
def test_a_document_is_known_to_its_family_and_never_changed(name, document):
    before = copy.deepcopy(document)
    (first, *_) = [family for family in FAMILIES if family.recognise(document)]
    assert name == first.NAME
    for run in first.read(document):
        assert turn_groups(run.messages)[1]
        last = len(run.messages) - 1
        assert [problem for problem in validate(run.messages) if problem.index != last] == []
        run.messages[0]["content"] = "changed"
        run.messages.clear()
    assert document == before


@pytest.mark.parametrize("name", CHAT_FAMILIES)
def test_other_families_keep_their_documents(name):
    document = CHAT_FAMILIES[name]
    (first, *_) = [family for family in FAMILIES if family.recognise(document)]
    assert name == first.NAME


LISTS = {
    "LangChain": LC_DUMP,
    "LlamaIndex": LLAMA,
    "Semantic Kernel": DOT_NET,
    "pydantic-ai": PYDANTIC,
    "OpenTelemetry GenAI messages": [SYSTEM, *ASKED, *ANSWERED],
    "Google ADK sessions": SESSION["events"],
    "Vercel AI SDK": VERCEL,
    "Bedrock Converse": BEDROCK["messages"],
}


def calls_in(run):
    return [call["id"] for m in run.messages for call in m.get("tool_calls", ())]


@pytest.mark.parametrize("name", LISTS)
def test_ids_may_be_numbers_and_used_again(read, name):
    rows = json.loads(json.dumps(LISTS[name]).replace('"a1"', "7"))
    run = read(rows)
    assert run.format == name
    assert calls_in(run) == ["7"]
    assert [m["tool_call_id"] for m in run.messages if m["role"] == "tool"] == ["7"]
    again = read([*rows, *json.loads(json.dumps(rows))])
    assert calls_in(again) == ["7", "7"]
    assert noted(again, "'7'", "again")
    assert not any("never answered" in note or "answer no call" in note for note in again.notes)


@pytest.mark.parametrize("name", LISTS)
def test_calls_without_an_id_are_answered_in_order(read, name):
    run = read(json.loads(json.dumps(LISTS[name]).replace('"a1"', "null")))
    assert calls_in(run) == ["call_1"]
    assert noted(run, "had no id")
    assert noted(run, "order decided")


@pytest.mark.parametrize("name", LISTS)
def test_a_row_that_is_no_message_is_left_out_and_noted(read, name):
    want = read(LISTS[name])
    run = read([*LISTS[name], {"note": "by hand"}])
    assert run.messages == want.messages
    assert f"{len(LISTS[name]) + 1}" in noted(run, "message", "left out", "Row")


@pytest.mark.parametrize(
    "data",
    [
        {"store": {}},
        {"store": {"ann": []}},
        {"observations": []},
        {"resourceSpans": []},
        {"data": [agent_span(1, type="agent", name="a")]},
        {"events": [adk_event("user")]},
        {"new_items": []},
        {"messages": [{"role": "user", "items": []}]},
        [{"kind": "request", "part": []}],
        [{"type": "ai"}],
        {"messages": [], "values": {"messages": []}},
        [said("user", {"type": "text", "text": "hi"})],
        {"prompt": [], "completion": "x"},
    ],
)
def test_what_holds_no_messages_is_refused(runs, data):
    with pytest.raises(NotATranscript, match="no run is in it"):
        runs(data)


def spoilt(value, depth=0):
    """The value with one thing in it gone wrong, in each place and way."""
    if depth:
        yield from (None, [], {}, 7, "x")
    if isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
            yield from ({**value, key: other} for other in spoilt(value[key], depth + 1))
    elif isinstance(value, list):
        for n, item in enumerate(value):
            yield value[:n] + value[n + 1 :]
            yield from (value[:n] + [other] + value[n + 1 :] for other in spoilt(item, depth + 1))


@pytest.mark.parametrize(("name", "document"), DOCUMENTS)
def test_a_spoilt_document_is_read_or_refused(name, document):
    family = next(family for family in FAMILIES if name == family.NAME)
    known = 0
    for bad in spoilt(document):
        known += family.recognise(bad)
        for run in read_document(bad)[0]:
            turn_groups(run.messages)
            assert all(isinstance(m["content"], str | list | None) for m in run.messages)
            json.dumps(run.messages)
    assert known
