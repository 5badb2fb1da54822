"""The commands, the choice of an environment, the lock files, and a real JupyterLab."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib import __main__ as commands
from course_lib.endpoints import model_from_environment
from course_lib.setup import environment, lab, testing
from course_lib.setup.environment import ROOT, Requirement

POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C to a whole console")


def course(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line of the course as a learner would."""
    return subprocess.run(
        [sys.executable, "-m", "course_lib", *arguments], cwd=ROOT, capture_output=True, text=True
    )


# The command line


def test_every_command_is_listed_with_a_sentence() -> None:
    listed = course()
    assert listed.returncode == 0
    for name in ("lab", "test", "doctor", "exercises", "notebooks"):
        assert re.search(rf"^  {name} +[A-Z].+\.$", listed.stdout, re.MULTILINE)
    assert course("--help").stdout == listed.stdout


def test_an_unknown_command_gets_a_sentence() -> None:
    answer = course("lap")
    assert answer.returncode == 2
    assert answer.stderr == "There is no command 'lap'. `python -m course_lib` lists them.\n"


def test_an_old_python_gets_a_sentence() -> None:
    pretend = "import sys, runpy; sys.version_info = (3, 9, 2, 'final', 0);"
    code = pretend + "runpy.run_module('course_lib', run_name='__main__', alter_sys=True)"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 1
    assert answer.stderr.strip() == "The course needs Python 3.11 or newer; this is 3.9."


def test_no_packages_are_loaded_to_run_a_command() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "import course_lib.__main__, course_lib.setup.lab, course_lib.setup.testing\n"
        "import course_lib.setup.doctor\n"
        "new = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - sys.stdlib_module_names - {'course_lib'}))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert answer.stdout == "[]\n", answer.stderr


def test_ctrl_c_ends_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    slow = commands.Command("Takes long.", None, interrupted)
    monkeypatch.setitem(commands.COMMANDS, "slow", slow)
    assert commands.main(["slow"]) == 130
    assert "Stopped" in capsys.readouterr().err


def test_a_command_runs_where_what_it_needs_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Path("/elsewhere/.venv/bin/python")
    monkeypatch.setattr(environment, "ensure", lambda need: there)
    monkeypatch.setattr(environment, "running_in_venv", lambda: False)
    monkeypatch.setattr(environment, "run_course", lambda *what: what)
    assert commands.run("notebooks", ["a.ipynb"]) == (there, "notebooks", "a.ipynb")


# Which environment


@pytest.mark.parametrize(
    ("in_venv", "satisfied", "venv_exists", "chosen"),
    [
        (False, True, False, "active"),
        (False, True, True, "active"),
        (False, False, True, "venv"),
        (False, False, False, "make"),
        (True, False, True, "venv"),
        (True, True, True, "venv"),
    ],
)
def test_choice(in_venv: bool, satisfied: bool, venv_exists: bool, chosen: str) -> None:
    found = environment.choose(in_venv=in_venv, satisfied=satisfied, venv_exists=venv_exists)
    assert found == chosen


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ("8.1", True),
        ("8.1.9", True),
        ("8.10.0", True),
        ("8.0.7", False),
        ("7.8.5", False),
        ("9.0.0", False),
        ("9.0.0rc1", False),
        ("", False),
    ],
)
def test_versions_are_compared_as_numbers(version: str, fits: bool) -> None:
    asked = Requirement("ipywidgets", "8.1", "9")
    assert (environment.fault(asked, lambda name: version) == "") is fits


def test_every_package_of_the_lab_counts() -> None:
    pinned = {name: pins[0] for name, pins in environment.pins(ROOT / "requirements.txt").items()}
    assert environment.faults("lab", pinned.__getitem__) == []
    for requirement in environment.requirements("lab"):
        older = pinned | {requirement.name: "0.1"}
        assert len(environment.faults("lab", older.__getitem__)) == 1


def test_a_range_in_another_form_is_refused() -> None:
    with pytest.raises(ValueError, match="tiktoken~=0.8"):
        environment.parse_requirement("tiktoken~=0.8")


def test_outside_the_course_folder_it_says_where_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="course's folder"):
        environment.requirements("lab")


# Making and mending .venv


