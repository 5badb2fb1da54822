"""What `import course_lib` gives, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import course_lib


@pytest.mark.parametrize("name", sorted(course_lib.__all__))
def test_every_name_is_there_and_is_no_module(name):
    assert not isinstance(getattr(course_lib, name), ModuleType)


def test_a_name_stays_what_it_is_after_its_module_was_imported():
    code = (
        "import course_lib.replay, course_lib.views.explore_trim, course_lib.checks\n"
        "from course_lib import replay, explore_trim, check, progress\n"
        "print(all(map(callable, (replay, explore_trim, check, progress))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_name_that_is_not_there_is_an_ordinary_error():
    with pytest.raises(AttributeError, match="no attribute 'trimm'"):
        course_lib.trimm  # noqa: B018


def test_importing_it_loads_the_standard_library_only():
    code = (
        "import sys; before = set(sys.modules); import course_lib\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - set(sys.stdlib_module_names) - {'course_lib'}), 'sqlite3' in new)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] False\n"
