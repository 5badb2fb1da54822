"""Lesson 1, Memory is a list: its exercises and its predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from course_lib.checks.exercises import Exercise, NumberQuestion, Question, expect, fail
from course_lib.messages import (
    Message,
    assistant,
    calls_of,
    system,
    text_of,
    tool_call,
    tool_result,
    user,
)
from course_lib.replay import replay
from course_lib.samples.support import five_texts, support_chat, support_tools
from course_lib.tokens import count_tokens
from course_lib.trimming import append_all

Count = Callable[[str], int]

PLACES = ["at the depot", "on van 31", "in Leeds", "at the door", "with a neighbour", "on its way"]
ASKED = [
    "Where is my parcel?",
    "What did I pay?",
    "Is the jacket there in L?",
    "Can I send it back?",
]


def made_turn(rng: Random, name: str, question: str, calls: int) -> list[Message]:
    """A question, some tool calls with results of different sizes, and an answer."""
    turn = [user(question)]
    for i in range(calls):
        events = [f"{name}{i}{n} {place}" for n, place in enumerate(rng.choices(PLACES, k=9))]
        turn.append(assistant(calls=[tool_call(f"{name}{i}", "track", parcel=f"FH{i}")]))
        turn.append(tool_result(f"{name}{i}", "; ".join(events[: rng.randint(3, 9)])))
    return [*turn, assistant(f"It is {rng.choice(PLACES)} ({name}).")]


def made_chat(rng: Random, questions: int) -> list[Message]:
    """A short chat; most of its questions take tool calls, and no question comes twice."""
    chat = [system("You answer customers of a shop.")]
    for n in range(questions):
        question = f"{rng.choice(ASKED)} ({n + 1})"
        chat += made_turn(rng, "abcdefgh"[n % 8], question, rng.randint(0 if n % 3 == 2 else 1, 3))
    return chat


# ---- 1: count a list's tokens ---------------------------------------------------------------

REQUEST_TOKENS = Exercise(
    "request_tokens",
    title="Count a request, framing included",
    lesson=1,
    minutes=6,
    points=2,
    returns=int,
    hints=(
        "Two kinds of threes: one for each message, and one for the whole request.",
        "Walk through the messages and add up the texts of each: role, content, and where they are "
        "there, the id, name and arguments of each call, and the `tool_call_id`.",
        "total = ...   # what a request costs by itself\n"
        "for m in messages:\n"
        "    total += ...   # its frame, and two texts\n"
        "    for call in m.get('tool_calls', []):\n"
        "        ...\n"
        "    if ...:   # is it a result?\n"
        "        ...\n"
        "return total",
    ),
)


def recipe(messages: Sequence[Message], count: Count) -> int:
    """The published recipe, with any way to count a text."""
    total = 3
    for m in messages:
        total += 3 + count(m["role"]) + count(text_of(m))
        total += sum(count(text) for call in calls_of(m) for text in call)
        total += count(m["tool_call_id"]) if "tool_call_id" in m else 0
    return total


def _words(text: str) -> int:
    return len(text.split())


@REQUEST_TOKENS.property("one message costs its texts, and its frame")
def _one_message(request_tokens: Callable[..., int]) -> None:
    got = request_tokens([user("Where is my order?")], count_tokens)
    texts = count_tokens("user") + count_tokens("Where is my order?")
    expect(got != texts - count_tokens("user"), "That is the text alone. What is sent around it?")
    expect(got != texts, "Role and text are there. What frames the message, and the request?")
    expect(got != texts + 3, "A frame of three is missing: each message has one, the request too.")
    expect(got == texts + 6, "Go through the recipe, line by line: something is counted otherwise.")


@REQUEST_TOKENS.property("every message has its own frame")
def _each_frame(request_tokens: Callable[..., int]) -> None:
    chat = [system("You help."), user("Hello"), assistant("Good morning."), user("Hello again")]
    expect(
        request_tokens(chat, count_tokens) == recipe(chat, count_tokens),
        "One message was right, four are not: what is paid for each message, and what only once?",
    )


@REQUEST_TOKENS.property("the calls of a message count")
def _calls_count(request_tokens: Callable[..., int]) -> None:
    chat = [user("Where is it?"), assistant(calls=[tool_call("call_1", "track", parcel="FH58")])]
    expect(
        request_tokens(chat, count_tokens) == recipe(chat, count_tokens),
        "The second message has an empty text and a tool call: the model reads three texts of it.",
    )


@REQUEST_TOKENS.property("a result names the call that it answers")
def _results_count(request_tokens: Callable[..., int]) -> None:
    chat = [user("Where is it?"), tool_result("call_1", "at the depot")]
    expect(
        request_tokens(chat, count_tokens) == recipe(chat, count_tokens),
        "A result has one text more than other messages, and it is sent along.",
    )


@REQUEST_TOKENS.property("any chat, and any way to count a text")
def _any_counter(request_tokens: Callable[..., int], rng: Random) -> None:
    for count in (_words, len):
        chat = made_chat(rng, rng.randint(1, 4))
        expect(
            request_tokens(chat, count) == recipe(chat, count),
            "Count each text with the `count` that came in; the threes stay as they are.",
        )


# ---- 2: where a window overflows ------------------------------------------------------------

OVERFLOW_QUESTION = Exercise(
    "overflow_question",
    title="Find the question at which the window overflows",
    lesson=1,
    minutes=8,
    points=3,
    returns=int | None,
    hints=(
        "A request is sent before each assistant message, and it holds all that stands before it.",
        "Walk through the messages with their indices. Count the questions as they come. At each "
        "assistant message, count the tokens of what stands before it.",
        "question = 0\n"
        "for i, m in enumerate(messages):\n"
        "    if m['role'] == 'user': question += 1\n"
        "    if m['role'] == 'assistant' and ...: return question\n"
        "return None",
    ),
)


def _requests(chat: Sequence[Message]) -> list[tuple[int, int]]:
    """For each request: the question that it belongs to, and its tokens."""
    requests, question = [], 0
    for i, m in enumerate(chat):
        question += m["role"] == "user"
        if m["role"] == "assistant":
            requests.append((question, count_tokens(chat[:i])))
    return requests


@OVERFLOW_QUESTION.property("a chat that fits overflows nowhere")
def _fits(overflow_question: Callable[..., int | None], rng: Random) -> None:
    chat = made_chat(rng, 3)
    got = overflow_question(chat, 10 * count_tokens(chat))
    expect(got is None, "The window is far bigger than the whole chat: nothing overflows, so None.")


@OVERFLOW_QUESTION.property("a question that doesn't fit is found")
def _found(overflow_question: Callable[..., int | None]) -> None:
    chat = [system("You help."), user("Hello"), assistant("Good morning."), user("word " * 200)]
    got = overflow_question([*chat, assistant("Yes.")], 100)
    expect(got is not None, "The second question alone is longer than the window.")
    expect(got == 2, "Which question is that, counted from 1? Count questions, not messages.")


@OVERFLOW_QUESTION.property("results count as well")
def _results_overflow(overflow_question: Callable[..., int | None], rng: Random) -> None:
    chat = made_chat(rng, 3)
    window = _requests(chat)[0][1]  # the first request fits exactly, the next one doesn't
    got = overflow_question(chat, window)
    expect(
        got == 1,
        "The first question fits, but its first result doesn't: the next request is still part of "
        "the first question.",
    )


@OVERFLOW_QUESTION.property("the last answer is never sent")
def _answer(overflow_question: Callable[..., int | None], rng: Random) -> None:
    chat = [*made_chat(rng, 2)[:-1], assistant("That is a long story. " * 60)]
    got = overflow_question(chat, _requests(chat)[-1][1] + 1)
    expect(
        got is None,
        "Every request fits; only with the last answer the list is over. Who is that one sent to?",
    )


@OVERFLOW_QUESTION.property("a request of exactly the window's size fits")
def _exactly(overflow_question: Callable[..., int | None], rng: Random) -> None:
    chat = made_chat(rng, 3)
    got = overflow_question(chat, _requests(chat)[-1][1])
    expect(got is None, "The biggest request is exactly as big as the window. Does it fit?")


@OVERFLOW_QUESTION.property("any chat, any window")
def _any_window(overflow_question: Callable[..., int | None], rng: Random) -> None:
    for _ in range(8):
        chat = made_chat(rng, rng.randint(2, 5))
        requests = _requests(chat)
        window = rng.randint(requests[0][1], requests[-1][1] + 20)
        wanted = next((question for question, tokens in requests if tokens > window), None)
        expect(
            overflow_question(chat, window) == wanted,
            "Look at each request by itself: the messages before an assistant message, all of them.",
        )


# ---- 3: finish a question -------------------------------------------------------------------

FINALIZE = Exercise(
    "finalize",
    title="Finish a question, also one that was asked before",
    lesson=1,
    minutes=6,
    points=3,
    returns=list,
    hints=(
        "The question that was just answered is the newest one with that text.",
        "Look through the indices from the end, and stop at the first user message that has the "
        "text. Everything before it stays, everything behind it goes.",
        "for i in reversed(range(len(messages))):\n"
        "    if messages[i]['role'] == 'user' and ...:\n"
        "        return messages[: i + 1] + [{'role': 'assistant', ...}]",
    ),
)


@FINALIZE.property("the tool calls of the question go, question and answer stay")
def _scratch_goes(finalize: Callable[..., list[Message]], rng: Random) -> None:
    chat = [system("You help."), *made_turn(rng, "a", "Where is it?", 2)[:-1]]
    got = finalize(chat, "Where is it?", "At the depot.")
    expect(
        not any(m["role"] == "tool" or calls_of(m) for m in got),
        "Tool calls or results are still there, though the question has its answer.",
    )
    expect(
        [m["role"] for m in got] == ["system", "user", "assistant"],
        "What should be left: the system message, the question, and its answer.",
    )
    expect(
        text_of(got[-1]) == "At the depot.", "The last message should be the answer that came in."
    )


@FINALIZE.property("what came before stays, message for message")
def _before_stays(finalize: Callable[..., list[Message]], rng: Random) -> None:
    before = made_chat(rng, 2)
    got = finalize([*before, *made_turn(rng, "x", "And now?", 1)[:-1]], "And now?", "Now, yes.")
    expect(got[: len(before)] == before, "Messages from before this question are gone or changed.")
    expect(got[len(before) :] == [user("And now?"), assistant("Now, yes.")], _ENDS)


_ENDS = "Behind what was there before, the list should end with the question and its answer."


@FINALIZE.property("a question that was asked twice: nothing in between is lost")
def _asked_twice(finalize: Callable[..., list[Message]], rng: Random) -> None:
    question = "Where is my order 58213?"
    before = [
        system("You help."),
        user(question),
        assistant("At the depot."),
        *made_chat(rng, 2)[1:],
    ]
    got = finalize([*before, *made_turn(rng, "x", question, 1)[:-1]], question, "Delivered.")
    expect(
        len(got) > len(before) // 2,
        "Everything between the two questions is gone. Which of the two was just answered?",
    )
    expect(got == [*before, user(question), assistant("Delivered.")], _ENDS)


@FINALIZE.property("only a user message is a question")
def _only_user(finalize: Callable[..., list[Message]]) -> None:
    chat = [user("Find it."), assistant(calls=[tool_call("a", "search", words="it")])]
    chat = [*chat, tool_result("a", "Find it.")]
    got = finalize(chat, "Find it.", "Found.")
    expect(
        got == [user("Find it."), assistant("Found.")],
        "The tool's result happens to have the same text. Only a user asks questions.",
    )


@FINALIZE.property("question after question, any of them repeated")
def _again_and_again(finalize: Callable[..., list[Message]], rng: Random) -> None:
    history: list[Message] = [system("You help.")]
    for n in range(8):
        question, answer = rng.choice(ASKED), f"answer {n}"
        turn = made_turn(rng, "abcdefgh"[n], question, 2)[:-1]
        got = finalize([*history, *turn], question, answer)
        history = [*history, user(question), assistant(answer)]
        expect(got == history, _ENDS)


# ---- 4: two scopes --------------------------------------------------------------------------

SCOPED_CHAT = Exercise(
    "ScopedChat",
    title="Keep scratch and history apart",
    lesson=1,
    minutes=9,
    points=3,
    wants="class",
    hints=(
        "Two lists, each with its own life: one for the whole chat, one for the current question.",
        "`ask` begins a new scratch with the question in it, `add` puts a message on the scratch, "
        "`finish` moves question and answer to the history and empties the scratch. `prompt` puts "
        "the three parts together in a new list.",
        "def __init__(self, system_prompt):\n"
        "    self.system_prompt = system_prompt\n"
        "    self.history, self.scratch = [], []\n"
        "def finish(self, answer):\n"
        "    self.history = self.history + [self.scratch[0], ...]\n"
        "    self.scratch = []\n"
        "def prompt(self):\n"
        "    return [...] + self.history + self.scratch",
    ),
)

Chat = Callable[[str], Any]
CALL = assistant(calls=[tool_call("c1", "track", parcel="FH58")])
RESULT = tool_result("c1", "at the depot")


def _shows(chat: Any, wanted: list[Message], after: str, thought: str) -> None:
    """Break the property unless the chat's prompt is what is wanted."""
    got = chat.prompt()
    if not isinstance(got, list):
        fail("`prompt` returns the list of messages to send.", given=after, got=got)
    expect(got == wanted, thought, given=after, got=got)


