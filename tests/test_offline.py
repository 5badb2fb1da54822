"""Counting tokens needs no network: the vocabulary is bundled."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.setup.environment import ROOT

COUNT = "from course_lib import count_tokens; print(count_tokens('hello world'))"
NO_SOCKETS = """
import socket
def refuse(*args, **kwargs):
    raise AssertionError("the network was asked for")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
"""


def run_python(code: str, scratch: Path, before: tuple[str, ...] = ()) -> str:
    """The output of a fresh interpreter in which no earlier download of tiktoken's is at hand."""
    kept_elsewhere = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")
    env = {name: value for name, value in os.environ.items() if name not in kept_elsewhere}
    env |= dict.fromkeys(("TMPDIR", "TEMP", "TMP", "HOME"), str(scratch))
    answer = subprocess.run(
        [*before, sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


@pytest.fixture
def without_network() -> tuple[str, ...]:
    """What to put before a command so that it runs with the network cut off."""
    for flags in ("-rn", "-n"):
        before = ("unshare", flags)
        if (
            shutil.which("unshare")
            and not subprocess.run([*before, "true"], capture_output=True).returncode
        ):
            return before
    pytest.skip("this system doesn't let a test cut off the network of a program")


def test_the_cut_is_real(tmp_path: Path, without_network: tuple[str, ...]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = (
            "import socket\ntry:\n"
            f"    socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2)\n"
            "except OSError:\n    print('cut off')\nelse:\n    print('connected')"
        )
        assert run_python(connect, tmp_path) == "connected"
        assert run_python(connect, tmp_path, without_network) == "cut off"


def test_tokens_are_counted_with_the_network_cut_off(
    tmp_path: Path, without_network: tuple[str, ...]
) -> None:
    assert run_python(COUNT, tmp_path, without_network) == "2"


def test_counting_tokens_opens_no_socket(tmp_path: Path) -> None:
    assert run_python(NO_SOCKETS + COUNT, tmp_path) == "2"
