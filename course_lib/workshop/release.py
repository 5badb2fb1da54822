"""`python -m course_lib release`: the course as a zip for learners, without what gives answers away.

Left out are solutions, wrong answers, tests, benchmarks and whatever only maintainers and teachers
use. Checks need some of the answers to compare with, and hints come close to them, so the lessons'
modules of checks are packed: nobody meets an answer by reading or by a search. That is no lock.
"""

from __future__ import annotations

import argparse
import ast
import base64
import copy
import hashlib
import io
import os
import re
import sys
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NoReturn

import nbformat
from nbformat import NotebookNode

from course_lib.messages import CourseError
from course_lib.setup.environment import MEGABYTES, ROOT
from course_lib.setup.saving import save
from course_lib.workshop.build import make_exercise

FOLDER = "short-term-memory-course"
AS_THEY_ARE = ("pyproject.toml", "environment.yml", "requirements.txt", "LICENSE*")
NOT_FOR_LEARNERS = ("course_lib/workshop/", "course_lib/classroom/", "course_lib/setup/testing.py")
CHECKS = re.compile(r"course_lib/checks/lesson0*(\d+)\.py")
ANSWERS = {"course_lib/samples/handoffs.py": "PUMP_NOTE"}  # the note that lesson 5 asks for
WHOLE_COURSE_ONLY = "## Three paths"  # a cell of 00 that counts on all lessons
README_SECTIONS = (
    *("Lessons", "The library behind it", "The log of your own agent"),
    "A model of your own",
)
TEXTS = {".py", ".md", ".toml", ".yml", ".txt", ".ipynb", ".json", ".jsonl", ".css", ".js", ".html"}
Files = dict[str, bytes]

START = f"""\
## How to start

You need Python 3.11 or newer, on Linux, macOS or Windows. Open a terminal in this folder:

    python -m course_lib lab      # the first time, it installs what the course needs

(On some systems Python is called `python3` or, on Windows, `py`.) This makes the folder `.venv`, and
opens the course in JupyterLab. The network is used for the installation only: about
{MEGABYTES["lab"]} MB and a minute. Where you are already in an environment that has what is needed,
such as the one that `conda env create -f environment.yml` makes, it is used as it is.

You work in a copy of your own, the folder `my_course/`. When there is a newer release, unpack it over
this folder and start the course as before: what you have edited is kept, and what has changed lies
beside it.

`python -m course_lib` lists all commands. If something doesn't work, `python -m course_lib doctor`
says in plain words what and what to do.

"""

PACKED = '''\
"""What `check`, `hint` and `predict` read, packed so that nobody meets an answer before its time."""

from base64 import b64decode

_SOURCE = """
{source}"""
exec(compile(b64decode(_SOURCE), "{name}, packed", "exec"))
'''


class ReleaseError(CourseError):
    """A release that can't be made; the message says why."""