# First of all: lists that chats share would break the other properties for no visible reason.
@SCOPED_CHAT.property("two chats know nothing of each other")
def _two_chats(scoped_chat: Chat) -> None:
    first, second = scoped_chat("You help."), scoped_chat("You help, too.")
    first.ask("Where is it?")
    first.finish("At the depot.")
    second.ask("Hello")
    got = second.prompt()
    expect(
        "Where is it?" not in str(got) and "At the depot." not in str(got),
        "The second chat knows what was said in the first. Where does each chat's list live?",
        given='first.ask(…), first.finish(…), second.ask("Hello"), then second.prompt()',
        got=got,
    )


@SCOPED_CHAT.property("a question is sent behind the system prompt")
def _first_prompt(scoped_chat: Chat) -> None:
    chat = scoped_chat("You help.")
    chat.ask("Where is it?")
    _shows(
        chat,
        [system("You help."), user("Where is it?")],
        'ask("Where is it?"), then prompt()',
        "The model should see the system message, then the question, both as messages.",
    )


@SCOPED_CHAT.property("calls and results are in the prompt while the question is open")
def _open(scoped_chat: Chat) -> None:
    chat = scoped_chat("You help.")
    chat.ask("Where is it?")
    chat.add(CALL)
    chat.add(RESULT)
    _shows(
        chat,
        [system("You help."), user("Where is it?"), CALL, RESULT],
        "ask, add(call), add(result), then prompt()",
        "The question isn't answered yet: the model needs the call and its result, in their order.",
    )


