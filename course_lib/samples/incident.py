"""The incident run: an agent reads logs, hour by hour, to find out why an export job failed."""

from __future__ import annotations

from course_lib.messages import Message, assistant, system, tool_call, tool_result, user


def incident(steps: int = 12) -> list[Message]:
    """The document's run: twelve hours of logs, 26 messages, one finding at 02:00.

    The messages are shaped exactly as the document shapes them, filler and all. With more
    `steps` the search goes on, through the next days.
    """
    messages = [
        system("You are an incident investigator."),
        user("Why did the export job fail last night?"),
    ]
    for i in range(steps):
        hour = f"{i % 24:02d}:00"
        finding = "timeout on db step" if i == 2 else "no errors"
        result = {"hour": hour, "finding": finding, "raw": "log line " * 40}
        messages += [
            assistant(calls=[tool_call(f"c{i}", "search_logs", hour=hour)]),
            tool_result(f"c{i}", result),
        ]
    return messages


def long_incident() -> list[Message]:
    """The same incident, seen through: 28 calls, four kinds of tool, three findings.

    Twenty-four hours of logs, then the deploys, the locks and the job's settings, then an answer.
    """
    messages = [system(INSTRUCTIONS), user(TASK)]
    steps = [*_log_steps(), *_other_steps()]
    for i, (name, arguments, result) in enumerate(steps):
        messages += [
            assistant(calls=[tool_call(f"c{i}", name, **arguments)]),
            tool_result(f"c{i}", result),
        ]
    return [*messages, assistant(ANSWER)]


INSTRUCTIONS = (
    "You are an incident investigator for the data platform. You may read logs, deploys, locks and "
    "settings; you may not restart, change or delete anything. Look at one source at a time. Name the "
    "hour, the component and the evidence for each finding, and keep what is known apart from what "
    "is guessed. If two causes are possible, say which reading would decide between them. Stop when "
    "the cause is certain, and write for an engineer who has just woken up: the cause first, then "
    "the evidence, then what to do. Times are UTC. Do not contact the on-call engineer."
)

TASK = (
    "Why did the export job fail last night? The nightly-export run did not deliver its file to the "
    "finance team by 06:00, and the scheduler only says failed. Find the cause and the evidence."
)

ANSWER = (
    "The export job failed at 02:00 because its db step timed out. Deploy 4417 at 01:52 had raised "
    "the batch size from 5,000 to 50,000 rows, and the nightly vacuum held a lock on table exports "
    "from 02:04 to 02:31, so each batch waited longer than the 300 second limit."
)


def _log_steps() -> list[tuple[str, dict[str, str], dict[str, str]]]:
    steps = []
    for i in range(24):
        hour = f"{i:02d}:00"
        finding = "timeout on db step" if i == 2 else "no errors"
        result = {"hour": hour, "finding": finding, "raw": "\n".join(_log_lines(i))}
        steps.append(("search_logs", {"hour": hour}, result))
    return steps


def _log_lines(hour: int) -> list[str]:
    """A few believable lines for one hour; the night batch at 02:00 is the one that fails."""
    lines = []
    for n in range(5 + (hour * 5) % 4):
        minute, rows = (hour * 11 + n * 13) % 60, 4100 + (hour * 317 + n * 89) % 900
        lines.append(
            f"{hour:02d}:{minute:02d} export-worker-{n % 3} INFO batch {rows} rows written"
        )
    if hour == 2:
        lines.append("02:09 export-worker-1 ERROR db step: no answer after 300 s, batch 50000 rows")
        lines.append(
            "02:09 export-scheduler ERROR job nightly-export marked failed, 0 retries left"
        )
    return lines


def _other_steps() -> list[tuple[str, dict[str, str], dict[str, str]]]:
    return [
        (
            "list_deploys",
            {"service": "export"},
            {
                "source": "deploys",
                "finding": "deploy 4417 at 01:52 raised batch_size to 50000",
                "raw": "4415 17:10 export docs only\n4416 18:41 billing retry policy\n"
                "4417 01:52 export batch_size 5000 -> 50000, by nadia, no review",
            },
        ),
        (
            "list_locks",
            {"table": "exports"},
            {
                "source": "locks",
                "finding": "vacuum locked table exports from 02:04 to 02:31",
                "raw": "01:30-01:31 analyze exports share\n02:04-02:31 vacuum full exports exclusive\n"
                "05:00-05:01 analyze invoices share",
            },
        ),
        (
            "read_settings",
            {"service": "export"},
            {
                "source": "settings",
                "finding": "no errors",
                "raw": "db_timeout_s 300\nretries 0\nbatch_size 50000\nworkers 3\nwindow 02:00-03:00",
            },
        ),
    ]