@pytest.fixture(scope="module")
def fresh_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real `.venv` with nothing but pip in it, made where a vanished Python had left one."""
    venv = tmp_path_factory.mktemp("made") / ".venv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "VENV", venv)
        python = environment.venv_python()
        python.parent.mkdir(parents=True)
        python.write_text("no program", encoding="utf-8")
        interpreter = environment.make_venv()
    assert interpreter.python == python
    assert interpreter.has_pip
    return venv


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_venv: Path) -> Path:
    """A project folder of its own, run by a bare Python that has nothing installed."""
    for name in ("pyproject.toml", *environment.LOCKS.values()):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(fresh_venv, tmp_path / ".venv", symlinks=True)
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(environment, "faults", lambda need: ["nothing is installed"])
    return tmp_path


@pytest.fixture
def pip_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lock files that pip was asked to install; pip itself does nothing here."""
    runs: list[str] = []
    monkeypatch.setattr(environment, "run_pip", lambda python, lock: runs.append(lock.name))
    return runs


def test_it_installs_once(
    project: Path, pip_runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    python = environment.ensure("lab")
    assert python == project / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    said = capsys.readouterr().out
    assert re.fullmatch(r"Installing what the course needs \(about \d+ MB, once\) …\n", said)
    assert environment.ensure("lab") == python
    assert pip_runs == ["requirements.txt"]
    assert capsys.readouterr().out == ""


def test_a_changed_lock_is_installed_again(project: Path, pip_runs: list[str]) -> None:
    environment.ensure("lab")
    with (project / "requirements.txt").open("a", encoding="utf-8") as lock:
        lock.write("# changed\n")
    environment.ensure("lab")
    assert pip_runs == ["requirements.txt"] * 2


def test_the_test_tools_bring_the_lab_along(project: Path, pip_runs: list[str]) -> None:
    environment.ensure("test")
    environment.ensure("workshop")
    environment.ensure("lab")
    assert pip_runs == ["requirements-test.txt"]


def test_an_install_that_broke_off_is_done_again(
    project: Path, pip_runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.ensure("lab")
    (project / "requirements.txt").write_text("tiktoken==0.9.0\n", encoding="utf-8")

    def break_off(python: Path, lock: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(environment, "run_pip", break_off)
        with pytest.raises(KeyboardInterrupt):
            environment.ensure("lab")
    shutil.copy(ROOT / "requirements.txt", project)  # the lock of the first time is not enough now
    environment.ensure("lab")
    assert pip_runs == ["requirements.txt"] * 2


def test_half_installed_packages_are_forgotten(tmp_path: Path) -> None:
    for name, files in {"whole": ["METADATA", "RECORD"], "half": ["METADATA"]}.items():
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        for file in files:
            (info / file).write_text("Name: x\n", encoding="utf-8")
    environment.forget_unfinished(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["whole-1.0.dist-info"]


def test_course_lib_is_found_from_any_folder_also_after_a_move(
    project: Path, pip_runs: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    shutil.copytree(ROOT / "course_lib", project / "course_lib")
    environment.ensure("lab")
    moved = tmp_path_factory.mktemp("new") / "course é"
    project.rename(moved)
    python = moved / environment.venv_python().relative_to(project)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    answer = subprocess.run(
        [python, "-c", "import course_lib; print(ascii(course_lib.__file__))"],
        cwd=tmp_path_factory.mktemp("elsewhere"),
        env=env,
        capture_output=True,
        text=True,
    )
    assert answer.stdout.strip() == ascii(str(moved / "course_lib/__init__.py")), answer.stderr


def test_a_python_without_venv_gets_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    without = "The virtual environment was not created because ensurepip is not available."
    failed = subprocess.CompletedProcess([], 1, stdout=without, stderr="")
    monkeypatch.setattr(environment, "probe", lambda python: None)
    monkeypatch.setattr(environment.subprocess, "run", lambda *args, **kwargs: failed)
    with pytest.raises(SystemExit, match="apt install python3-venv"):
        environment.make_venv()


def test_pip_that_fails_ends_in_a_sentence(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.txt"
    lock.write_text(f"tiktoken==0.8.0 --hash=sha256:{'0' * 64}\n--no-index\n", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        environment.run_pip(Path(sys.executable), lock)
    assert re.search(r"It says: ERROR: .*tiktoken==0\.8\.0", str(ended.value))
    assert "Is there a network?" in str(ended.value)


def test_progress_is_told_in_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"Collecting package{i}\n" for i in range(60)] + ["Installing collected packages: x\n"]
    assert environment.show_progress(lines, total=60)[-1] == lines[-1]
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == [f"  fetching package {n} of about 60" for n in (25, 50)]
    assert len(told) == 3


# The files that name the dependencies


def test_every_pin_is_in_the_range_of_pyproject() -> None:
    for need, lock in environment.LOCKS.items():
        pins = environment.pins(ROOT / lock)
        for requirement in environment.requirements(need):
            assert pins[requirement.name]
            for pin in pins[requirement.name]:
                assert environment.fault(requirement, lambda name, pin=pin: pin) == ""


@pytest.mark.parametrize(
    ("smaller", "larger", "more"),
    [("lab", "workshop", {"jupyterhub"}), ("workshop", "test", {"pytest", "nbval"})],
)
def test_each_lock_is_the_one_before_it_and_more(
    smaller: environment.Need, larger: environment.Need, more: set[str]
) -> None:
    small, large = (environment.pins(ROOT / environment.LOCKS[each]) for each in (smaller, larger))
    assert small == {name: large[name] for name in small}
    assert more <= large.keys() - small.keys()


@pytest.mark.parametrize("lock", environment.LOCKS.values())
def test_locks_install_anywhere(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert not re.search(r"://|^-|[\w.]/[\w.]|\\\w", text, re.MULTILINE)  # no address, no path
    pinned = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in each for each in pinned)


def test_conda_gets_the_same_ranges() -> None:
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    named = re.findall(r"^  - (\S*[<>=]\S*)$", text, re.MULTILINE)
    ranges = [f"{each.name}{each.range}" for each in environment.requirements("lab")]
    assert named == ["python>=3.11", *ranges]
    assert re.search(r"^  - pip:\n      - -e \.$", text, re.MULTILINE)


def test_all_name_the_same_oldest_python() -> None:
    oldest = ".".join(map(str, environment.OLDEST))
    assert f'requires-python = ">={oldest}"' in (ROOT / "pyproject.toml").read_text("utf-8")
    assert f"--python-version {oldest} " in (ROOT / "Makefile").read_text("utf-8")


# JupyterLab


def test_a_taken_port_is_passed_over() -> None:
    taken = {8888, 8889}
    assert lab.choose_port(None, lambda port: port not in taken) == 8890
    assert lab.choose_port(9000, lambda port: True) == 9000
    with pytest.raises(SystemExit, match="Port 8888 is taken"):
        lab.choose_port(8888, lambda port: port not in taken)
    with pytest.raises(SystemExit, match="--port"):
        lab.choose_port(None, lambda port: False)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_listener_is_noticed(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"this machine has no {host}")
    port = listener.getsockname()[1]
    with listener:
        assert not lab.is_free(port)
    assert lab.is_free(port)


class Named:
    """A browser, as `webbrowser.get` gives one."""

    def __init__(self, name: str) -> None:
        self.name = name


def no_browser() -> object:
    raise webbrowser.Error


def test_a_browser_is_opened_only_where_there_is_one() -> None:
    screen = {"DISPLAY": ":0"}
    assert lab.has_browser("linux", screen, lambda: Named("firefox"))
    assert lab.has_browser("linux", {"WAYLAND_DISPLAY": "wayland-0"}, lambda: Named("firefox"))
    assert lab.has_browser("darwin", {}, lambda: Named("MacOSX"))
    assert lab.has_browser("win32", {}, object)
    assert not lab.has_browser("linux", {}, lambda: Named("firefox"))
    assert not lab.has_browser("linux", screen, lambda: Named("lynx"))
    assert not lab.has_browser("linux", screen, no_browser)


def test_root_is_allowed_only_where_it_is_root(monkeypatch: pytest.MonkeyPatch) -> None:
    for user, allowed in ((0, True), (1000, False)):
        monkeypatch.setattr(lab.os, "geteuid", lambda user=user: user, raising=False)
        assert ("--allow-root" in lab.command(Path("python"), 8888)) is allowed


def test_a_server_that_dies_early_ends_in_a_sentence() -> None:
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"]) as server:
        server.wait()
        with pytest.raises(SystemExit, match=r"exit code 3\).*doctor"):
            lab.wait_until_up(server, 8888)


@POSIX_ONLY
def test_the_server_ends_with_the_command_that_started_it() -> None:
    code = (
        "import sys; from course_lib.setup import lab\n"
        "serve = [sys.executable, '-m', 'http.server', '--bind', '127.0.0.1']\n"
        "lab.command = lambda python, port: [*serve, str(port)]\n"
        "sys.exit(lab.main(['--no-browser', '--originals']))"
    )
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, **quiet) as process:
        place = next(line for line in process.stdout if line.startswith("http"))
        port = int(re.search(r"localhost:(\d+)", place).group(1))
        assert not lab.is_free(port)
        process.terminate()
        process.wait(timeout=20)
    assert lab.is_free(port)
    assert process.returncode == 0


class Running:
    """A JupyterLab that the course started, and what it answers."""

    def __init__(self, process: subprocess.Popen[str], place: str) -> None:
        self.process = process
        self.place = place
        self.origin, self.token = re.match(r"(.*?)/lab/.*token=(\w+)", place).groups()

    def ask(self, path: str) -> dict:
        """The JSON at an address of the server."""
        request = urllib.request.Request(
            f"{self.origin}/{path}", headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)


@pytest.fixture(scope="module")
def running_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """JupyterLab as a learner starts it, in a home with an old kernel and another's settings."""
    home = tmp_path_factory.mktemp("home")
    kernel = home / "data/kernels/python3/kernel.json"
    kernel.parent.mkdir(parents=True)
    old = {"argv": ["/old/python"], "display_name": "Old", "language": "python"}
    kernel.write_text(json.dumps(old), encoding="utf-8")
    env = os.environ | {
        "HOME": str(home),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTER_PREFER_ENV_PATH": "0",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "course_lib", "lab", "--no-browser", "--originals"],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        place = next((line for line in process.stdout if line.startswith("http")), "")
        assert place, process.stderr.read()
        yield Running(process, place.strip())
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=20)


def test_lab_prints_its_address_and_answers_there(running_lab: Running) -> None:
    assert re.fullmatch(
        r"http://localhost:\d+/lab/tree/notebooks/00_start_here\.ipynb\?token=\w{48}",
        running_lab.place,
    )
    assert running_lab.ask("api/status")["kernels"] == 0
    names = {each["name"] for each in running_lab.ask("api/contents")["content"]}
    assert {"course_lib", "pyproject.toml"} <= names


def test_lab_asks_for_no_news(running_lab: Running) -> None:
    answer = running_lab.ask("lab/api/settings/@jupyterlab/apputils-extension:notification")
    settings = answer["schema"]["properties"]
    assert settings["fetchNews"]["default"] == "false"
    assert settings["checkForUpdates"]["default"] is False


def test_all_our_settings_exist_in_jupyterlab(running_lab: Running) -> None:
    overrides = json.loads((lab.SETTINGS / "overrides.json").read_text(encoding="utf-8"))
    for plugin, values in overrides.items():
        known = running_lab.ask(f"lab/api/settings/{plugin}")["schema"]["properties"]
        for name, value in values.items():
            assert known[name]["default"] == value


def test_an_old_kernel_at_home_is_not_used(running_lab: Running) -> None:
    spec = running_lab.ask("api/kernelspecs")["kernelspecs"]["python3"]["spec"]
    assert spec["argv"][0] != "/old/python"


@POSIX_ONLY
def test_ctrl_c_stops_the_lab_cleanly(running_lab: Running) -> None:
    running_lab.process.send_signal(signal.SIGINT)
    out, err = running_lab.process.communicate(timeout=20)
    assert running_lab.process.returncode == 0
    assert "Stopping JupyterLab" in out
    assert "Traceback" not in err
    with pytest.raises(OSError, match="refused"):
        running_lab.ask("api/status")


# The tests


def test_pytest_gets_all_folders_or_what_was_named(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "solutions").mkdir()
    (tmp_path / "tests/test_a.py").touch()
    options = [*testing.NBVAL, *testing.WORKERS]
    assert testing.pytest_arguments([], tmp_path) == [*options, "tests", "solutions"]
    some = ["-k", "trim"]
    assert testing.pytest_arguments(some, tmp_path) == [*options, "tests", "solutions", *some]
    one = ["tests/test_a.py::test_b"]
    assert testing.pytest_arguments(one, tmp_path) == [*options, *one]


def test_the_tests_ask_no_model_that_this_machine_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("COURSE_MODEL_URL", "COURSE_MODEL"):
        monkeypatch.setenv(name, "http://localhost:11434/v1")
    env = testing.quiet_environment(Path(sys.executable), tmp_path)
    assert model_from_environment(environment=env) is None


def test_tests_stay_out_of_the_learners_home(tmp_path: Path) -> None:
    env = testing.quiet_environment(Path(sys.executable), tmp_path)
    code = (
        "import json, os, IPython.paths, jupyter_core.paths as paths, matplotlib;"
        "print(json.dumps([os.environ['COURSE_PROGRESS'], IPython.paths.get_ipython_dir(),"
        "paths.jupyter_config_dir(), paths.jupyter_data_dir(), paths.jupyter_runtime_dir(),"
        "matplotlib.get_configdir()]))"
    )
    answer = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    progress, *places = json.loads(answer.stdout)
    assert progress == "memory"
    for place in places:
        assert Path(place).resolve().is_relative_to(tmp_path.resolve())