@SCOPED_CHAT.property("after the answer only question and answer are left")
def _finished(scoped_chat: Chat) -> None:
    chat = scoped_chat("You help.")
    chat.ask("Where is it?")
    chat.add(CALL)
    chat.add(RESULT)
    chat.finish("At the depot.")
    _shows(
        chat,
        [system("You help."), user("Where is it?"), assistant("At the depot.")],
        'ask, add(call), add(result), finish("At the depot."), then prompt()',
        "The scratch has served its purpose. Question and answer are promoted, nothing else.",
    )


@SCOPED_CHAT.property("what is sent can be changed without harm")
def _own_list(scoped_chat: Chat) -> None:
    chat = scoped_chat("You help.")
    chat.ask("Where is it?")
    chat.prompt().clear()
    chat.prompt().append(user("noise"))
    _shows(
        chat,
        [system("You help."), user("Where is it?")],
        "ask, then prompt().clear() and prompt().append(…), then prompt()",
        "Somebody changed the list that `prompt` returned, and the chat changed with it.",
    )


@SCOPED_CHAT.property("many questions in a row")
def _many(scoped_chat: Chat, rng: Random) -> None:
    chat, wanted = scoped_chat("You help."), [system("You help.")]
    for n in range(6):
        *turn, answer = made_turn(rng, "abcdef"[n], rng.choice(ASKED), rng.randint(0, 2))
        chat.ask(turn[0]["content"])
        for message in turn[1:]:
            chat.add(message)
        _shows(chat, [*wanted, *turn], f"question {n + 1}, before its answer", _ORDER)
        chat.finish(text_of(answer))
        wanted += [turn[0], answer]
        _shows(chat, wanted, f"question {n + 1}, after its answer", _ORDER)


