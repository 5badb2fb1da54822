"""Wrong answers to the exercises of lesson 1."""

from __future__ import annotations

from course_lib import count_tokens
from course_lib.messages import assistant, system, user
from tests.wrong_answers import wrong

# ---- request_tokens -------------------------------------------------------------------------


@wrong("request_tokens", "counts only the contents", "That is the text alone")
def contents_only(messages, count):
    return sum(count(m["content"]) for m in messages)


@wrong("request_tokens", "knows no framing", "What frames the message")
def no_framing(messages, count):
    return sum(count(m["role"]) + count(m["content"]) for m in messages)


@wrong("request_tokens", "forgets what primes the answer", "the request too")
def no_reply(messages, count):
    return sum(3 + count(m["role"]) + count(m["content"]) for m in messages)


@wrong("request_tokens", "pays one frame for all messages", "what only once")
def one_frame(messages, count):
    return 6 + sum(count(m["role"]) + count(m["content"]) for m in messages)


@wrong("request_tokens", "overlooks tool calls", "three texts")
def no_calls(messages, count):
    return 3 + sum(3 + count(m["role"]) + count(m["content"]) for m in messages)


@wrong("request_tokens", "overlooks the id of a result", "one text more")
def no_result_id(messages, count):
    calls = [c for m in messages for c in m.get("tool_calls", [])]
    texts = sum(count(c[key]) for c in calls for key in ("id", "name", "arguments"))
    return no_calls(messages, count) + texts


@wrong("request_tokens", "counts by itself, not with the count that came in", "that came in")
def own_counter(messages, count):
    return count_tokens(messages)


# ---- overflow_question ----------------------------------------------------------------------


@wrong("overflow_question", "gives the message's index", "Count questions, not messages")
def message_index(messages, window):
    for i, m in enumerate(messages):
        if m["role"] == "assistant" and count_tokens(messages[:i]) > window:
            return i
    return None


@wrong("overflow_question", "counts questions from 0", "counted from 1")
def from_zero(messages, window):
    question = -1
    for i, m in enumerate(messages):
        question += m["role"] == "user"
        if m["role"] == "assistant" and count_tokens(messages[:i]) > window:
            return question
    return None


@wrong("overflow_question", "looks only when a question comes", "its first result doesn't")
def at_questions_only(messages, window):
    question = 0
    for i, m in enumerate(messages):
        if m["role"] == "user":
            question += 1
            if count_tokens(messages[: i + 1]) > window:
                return question
    return None


@wrong("overflow_question", "takes a full window for too full", "Does it fit?")
def full_is_over(messages, window):
    question = 0
    for i, m in enumerate(messages):
        question += m["role"] == "user"
        if m["role"] == "assistant" and count_tokens(messages[:i]) >= window:
            return question
    return None


@wrong("overflow_question", "counts the last answer as sent", "Who is that one sent to?")
def answer_is_sent(messages, window):
    question = 0
    for i, m in enumerate(messages):
        question += m["role"] == "user"
        if count_tokens(messages[: i + 1]) > window:
            return question
    return None


@wrong("overflow_question", "counts each message alone", "longer than the window")
def each_alone(messages, window):
    question = 0
    for m in messages:
        question += m["role"] == "user"
        if m["role"] == "assistant" and count_tokens([m]) > window:
            return question
    return None


# ---- finalize -------------------------------------------------------------------------------


@wrong("finalize", "the document's search from the start", "Which of the two")
def first_match(messages, question, answer):
    at = next(i for i, m in enumerate(messages) if m["role"] == "user" and m["content"] == question)
    return messages[:at] + [user(question), assistant(answer)]


@wrong("finalize", "only adds the answer", "Tool calls or results are still there")
def keeps_the_scratch(messages, question, answer):
    return [*messages, assistant(answer)]


@wrong("finalize", "forgets the answer", "What should be left")
def forgets_the_answer(messages, question, answer):
    at = max(i for i, m in enumerate(messages) if m["role"] == "user")
    return messages[: at + 1]


@wrong("finalize", "keeps only this question", "from before this question")
def only_this(messages, question, answer):
    head = [m for m in messages if m["role"] == "system"]
    return [*head, user(question), assistant(answer)]


@wrong("finalize", "throws away the calls but leaves the results", "still there")
def results_stay(messages, question, answer):
    return [m for m in messages if not m.get("tool_calls")] + [assistant(answer)]


@wrong("finalize", "doesn't look at roles", "Only a user asks questions")
def any_role(messages, question, answer):
    at = max(i for i, m in enumerate(messages) if m["content"] == question)
    return [*messages[:at], user(question), assistant(answer)]