def main(arguments: list[str]) -> int:
    """Write the zip; 0 where it went well, 1 where it could not be made, 2 for bad arguments."""
    options = _parser().parse_args(arguments)
    try:
        data = zipped(release(options.lessons))
        replace(options.out, data)
    except (ReleaseError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{options.out}: {_named(options.lessons or _lessons(ROOT))}, {len(data) / 1e6:.1f} MB.")
    print(f"SHA-256 {hashlib.sha256(data).hexdigest()}")
    return 0


def release(lessons: Collection[int] = (), root: Path = ROOT) -> Files:
    """The files of a release by their paths in it; with all lessons, if none is named.

    Raises ReleaseError for a lesson that the course doesn't have.
    """
    known = _lessons(root)
    chosen = set(lessons or known) | {0}
    if strange := sorted(chosen - known - {0}):
        raise ReleaseError(f"There is no lesson {strange[0]}: the course has {_named(known)}.")
    files = {path: (root / path).read_bytes() for path in _paths(root, chosen)}
    files |= _exercises(root, chosen)
    files["README.md"] = _readme((root / "README.md").read_text(encoding="utf-8")).encode("utf-8")
    whole = chosen >= known
    return {path: _for_learners(path, files[path], files, whole) for path in sorted(files)}


def zipped(files: Mapping[str, bytes]) -> bytes:
    """The zip, in which all is in one folder; the same bytes on each run and each system.

    Nothing is compressed in it, as two systems may compress to different bytes.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(files):
            info = zipfile.ZipInfo(f"{FOLDER}/{path}", date_time=(1980, 1, 1, 0, 0, 0))
            info.create_system = 3  # Unix, also where this is Windows: with it go the modes
            info.external_attr = 0o100644 << 16
            archive.writestr(info, files[path])
    return buffer.getvalue()


def replace(out: Path, data: bytes) -> None:
    """Write the zip, all of it or nothing.

    Raises ReleaseError where it would replace something else than a release.
    """
    if out.exists() and not _is_release(out):
        raise ReleaseError(
            f"{out} is there and is no release of this course: it is left as it was."
        )
    if not out.parent.is_dir():
        raise ReleaseError(f"There is no folder {out.parent} to write {out.name} to.")
    save(out, data)


def _is_release(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
    return bool(names) and all(name.startswith(f"{FOLDER}/") for name in names)


# ---- which files ----------------------------------------------------------------------------


def _lessons(root: Path) -> set[int]:
    """The lessons that have exercises."""
    return {number for path in (root / "solutions").glob("*.ipynb") if (number := _lesson(path))}


def _lesson(path: PurePosixPath | Path) -> int | None:
    """The number of a notebook, 0 for the start; None for another file."""
    found = re.fullmatch(r"(\d+)_.*\.ipynb", path.name)
    return int(found[1]) if found else None


def _paths(root: Path, lessons: Collection[int]) -> Iterator[str]:
    """The files that go in; exercises and README are made."""
    for pattern in AS_THEY_ARE:
        yield from (path.name for path in root.glob(pattern) if path.is_file())
    for folder in ("notebooks", "course_lib"):
        for path in (root / folder).rglob("*"):
            relative = path.relative_to(root)
            hidden = any(part.startswith((".", "__pycache__")) for part in relative.parts)
            name = relative.as_posix()
            if path.is_file() and not hidden and _goes_in(name, lessons):
                yield name


def _goes_in(path: str, lessons: Collection[int]) -> bool:
    if path.startswith("notebooks/"):  # others than the numbered ones are somebody's trials
        return path.startswith("notebooks/files/") or _lesson(PurePosixPath(path)) in lessons
    checks = CHECKS.fullmatch(path)
    return not path.startswith(NOT_FOR_LEARNERS) and (not checks or int(checks[1]) in lessons)


def _exercises(root: Path, lessons: Collection[int]) -> Files:
    """Made from the solutions, not taken from exercises/: somebody may have saved answers there."""
    return {
        f"exercises/{path.name}": _saved(make_exercise(nbformat.read(path, as_version=4)))
        for path in (root / "solutions").glob("*.ipynb")
        if _lesson(path) in lessons
    }


# ---- what becomes of a file -----------------------------------------------------------------


def _for_learners(path: str, data: bytes, files: Collection[str], whole: bool) -> bytes:
    if "/" not in path or PurePosixPath(path).suffix in TEXTS:
        data = data.replace(b"\r\n", b"\n")  # a clone on Windows may have others
    if CHECKS.fullmatch(path):
        return _packed(path, data)
    if path in ANSWERS:
        return _without_answer(path, data.decode("utf-8"), ANSWERS[path]).encode("utf-8")
    if path == "README.md":
        return _relinked(path, data.decode("utf-8"), files).encode("utf-8")
    if path.endswith(".ipynb") and not whole:
        return _saved(_partial(path, nbformat.reads(data.decode("utf-8"), as_version=4), files))
    return data


def _packed(path: str, source: bytes) -> bytes:
    packed = base64.encodebytes(source).decode("ascii")
    return PACKED.format(source=packed, name=PurePosixPath(path).name).encode("utf-8")


def _without_answer(path: str, source: str, name: str) -> str:
    """The module with the text of one constant packed; the rest can be read, and lessons show it."""
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            break
    else:
        raise ReleaseError(f"{path} has no {name} any more: look where that answer stands now.")
    packed = base64.b64encode(ast.literal_eval(node.value).encode("utf-8")).decode("ascii")
    lines = source.split("\n")
    lines[node.lineno - 1 : node.end_lineno] = [
        "# Packed, so that nobody meets it before they have written their own.",
        "from base64 import b64decode",
        "",
        f'{name} = b64decode("{packed}").decode("utf-8")',
    ]
    return "\n".join(lines)


def _partial(path: str, notebook: NotebookNode, files: Collection[str]) -> NotebookNode:
    """A notebook of a release without some of the lessons."""
    notebook = copy.deepcopy(notebook)
    notebook.cells = [c for c in notebook.cells if not c.source.startswith(WHOLE_COURSE_ONLY)]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _relinked(path, cell.source, files)
        elif cell.source.strip() == "progress()":  # its saved output lists all lessons
            cell.outputs, cell.execution_count = [], None
    return notebook


def _saved(notebook: NotebookNode) -> bytes:
    return nbformat.writes(notebook).rstrip("\n").encode("utf-8") + b"\n"


# ---- text -----------------------------------------------------------------------------------

_LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")


def _relinked(path: str, text: str, files: Collection[str]) -> str:
    """Markdown whose links all lead somewhere.

    A row of a table that links to a notebook that isn't there goes; elsewhere a link becomes words.
    """
    lines = text.split("\n")
    kept = (line for line in lines if not (line.startswith("|") and _broken(path, line, files)))
    return "\n".join(_LINK.sub(_words_of_broken(path, files), line) for line in kept)


def _broken(path: str, line: str, files: Collection[str]) -> bool:
    return any(not _resolves(path, target, files) for _, target in _LINK.findall(line))


def _words_of_broken(path: str, files: Collection[str]) -> Callable[[re.Match[str]], str]:
    return lambda link: link[0] if _resolves(path, link[2], files) else link[1]


def _resolves(path: str, target: str, files: Collection[str]) -> bool:
    if "://" in target or target.startswith(("#", "mailto:")):
        return True
    place = os.path.normpath(PurePosixPath(path).parent / target.partition("#")[0])
    return place.replace(os.sep, "/") in files


def _readme(text: str) -> str:
    """The README for learners: what they will learn, how to start, and what they can use.

    Raises ReleaseError where a section that belongs in it is gone.
    """
    opening, *rest = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    sections = {section.partition("\n")[0].removeprefix("## ").strip(): section for section in rest}
    for name in README_SECTIONS:
        if name not in sections:
            raise ReleaseError(
                f'README.md has no section "{name}": what should a release say of it?'
            )
    told = "".join([opening, START, *(sections[name] for name in README_SECTIONS)])
    return re.sub(r" ?[^.\n]*`solutions/`[^.\n]*\.", "", told).rstrip("\n") + "\n"


# ---- the command line -----------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        sentence = message[:1].upper() + message[1:]
        print(f"{sentence}. `{self.prog} --help` lists what there is.", file=sys.stderr)
        sys.exit(2)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m course_lib release",
        description="Write the course as a zip for learners: no solutions, no tests, no workshop.",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the zip to write")
    parser.add_argument(
        "--lessons",
        type=_numbers,
        default=(),
        metavar="N",
        help="only these: 3, or 1,3,4; notebook 00 is always in it",
    )
    return parser


def _numbers(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"write lessons as 3 or 1,3,4, not {text!r}")
    return tuple(sorted({int(part) for part in parts}))


def _named(lessons: Iterable[int]) -> str:
    """ "lessons 1 to 7", or "lessons 1, 3, 4"."""
    numbers = sorted(set(lessons) - {0})
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"lessons {numbers[0]} to {numbers[-1]}"
    if not numbers:
        return "the start alone"
    return f"lesson{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