_ORDER = "The order is: system prompt, finished questions with their answers, the open question."


# ---- 5: the total in closed form ------------------------------------------------------------

CHAT_TOTAL = Exercise(
    "chat_total",
    title="What a whole chat reads, without a loop",
    lesson=1,
    minutes=6,
    points=2,
    returns=int,
    hints=(
        "The fixed part is read at every turn. The first turn's messages are read at every turn "
        "too, the last turn's only once.",
        "In all, messages are read 1 + 2 + … + turns times. There is a short formula for that sum.",
        "return turns * fixed + per_turn * (...) // 2",
    ),
)


@CHAT_TOTAL.property("one turn reads the fixed part and itself")
def _one_turn(chat_total: Callable[[int, int, int], int]) -> None:
    got = chat_total(700, 50, 1)
    expect(
        got == 750, "One turn: the system prompt and schemas, and the turn's own messages, once."
    )


@CHAT_TOTAL.property("each later turn reads the earlier ones again")
def _three_turns(chat_total: Callable[[int, int, int], int]) -> None:
    got = chat_total(700, 50, 3)
    expect(
        got != 3 * 750, "Here each turn reads only itself. What else stands in the list by then?"
    )
    expect(got != 700 + 3 * 50, "That is what the last turn reads. All turns together are wanted.")
    expect(got == 750 + 800 + 850, "Write down what turns 1, 2 and 3 read, and add the three up.")


