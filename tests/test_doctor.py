"""Each check of `doctor` says OK on a sound machine and FAIL, with a cure, on a broken one."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from course_lib.setup import doctor, environment
from course_lib.setup.environment import Interpreter, Requirement

IPYWIDGETS = Requirement("ipywidgets", "8.1", "9")


def not_installed(name: str) -> str:
    raise metadata.PackageNotFoundError(name)


def refuse_to_start() -> str:
    raise subprocess.CalledProcessError(1, "python")


def assert_fails(finding: doctor.Finding, *words: str) -> None:
    assert str(finding).startswith("[FAIL] ")
    for each in words:
        assert each in finding.sentence


def assert_fine(finding: doctor.Finding) -> None:
    assert finding.ok, finding.sentence
    assert str(finding).startswith("[OK] ")


def test_python() -> None:
    assert_fine(doctor.check_python())
    assert_fails(doctor.check_python((3, 10, 13)), "3.10.13", "install Python 3.11")


def test_environment() -> None:
    assert_fine(doctor.check_environment("active", []))
    assert_fine(doctor.check_environment("venv", ["tiktoken is not installed"]))
    lacking = ["tiktoken is not installed"]
    assert_fails(doctor.check_environment("make", lacking), *lacking, "python -m course_lib lab")


def test_package() -> None:
    assert_fine(doctor.check_package(IPYWIDGETS, {"ipywidgets": "8.1.9"}.__getitem__))
    older = doctor.check_package(IPYWIDGETS, {"ipywidgets": "7.8.5"}.__getitem__)
    assert_fails(older, "7.8.5", 'pip install "ipywidgets>=8.1,<9"')
    assert_fails(doctor.check_package(IPYWIDGETS, not_installed), "not installed", "pip install")


def test_venv(tmp_path: Path) -> None:
    sound = Interpreter(Path(sys.executable), (3, 12), tmp_path)
    assert_fails(doctor.check_venv(sound), "isn't filled", "python -m course_lib lab")
    assert_fails(doctor.check_venv(sound._replace(version=(3, 9))), "too old")
    assert_fails(doctor.check_venv(None), "gone", "anew")
    lock = environment.ROOT / "requirements.txt"
    stamp = tmp_path / "requirements.txt.installed"
    stamp.write_text(hashlib.sha256(lock.read_bytes()).hexdigest(), encoding="utf-8")
    assert_fine(doctor.check_venv(sound))


def test_kernel_of_another_python(tmp_path: Path) -> None:
    assert_fine(doctor.check_kernel(lambda: sys.prefix))
    assert_fails(doctor.check_kernel(lambda: str(tmp_path)), str(tmp_path), "ipykernel install")
    assert_fails(doctor.check_kernel(refuse_to_start), "doesn't start", "ipykernel install")


def test_kernel_is_the_one_jupyter_would_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_fine(doctor.check_kernel())
    spec = tmp_path / "kernels/python3/kernel.json"
    spec.parent.mkdir(parents=True)
    argv = [str(tmp_path / "old/python"), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec.write_text(
        json.dumps({"argv": argv, "display_name": "Old", "language": "python"}), encoding="utf-8"
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    assert_fails(doctor.check_kernel(), "doesn't start")


def test_widgets_front_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_fine(doctor.check_widgets())
    assert_fails(doctor.check_widgets(folders=lambda: [tmp_path]), "doesn't find", "--force")
    stale = tmp_path / "labextensions" / doctor.MANAGER
    stale.parent.mkdir(parents=True)
    stale.write_text('{"version": "3.1.0"}', encoding="utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    assert_fails(doctor.check_widgets(), "another version", str(stale.parent))


def test_widgets_packages() -> None:
    ours = doctor.front_end()
    older = ours._replace(version="1.1.1", fits=False)
    assert_fails(doctor.check_widgets(expected=lambda: older), "1.1.1", ours.needed)
    gone = doctor.check_widgets(expected=lambda: not_installed("ipywidgets"))
    assert_fails(gone, "no front end", "pip install")


def test_vocabulary(tmp_path: Path) -> None:
    assert_fine(doctor.check_vocabulary())
    copy = tmp_path / "vocabulary"
    assert_fails(doctor.check_vocabulary(copy), "can't be read", "git checkout")
    shutil.copy(doctor.VOCABULARY, copy)
    assert_fine(doctor.check_vocabulary(copy))
    copy.write_bytes(copy.read_bytes().replace(b"\n", b"\r\n"))
    assert_fails(doctor.check_vocabulary(copy), "has been changed", "git checkout")


def test_progress(tmp_path: Path) -> None:
    assert_fine(doctor.check_progress(tmp_path))
    assert not list(tmp_path.iterdir())
    assert_fails(doctor.check_progress(tmp_path / "nowhere"), "move the course")
    assert_fine(doctor.check_progress(None))


def test_progress_folder_follows_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "mine.json"))
    assert doctor.progress_folder() == tmp_path
    monkeypatch.setenv("COURSE_PROGRESS", "memory")
    assert doctor.progress_folder() is None
    monkeypatch.delenv("COURSE_PROGRESS")
    assert doctor.progress_folder() == environment.ROOT


def test_the_last_line_sums_up() -> None:
    fine, bad = doctor.Finding(True, "a"), doctor.Finding(False, "b")
    assert "All is well" in doctor.summary([fine, fine])
    assert doctor.summary([fine, bad, bad]).startswith("2 of 3 checks failed")


def test_without_any_environment_it_names_the_command_that_makes_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment, "choice", lambda need: "make")
    monkeypatch.setattr(environment, "child_environment", lambda python: {})
    assert doctor.main() == 1
    printed = capsys.readouterr().out
    assert "[FAIL] This Python lacks something" in printed
    assert "`python -m course_lib lab` makes one" in printed


def test_it_looks_into_the_venv_when_another_python_starts_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = Interpreter(Path("/course/.venv/bin/python"), (3, 12), Path("/course/site"))
    monkeypatch.setattr(environment, "choice", lambda need: "venv")
    monkeypatch.setattr(environment, "running_in_venv", lambda: False)
    monkeypatch.setattr(environment, "probe", lambda python: there)
    monkeypatch.setattr(environment, "run_course", lambda *what: what)
    assert doctor.main() == (there.python, "doctor")


def test_here_all_is_well() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "course_lib", "doctor"],
        cwd=environment.ROOT,
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stdout
    assert "[FAIL]" not in answer.stdout
    assert "All is well" in answer.stdout.splitlines()[-1]
