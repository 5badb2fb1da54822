"""`python -m course_lib doctor`: what commonly breaks on a machine, and what to do about it.

Each check returns whether all is well and a sentence; a bad one says what to do. What a check
asks of the machine is an argument, so that a test can break it.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from course_lib.setup import environment
from course_lib.setup.environment import OLDEST, ROOT, Requirement

LAB = "`python -m course_lib lab`"
VOCABULARY = Path(__file__).resolve().parents[1] / "data/fb374d419588a4632f3f557e76b4b70aebbca790"
VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
MANAGER = "@jupyter-widgets/jupyterlab-manager/package.json"


class Finding(NamedTuple):
    """What a check found: whether all is well, and a sentence."""

    ok: bool
    sentence: str

    def __str__(self) -> str:
        return f"[{'OK' if self.ok else 'FAIL'}] {self.sentence}"


def check_python(version: Sequence[int] = sys.version_info) -> Finding:
    """Python is new enough."""
    found = ".".join(str(part) for part in version[:3])
    if tuple(version[:2]) >= OLDEST:
        return Finding(True, f"Python {found}.")
    return Finding(False, f"Python {found} is too old: install Python 3.11 or newer.")


def check_environment(choice: str, lacking: Sequence[str]) -> Finding:
    """There is a Python that has what the course needs."""
    if choice == "active":
        return Finding(
            True, "The Python you started has what the course needs; it is used as it is."
        )
    if choice == "venv":
        return Finding(True, "The course runs in its own environment, the folder .venv.")
    return Finding(
        False,
        f"This Python lacks something ({'; '.join(lacking)}) and there is no .venv yet:"
        f" {LAB} makes one.",
    )


def check_venv(interpreter: environment.Interpreter | None) -> Finding:
    """`.venv` starts, is new enough, and was filled to the end with the versions of today."""
    if interpreter is None or interpreter.version < OLDEST:
        return Finding(
            False, f"The Python of .venv is gone or too old: {LAB} makes the folder anew."
        )
    if not environment.installed(interpreter.site, "lab"):
        return Finding(
            False, f".venv isn't filled, or requirements.txt has changed since: run {LAB}."
        )
    return Finding(True, ".venv holds what requirements.txt names.")


def check_package(
    requirement: Requirement, version_of: Callable[[str], str] = metadata.version
) -> Finding:
    """A package is there in a version that will do."""
    if wrong := environment.fault(requirement, version_of):
        install = f'pip install "{requirement.name}{requirement.range}"'
        return Finding(False, f"{wrong}. Run {LAB}, or in an environment of your own: {install}")
    return Finding(True, f"{requirement.name} {version_of(requirement.name)}.")


def kernel_prefix() -> str:
    """Where the Python lives that the `python3` kernel starts; raises where there is none."""
    from jupyter_client.kernelspec import KernelSpecManager

    program = KernelSpecManager().get_kernel_spec("python3").argv[0]
    if program in ("python", "python3", "python{}.{}".format(*sys.version_info)):
        program = sys.executable  # so does the server with a bare name
    answer = subprocess.run(
        [program, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True
    )
    return answer.stdout.strip()


def check_kernel(prefix_of_kernel: Callable[[], str] = kernel_prefix) -> Finding:
    """Notebooks run in the Python that has the packages, not in another that lies about."""
    cure = f'Mend it with: "{sys.executable}" -m ipykernel install --sys-prefix'
    try:
        found = prefix_of_kernel()
    except Exception as error:  # whatever keeps a kernel from starting is what we report
        return Finding(False, f"The kernel that runs notebooks doesn't start ({error}). {cure}")
    if Path(found).resolve() != Path(sys.prefix).resolve():
        return Finding(False, f"Notebooks would run in another Python, that of {found}. {cure}")
    return Finding(True, "Notebooks run in this same Python.")


def extension_folders() -> list[Path]:
    """The folders in which JupyterLab looks for extensions, the first that has one wins."""
    from jupyter_core.paths import jupyter_path

    return [Path(folder) for folder in jupyter_path("labextensions")]


class FrontEnd(NamedTuple):
    """The half of the widgets that runs in the browser, as the Python packages know it.

    `needed` is the range that ipywidgets asks for and `fits` whether `version` is in it; `digest`
    is that of the file by which JupyterLab finds the front end, empty where no package tells.
    """

    version: str
    needed: str
    fits: bool
    digest: str


def front_end() -> FrontEnd:
    """The front end that belongs to this Python.

    Raises `PackageNotFoundError` where it isn't installed.
    """
    from packaging.requirements import Requirement as Parsed

    needs = [Parsed(line) for line in metadata.requires("ipywidgets") or []]
    asked = next(need for need in needs if need.name.replace("-", "_") == "jupyterlab_widgets")
    version = metadata.version("jupyterlab_widgets")
    files = metadata.files("jupyterlab_widgets") or []
    digests = [file.hash.value for file in files if file.as_posix().endswith(MANAGER) and file.hash]
    return FrontEnd(version, str(asked.specifier), version in asked.specifier, *(digests or [""]))


def record_digest(file: Path) -> str:
    """SHA-256 of a file as an installed package's RECORD writes it."""
    digest = hashlib.sha256(file.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def check_widgets(
    folders: Callable[[], Sequence[Path]] = extension_folders,
    expected: Callable[[], FrontEnd] = front_end,
) -> Finding:
    """JupyterLab finds the widgets' front end, and it is the one that this ipywidgets needs."""
    pip = f'Mend it with: "{sys.executable}" -m pip install'
    anew = f"{pip} --force-reinstall --no-deps jupyterlab_widgets"
    try:
        wanted = expected()
        found = next((at for folder in folders() if (at := folder / MANAGER).exists()), None)
    except ImportError as error:  # a package that isn't installed is one, too
        return Finding(False, f"The sliders have no front end ({error}). {anew}")
    if not wanted.fits:
        return Finding(
            False,
            f"jupyterlab_widgets is {wanted.version}, this ipywidgets needs {wanted.needed}."
            f' {pip} "jupyterlab_widgets{wanted.needed}"',
        )
    if found is None:
        return Finding(False, f"JupyterLab doesn't find the front end of the sliders. {anew}")
    if wanted.digest not in ("", record_digest(found)):
        return Finding(
            False,
            "JupyterLab would take another version of the sliders' front end than"
            f" {wanted.version}: delete the folder {found.parent}",
        )
    return Finding(True, f"JupyterLab finds the front end of the sliders, {wanted.version}.")


def check_vocabulary(file: Path = VOCABULARY) -> Finding:
    """The bundled vocabulary is whole, so that counting tokens needs no network."""
    cure = "Bring it back with: git checkout -- course_lib/data"
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        return Finding(False, f"The tokens' vocabulary can't be read ({error}). {cure}")
    if digest != VOCABULARY_SHA256:
        return Finding(False, f"The tokens' vocabulary, {file}, has been changed. {cure}")
    return Finding(True, "The tokens' vocabulary is there and whole.")


def check_progress(folder: Path | None) -> Finding:
    """Progress can be kept: a file can be written there. None: it is not meant to be kept."""
    if folder is None:
        return Finding(True, "Your progress is kept only while a notebook runs, as asked.")
    try:
        with tempfile.TemporaryFile(dir=folder):
            return Finding(True, f"Your progress can be kept in {folder}.")
    except OSError as error:
        return Finding(
            False,
            f"Nothing can be written to {folder} ({error.strerror}), so your progress would be"
            " lost: move the course to a folder of your own.",
        )


def progress_folder() -> Path | None:
    """Where the learner's progress is kept; see `course_lib.checks.record`."""
    named = os.environ.get("COURSE_PROGRESS")
    return None if named == "memory" else Path(named).absolute().parent if named else ROOT


def findings(choice: str) -> list[Finding]:
    """All checks that can run in this interpreter, in the order in which to mend things."""
    first = [check_python(), check_environment(choice, environment.faults("lab"))]
    if choice == "venv":
        first.append(check_venv(environment.probe(environment.venv_python())))
    if choice != "make":
        first += [check_package(each) for each in environment.requirements("lab")]
        first += [check_kernel(), check_widgets()]
    return [*first, check_vocabulary(), check_progress(progress_folder())]


def summary(found: Sequence[Finding]) -> str:
    """The closing sentence."""
    bad = sum(not each.ok for each in found)
    if not bad:
        return f"All is well: {LAB} opens the course."
    return f"{bad} of {len(found)} checks failed. Start with the first; the others may follow."


def main() -> int:
    """Print what was found in the environment that `lab` would use; 1 if anything failed."""
    choice = environment.choice("lab")
    if choice == "venv" and not environment.running_in_venv():
        there = environment.probe(environment.venv_python())
        if there and there.version >= OLDEST:
            return environment.run_course(there.python, "doctor")
        found = [check_python(), check_venv(there)]
    else:
        os.environ.update(environment.child_environment(Path(sys.executable)))
        found = findings(choice)
    print(*found, summary(found), sep="\n")
    return 0 if all(each.ok for each in found) else 1