@CHAT_TOTAL.property("any chat")
def _any_chat(chat_total: Callable[[int, int, int], int], rng: Random) -> None:
    for _ in range(20):
        fixed, per_turn, turns = rng.randint(0, 3000), rng.randint(1, 900), rng.randint(0, 60)
        wanted = sum(fixed + per_turn * t for t in range(1, turns + 1))
        expect(
            chat_total(fixed, per_turn, turns) == wanted,
            "Turn t reads the fixed part and t turns. Add up a small case by hand and compare.",
        )


@CHAT_TOTAL.property("a million million turns take no longer: no loop, find the formula")
def _huge(chat_total: Callable[[int, int, int], int]) -> None:
    n = 10**12
    got = chat_total(1, 1, n)
    expect(
        got == n + n * (n + 1) // 2,
        "Right for small chats, and off for a huge one: stay with whole numbers, `//` for `/`.",
    )


# ---- predictions ----------------------------------------------------------------------------

Question(
    "new_list",
    lesson=1,
    text="You told the model your name in one list. Now you send a new list with only the question "
    '"What is my name?". What does it answer?',
    choices={
        "Your name": "It would have to keep something between two calls. It keeps nothing: what "
        "it knows of you is what stands in the list.",
        "That it can't tell": "Yes. The name stands in the other list, and that one wasn't sent.",
        "A name that it guesses": "A real model may do that, and it would be no memory either. The "
        "scripted one says that it can't tell.",
    },
    right="That it can't tell",
)


