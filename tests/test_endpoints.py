"""A model behind an address, over real HTTP: what is sent, what comes back, and what goes wrong."""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from course_lib import incident, trim, validate
from course_lib.conversation import Conversation, inner_loop, registry, tool
from course_lib.endpoints import (
    EndpointModel,
    ModelError,
    as_call,
    model_from_environment,
)
from course_lib.messages import assistant, system, tool_call, tool_result, user
from course_lib.models import ScriptedModel
from course_lib.summaries import SUMMARY_PROMPT, summarize_with

pytestmark = pytest.mark.filterwarnings("error")


class Server(ThreadingHTTPServer):
    """Gives the answers that a test has laid ready, one after the other; `asked` is what came."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.asked, self.keys = [], [], []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(json.loads(body))
        self.server.keys.append(self.headers["Authorization"])
        status, kind, text = self.server.answers.pop(0)()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def model(server):
    return EndpointModel(server.url, "small", seconds=5)


def raw(text, status=200, kind="application/json"):
    return lambda: (status, kind, text.encode())


def answer(content, calls=(), finish="stop"):
    message = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [as_call(call) for call in calls]
    choice = {"index": 0, "message": message, "finish_reason": finish}
    whole = {"id": "1", "object": "chat.completion", "created": 0, "model": "small"}
    return raw(json.dumps({**whole, "choices": [choice]}))


# ---- what is sent, and what comes back ------------------------------------------------------


def test_an_answer_comes_back_as_a_message(server, model):
    server.answers = [answer("At 02:00.")]
    assert model([user("When?")]) == assistant("At 02:00.")
    (request,) = server.asked
    assert request["model"] == "small"
    assert request["messages"] == [user("When?")]
    assert request["temperature"] == 0 and "tools" not in request


def test_calls_are_sent_nested_and_our_marks_stay_here(server, model):
    messages = [
        {**user("When?"), "pinned": True},
        assistant("", [tool_call("a", "search", hour="02:00")]),
        tool_result("a", "a timeout"),
    ]
    server.answers = [answer("At 02:00.")]
    model(messages)
    sent = server.asked[0]["messages"]
    assert sent[0] == user("When?")
    assert sent[1]["tool_calls"] == [
        {
            "id": "a",
            "type": "function",
            "function": {"name": "search", "arguments": '{"hour": "02:00"}'},
        }
    ]
    assert messages[0]["pinned"]


def test_the_key_goes_along_and_is_nowhere_to_be_read(server):
    server.answers = [answer("Yes."), raw("no", 401)]
    keyed = EndpointModel(server.url, "small", key="s3cret")
    keyed([user("?")])
    assert server.keys == ["Bearer s3cret"]
    with pytest.raises(ModelError) as failure:
        keyed([user("?")])
    assert "s3cret" not in str(failure.value) + repr(keyed)


def test_an_agent_runs_on_it_with_real_tools(server, model):
    search = tool(lambda hour: f"{hour}: a timeout", "Read an hour's log.", "search", hour="HH:MM")
    call = tool_call("x1", "search", hour="02:00")
    server.answers = [answer(None, [call], "tool_calls"), answer("A timeout at 02:00.")]
    result = inner_loop([system("Look."), user("When?")], model, registry(search))
    assert result.answer == "A timeout at 02:00."
    assert validate(result.messages) == []
    first, second = server.asked
    assert first["tools"][0]["type"] == "function"
    assert first["tools"][0]["function"]["name"] == "search"
    assert second["messages"][-1] == tool_result("x1", "02:00: a timeout")


def test_a_summariser_asks_with_the_six_sections(server, model):
    server.answers = [answer("Goal: find the hour.")]
    summarize = summarize_with(model)
    assert summarize(incident()[2:4]) == "Goal: find the hour."
    prompt, transcript = server.asked[0]["messages"]
    assert prompt == system(SUMMARY_PROMPT)
    for section in ("Goal:", "Done:", "Facts:", "Decisions:", "Open items:", "Next step:"):
        assert section in SUMMARY_PROMPT
    assert "search_logs" in transcript["content"] and "00:00" in transcript["content"]


# ---- what goes wrong: a sentence, and the history as it was ---------------------------------


def slow():
    time.sleep(1)
    return answer("late")()


HTML = "<html>It works</html>"
FAULTS = [
    pytest.param(slow, "no answer within 0.3 seconds", id="time-out"),
    pytest.param(answer(""), "empty answer", id="empty"),
    pytest.param(answer("  \n"), "empty answer", id="blanks"),
    pytest.param(answer("Goal: find", finish="length"), "was cut.*max_tokens", id="cut"),
    pytest.param(answer(None, finish="content_filter"), "content_filter", id="filtered"),
    pytest.param(raw(HTML, kind="text/html"), "not as a chat model does.*/v1", id="a page"),
    pytest.param(raw("{}"), "not as a chat model does", id="no choices"),
    pytest.param(raw('{"choices": []}'), "not as a chat model does", id="no choice"),
    pytest.param(raw('{"choices": [{}]}'), "not as a chat model does", id="no message"),
    pytest.param(raw('{"choices": [{"mess'), "can't be read", id="torn"),
    pytest.param(
        raw('{"error": {"message": "no such model: small"}}', 404),
        r"refused \(404\): no such model: small",
        id="an unknown model",
    ),
    pytest.param(raw("busy", 503), r"refused \(503\)", id="busy"),
]


@pytest.mark.parametrize(("fault", "says"), FAULTS)
def test_what_goes_wrong_is_said_in_a_sentence_and_not_tried_again(server, fault, says):
    server.answers = [fault]
    model = EndpointModel(server.url, "small", seconds=0.3)
    with pytest.raises(ModelError, match=says):
        model([user("When?")])
    assert len(server.asked) == 1


def test_a_server_that_is_not_there(server):
    server.shutdown()
    server.server_close()
    with pytest.raises(ModelError, match="nothing can be reached at .* Is the server running"):
        EndpointModel(server.url, "small")([user("When?")])


def test_a_server_that_hangs_up(server, model):
    def hang_up():
        raise ConnectionError

    server.answers = [hang_up]
    server.handle_error = lambda *_: None
    with pytest.raises(ModelError, match="nothing can be reached"):
        model([user("When?")])


@pytest.mark.parametrize(("fault", "says"), FAULTS[1:4])
def test_a_summary_that_fails_leaves_the_history_as_it_was(server, model, fault, says, caplog):
    caplog.set_level("WARNING", logger="course_lib")
    server.answers = [fault]
    messages = incident()
    trimmed = trim(messages, 600, summarize_with(model))
    assert trimmed.dropped == 0
    assert all(a is b for a, b in zip(messages, trimmed.messages, strict=True))
    assert "the summariser failed" in caplog.text


def test_a_turn_that_fails_leaves_the_conversation_as_it_was(server, model):
    server.answers = [answer("Hello."), answer(""), answer("At 02:00.")]
    chat = Conversation("Be brief.", model)
    chat.turn("Hi")
    before = list(chat.history)
    with pytest.raises(ModelError):
        chat.turn("When?")
    assert chat.history == before
    assert chat.turn("When?") == "At 02:00."


# ---- where the model comes from -------------------------------------------------------------

SET = {"COURSE_MODEL_URL": "http://localhost:11434/v1", "COURSE_MODEL": "gemma3:1b"}


def test_without_an_address_nothing_is_asked():
    scripted = ScriptedModel([])
    assert model_from_environment(scripted, {}) is scripted
    assert model_from_environment(environment={"COURSE_MODEL": " "}) is None


def test_the_environment_names_the_model():
    found = model_from_environment(None, {**SET, "COURSE_MODEL_KEY": "k"})
    assert (found.address, found.name, found.key) == (*SET.values(), "k")


@pytest.mark.parametrize("missing", SET)
def test_half_a_setting_is_named(missing):
    with pytest.raises(ModelError, match=f"{missing} isn't set"):
        model_from_environment(None, {k: v for k, v in SET.items() if k != missing})


def test_without_the_client_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ModelError, match=r"pip install"):
        EndpointModel("http://127.0.0.1:9/v1", "small")([user("?")])
