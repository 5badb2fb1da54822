"""`python -m course_lib lab`: JupyterLab on the first notebook, set up for this course."""

from __future__ import annotations

import argparse
import errno
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from course_lib.setup.copies import lay_out, sentences
from course_lib.setup.environment import ROOT, child_environment, ensure, say

FIRST_PORT = 8888
START = "notebooks/00_start_here.ipynb"
COPY = "my_course"
SETTINGS = Path(__file__).parent / "settings"
WORKSPACES = ROOT / ".lab" / "workspaces"
TEXT_BROWSERS = {"www-browser", "links", "elinks", "lynx", "w3m"}


def options(arguments: list[str]) -> argparse.Namespace:
    """What the learner asked for on the command line."""
    parser = argparse.ArgumentParser(prog="python -m course_lib lab")
    parser.add_argument("--port", type=int, help=f"the port; else the first free from {FIRST_PORT}")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument(
        "--originals",
        action="store_true",
        help=f"for maintainers: open the notebooks themselves, not your copy of them in {COPY}/",
    )
    return parser.parse_args(arguments)


def is_free(port: int) -> bool:
    """Whether nothing listens there, on either of the addresses that `localhost` can mean."""
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            socket.create_server((host, port), family=family).close()
        except OSError as error:
            # A machine without IPv6 refuses ::1 in other ways; that is no sign of a listener.
            if family == socket.AF_INET or error.errno == errno.EADDRINUSE:
                return False
    return True


def choose_port(wanted: int | None, free: Callable[[int], bool] = is_free) -> int:
    """The port asked for, else the first free one from 8888.

    Raises `SystemExit` with a sentence where it is taken, or where all are.
    """
    if wanted is not None:
        if free(wanted):
            return wanted
        raise SystemExit(f"Port {wanted} is taken. Without --port, a free one is found for you.")
    for port in range(FIRST_PORT, FIRST_PORT + 100):
        if free(port):
            return port
    raise SystemExit(f"No port from {FIRST_PORT} on is free. Name one yourself: --port 9999")


def own_copy(root: Path = ROOT) -> str:
    """Lay the learner's copy, say what has changed in it, and give back its first notebook's path.

    Where there is no copy and none can be written, that of the original.
    """
    first = f"{COPY}/{START}"
    try:
        changes = lay_out(root, root / COPY)
    except OSError as error:
        reason = error.strerror or error
        if (root / first).is_file():
            say(f"Not all that is new could be written to {COPY}/ ({reason}). It opens as it is.")
            return first
        say(f"Your own copy, {COPY}/, can't be written ({reason}): the originals open instead.")
        return START
    for sentence in sentences(changes):
        say(sentence)
    return first


def address(port: int, token: str, notebook: str = START) -> str:
    """Where a notebook opens."""
    return f"http://localhost:{port}/lab/tree/{notebook}?token={token}"


def command(python: Path, port: int) -> list[str]:
    """The command line of JupyterLab; nothing in the learner's home has to be set for it."""
    line = [
        *(str(python), "-m", "jupyterlab", "--no-browser"),
        *("--ServerApp.log_level=WARN", "--LabApp.log_level=WARN"),
        *(f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
        f"--ServerApp.root_dir={ROOT}",
        f"--LabApp.app_settings_dir={SETTINGS}",
        # JupyterLab has one layout for all folders; with it, tabs of other work would open here.
        f"--LabApp.workspaces_dir={WORKSPACES}",
    ]
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return [*line, "--allow-root"] if is_root else line


def has_browser(
    platform: str = sys.platform,
    environ: Mapping[str, str] = os.environ,
    get: Callable[[], object] = webbrowser.get,
) -> bool:
    """Whether a browser with windows can open on this screen."""
    if platform.startswith("linux") and not (
        environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    ):
        return False
    try:
        return getattr(get(), "name", "") not in TEXT_BROWSERS
    except webbrowser.Error:
        return False


def wait_until_up(server: subprocess.Popen[bytes], port: int) -> None:
    """Return once the server answers.

    Raises `SystemExit` with a sentence when it ends before that.
    """
    while server.poll() is None:
        with suppress(OSError):
            socket.create_connection(("localhost", port), timeout=1).close()
            return
        time.sleep(0.1)
    raise SystemExit(
        f"JupyterLab ended before it was ready (exit code {server.returncode})."
        " `python -m course_lib doctor` looks for the reason."
    )


def stop(server: subprocess.Popen[bytes]) -> None:
    """End the server and its kernels, cleanly where it lets us."""
    with suppress(subprocess.TimeoutExpired):
        # On Windows, Ctrl-C has reached the server too, and terminate() would cut it short.
        server.wait(timeout=5 if os.name == "nt" else 0)
    for end in (server.terminate, server.kill):
        if server.poll() is None:
            end()
            with suppress(subprocess.TimeoutExpired):
                server.wait(timeout=10)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def main(arguments: list[str]) -> int:
    """Open JupyterLab and stay until it is stopped; gives back the exit code."""
    asked = options(arguments)
    port = choose_port(asked.port)
    python = ensure("lab")
    notebook = START if asked.originals else own_copy()
    token = secrets.token_hex(24)
    signal.signal(signal.SIGTERM, _interrupt)  # else the server would outlive this process
    say("Starting JupyterLab …")
    server = subprocess.Popen(
        command(python, port),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,  # on a terminal it would ask at Ctrl-C whether it is meant
        env={**child_environment(python), "JUPYTER_TOKEN": token},
    )
    try:
        return _attend(server, address(port, token, notebook), port, asked.no_browser)
    except KeyboardInterrupt:
        say("\nStopping JupyterLab …")
        return 0
    finally:
        stop(server)


def _attend(server: subprocess.Popen[bytes], place: str, port: int, no_browser: bool) -> int:
    wait_until_up(server, port)
    say("JupyterLab is running. Ctrl-C here stops it. The course is at")
    say(place)
    if not no_browser and has_browser():
        webbrowser.open(place)
    code = server.wait()
    say("JupyterLab has stopped.")
    return code