def longer_factor() -> float:
    """How many times as much a support chat reads when it is twice as long."""
    chat = support_chat()
    once, twice = (
        replay(c, append_all(), tools=support_tools()).read for c in (chat, chat + chat[1:])
    )
    return twice / once


NumberQuestion(
    "twice_as_long",
    lesson=1,
    text="Everything is kept, and the chat goes on until it is twice as long. How many times as "
    "many tokens are read in all?",
    answer=lambda: round(longer_factor(), 1),
    tolerance=0.09,  # 4, the round figure, counts as right
    unit="times",
    right="Yes, about {answer}: twice as many model calls, and each reads about twice as much on average.",
    too_low="More, it is {answer}: there are twice as many model calls, and the later ones are the "
    "longest.",
    too_high="Less, it is {answer}: twice as many model calls, and each reads about twice as much.",
)


def japanese_tokens() -> float:
    """Tokens of 100 characters of Japanese, by the lesson's text."""
    text = five_texts()["Japanese"]
    return round(100 * count_tokens(text) / len(text))


NumberQuestion(
    "japanese_tokens",
    lesson=1,
    text="A rule of thumb says: four characters are a token, so 100 characters are 25. How many "
    "tokens are 100 characters of Japanese?",
    answer=japanese_tokens,
    tolerance=0.15,
    unit="tokens",
    right="Yes, about {answer}: nearly every character or two is a token of its own.",
    too_low="More, about {answer}. The rule was made for English, where a common word is one token.",
    too_high="Fewer, about {answer}: frequent pairs of characters share a token.",
)

Question(
    "asked_twice",
    lesson=1,
    text="The chat's first question comes again as its seventh. The plain code looks for the question "
    "by its text, after the seventh has been answered. What is left of the list?",
    choices={
        "Seven questions with their answers": "That would be right. But which message does the search "
        "from the start find?",
        "The system message, one question, one answer": "Yes. It finds the first one, and cuts from "
        "there: questions two to six are gone.",
        "All, with the tool calls of the seventh": "Something is cut. The question is where the cut "
        "begins.",
    },
    right="The system message, one question, one answer",
)


def promote_factor() -> float:
    """How many times less the support chat reads when questions and answers only are promoted."""
    from course_lib.views.conversation_scene import promoted_only

    chat, tools = support_chat(), support_tools()
    everything = replay(chat, append_all(), tools=tools).read
    return everything / replay(chat, promoted_only(), tools=tools).read


NumberQuestion(
    "promote_factor",
    lesson=1,
    text="Twelve questions, 32 tool calls. Of finished questions, only question and answer are kept. "
    "How many times less is read in all, system prompt and tool schemas included?",
    answer=lambda: round(promote_factor(), 1),
    tolerance=0.15,
    unit="times",
    right="Yes, {answer} times less.",
    too_low="It is more, {answer}: nearly all of the list is results of questions long answered.",
    too_high="It is less, {answer}: system prompt and schemas are read on every model call all the "
    "same, and so are the tool calls of the question itself.",
)

Question(
    "no_gain",
    lesson=1,
    text="For which of these chats does it save nothing?",
    choices={
        "One question that takes forty tool calls": "Yes: all of it is scratch of the open question. "
        "There is no earlier question whose scratch could go.",
        "Twelve questions, one tool call each": "There is scratch of eleven finished questions to leave "
        "out at the end.",
        "Twelve questions with long results": "That is where it saves most: long results, long since "
        "answered.",
    },
    right="One question that takes forty tool calls",
)