@wrong("finalize", "changes the list that it was given", "Your function changed")
def in_place(messages, question, answer):
    while messages[-1]["content"] != question:
        messages.pop()
    messages.append(assistant(answer))
    return messages


# ---- ScopedChat -----------------------------------------------------------------------------


@wrong("ScopedChat", "one list for all", "The scratch has served its purpose")
class OneList:
    def __init__(self, system_prompt):
        self.messages = [system(system_prompt)]

    def ask(self, question):
        self.messages.append(user(question))

    def add(self, message):
        self.messages.append(message)

    def finish(self, answer):
        self.messages.append(assistant(answer))

    def prompt(self):
        return list(self.messages)


class _Right:
    def __init__(self, system_prompt):
        self.system_prompt, self.history, self.scratch = system_prompt, [], []

    def ask(self, question):
        self.scratch = [user(question)]

    def add(self, message):
        self.scratch = [*self.scratch, message]

    def finish(self, answer):
        self.history = [*self.history, self.scratch[0], assistant(answer)]
        self.scratch = []

    def prompt(self):
        return [system(self.system_prompt), *self.history, *self.scratch]


@wrong("ScopedChat", "forgets the system prompt", "the system message, then the question")
class NoSystem(_Right):
    def prompt(self):
        return [*self.history, *self.scratch]


@wrong("ScopedChat", "the scratch is not sent", "the model needs the call and its result")
class HiddenScratch(_Right):
    def prompt(self):
        return [system(self.system_prompt), *self.history, *self.scratch[:1]]


@wrong("ScopedChat", "promotes the answer without its question", "Question and answer are promoted")
class AnswerOnly(_Right):
    def finish(self, answer):
        self.history, self.scratch = [*self.history, assistant(answer)], []


@wrong("ScopedChat", "lists that all chats share", "Where does each chat's list live?")
class Shared(_Right):
    history: list = []  # noqa: RUF012
    scratch: list = []  # noqa: RUF012

    def __init__(self, system_prompt):
        self.system_prompt = system_prompt
        self.history.clear()

    def finish(self, answer):
        self.history.extend([self.scratch[0], assistant(answer)])
        self.scratch = []


@wrong("ScopedChat", "one scratch that all chats append to", "Where does each chat's list live?")
class SharedScratch(_Right):
    scratch: list = []  # noqa: RUF012

    def __init__(self, system_prompt):
        self.system_prompt, self.history = system_prompt, []

    def ask(self, question):
        self.scratch.append(user(question))

    def finish(self, answer):
        self.history = [*self.history, self.scratch[0], assistant(answer)]


@wrong("ScopedChat", "returns the list that it works with", "the chat changed with it")
class OwnList(_Right):
    def __init__(self, system_prompt):
        super().__init__(system_prompt)
        self.messages = [system(system_prompt)]

    def ask(self, question):
        self.start = len(self.messages)
        self.messages.append(user(question))

    def add(self, message):
        self.messages.append(message)

    def finish(self, answer):
        del self.messages[self.start + 1 :]
        self.messages.append(assistant(answer))

    def prompt(self):
        return self.messages


@wrong("ScopedChat", "remembers the last question only", "The order is")
class LastQuestion(_Right):
    def finish(self, answer):
        self.history, self.scratch = [self.scratch[0], assistant(answer)], []


# ---- chat_total -----------------------------------------------------------------------------


@wrong("chat_total", "each turn reads only itself", "each turn reads only itself")
def linear(fixed, per_turn, turns):
    return turns * (fixed + per_turn)


@wrong("chat_total", "what the last turn reads", "what the last turn reads")
def last_turn(fixed, per_turn, turns):
    return fixed + per_turn * turns


@wrong("chat_total", "a turn doesn't read itself", "own messages, once")
def one_too_few(fixed, per_turn, turns):
    return turns * fixed + per_turn * turns * (turns - 1) // 2


@wrong("chat_total", "the square, not half of it", "add the three up")
def whole_square(fixed, per_turn, turns):
    return turns * fixed + per_turn * turns * turns


@wrong("chat_total", "divides with /", "a number (float)")
def a_float(fixed, per_turn, turns):
    return turns * fixed + per_turn * turns * (turns + 1) / 2


@wrong("chat_total", "rounds on the way", "stay with whole numbers")
def rounds(fixed, per_turn, turns):
    return turns * fixed + int(per_turn * turns * (turns + 1) / 2)


@wrong("chat_total", "adds turn by turn", "no loop, find the formula")
def loops(fixed, per_turn, turns):
    total = 0
    while turns:
        total += fixed + per_turn * turns
        turns -= 1
    return total
