"""What the tests share: a JupyterLab and a browser, where this machine has one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

    from tests.lab_page import Lab

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
USUAL_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Google/Chrome/Application/chrome.exe",
)


# The longest files begin first, so that no worker is left alone with one at the end.
LONGEST = ("test_browser_lessons", "test_browser", "test_release")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; the order within a file stays."""
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(LONGEST)))


def find_chromium() -> str | None:
    """The path of a Chromium or Chrome on this machine, or None."""
    on_path = filter(None, map(shutil.which, NAMES))
    usual = (place for place in USUAL_PLACES if Path(place).exists())
    return next(on_path, None) or next(usual, None)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium; a test that needs one is skipped where there is none.

    With COURSE_BROWSER=required, as in CI, it fails instead.
    """
    found = find_chromium()
    if found is None:
        reason = "no Chromium or Chrome was found on this machine"
        (pytest.fail if os.environ.get("COURSE_BROWSER") == "required" else pytest.skip)(reason)
    return found


@pytest.fixture(scope="session")
def lab(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on a copy of the course."""
    from tests.lab_page import running_lab

    with running_lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """A Chromium without a window."""
    from tests.lab_page import running_browser

    with running_browser(chromium) as browser:
        yield browser


@pytest.fixture(scope="session")
def context(browser: Browser) -> BrowserContext:
    """A browser that has never been here; its cache serves all tests."""
    return browser.new_context(viewport={"width": 1360, "height": 1000})
