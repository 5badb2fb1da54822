"""From a key on a slider to the picture, painted, in a real JupyterLab: `... browser_latency`.

Each control beside a bare slider, whose observer sets a few words, in the same page and the same
run: that is the floor of any widget on this machine. A goal is 100 ms, hoped for are 50.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import nbformat
from playwright.sync_api import Locator

from tests.conftest import find_chromium
from tests.lab_page import ExplorerView, NotebookPage, running_browser, running_lab

MOVES = 36  # at least, for each control
BARE_MOVES = 12  # before each control, so that both see the same machine
EXPLORER = "from course_lib import explore_trim, long_incident\nexplore_trim(long_incident())"
BARE = """import ipywidgets
slider, text = ipywidgets.IntSlider(max=1000), ipywidgets.HTML("0")
slider.observe(lambda change: setattr(text, "value", f"<b>{change['new']}</b>"), "value")
ipywidgets.VBox([slider, text])"""

# Two frames after the change: in the first it is laid out, and by the second it is painted.
LISTEN = """picture => {
  window.courseLatency = new Promise((done, fail) => {
    let pressed;
    const press = event => pressed = event.timeStamp;
    document.addEventListener("keydown", press, {capture: true, once: true});
    const observer = new MutationObserver(() => {
      observer.disconnect();
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - pressed)));
    });
    observer.observe(picture, {childList: true, subtree: true, characterData: true});
    setTimeout(() => fail(new Error("five seconds after the key the picture is the same")), 5000);
  });
}"""


class Control(NamedTuple):
    """A slider, how many values it has, and what must be chosen first for it to act."""

    label: str
    values: int
    policy: str = "high / low water"


CONTROLS = (
    Control("step", 28),
    Control("budget (tokens)", 44),
    Control("high water (%)", 19),
    Control("low water (%)", 19),
    Control("window (groups)", 24, policy="sliding window"),
)
VIEWS = ("this run", "all values of budget")


def latency(notebook: NotebookPage, handle: Locator, picture: Locator, key: str) -> float:
    """Milliseconds from this key on a slider's handle to the change of the picture, painted."""
    notebook.settle()
    picture.evaluate(LISTEN)
    handle.press(key)
    return notebook.page.evaluate("() => window.courseLatency")


def bare_latencies(notebook: NotebookPage) -> list[float]:
    """Some moves of the bare slider."""
    cell = notebook.cell(1)
    handle, text = cell.get_by_role("slider"), cell.locator(".widget-html-content")
    return [latency(notebook, handle, text, "ArrowRight") for _ in range(BARE_MOVES)]


def pass_over(notebook: NotebookPage, control: Control, view: str) -> list[float]:
    """One move to each value of a control, from its highest down, in an explorer made anew.

    Anew, because an explorer remembers runs: so each value is met for the first time.
    """
    notebook.run(0)
    explorer = ExplorerView(notebook, 0)
    explorer.button(control.policy).press("Space")
    explorer.box.get_by_role("combobox", name="lower picture").select_option(view)
    notebook.settle()  # only then is a slider that belongs to another policy awake
    handle = explorer.slider(control.label)
    handle.press("End")
    picture = explorer.box.locator(".widget-html-content:has(.stm-readouts)")
    keys = ["ArrowLeft"] * (control.values - 1)
    return [latency(notebook, handle, picture, key) for key in keys]


def latencies(notebook: NotebookPage, control: Control, view: str) -> list[float]:
    """Moves of a control, as many passes as are needed."""
    passes = -(-MOVES // (control.values - 1))
    return list(chain.from_iterable(pass_over(notebook, control, view) for _ in range(passes)))


def measured(notebook: NotebookPage) -> Iterator[tuple[str, list[float]]]:
    """A name and its latencies in milliseconds for each control in each view; last, the floor."""
    bare = []
    for view in VIEWS:
        for control in CONTROLS:
            bare += bare_latencies(notebook)
            yield f"{control.label}, {view}", latencies(notebook, control, view)
    yield "bare slider", bare


def table(rows: list[tuple[str, list[float]]]) -> str:
    """The rows as text: moves, median and 95th percentile in ms, and the ratio to the last row."""
    floor = statistics.median(rows[-1][1])
    lines = [f"{'from key to painted picture':38}{'moves':>7}{'median':>9}{'95 %':>9}{'ratio':>8}"]
    for name, times in rows:
        median, high = statistics.median(times), statistics.quantiles(times, n=20)[-1]
        lines.append(f"{name:38}{len(times):7}{median:6.0f} ms{high:6.0f} ms{median / floor:8.2f}")
    return "\n".join(lines)


def main() -> int:
    """Measure and print; 1 where there is no browser to measure in."""
    chromium = find_chromium()
    if chromium is None:
        print("No Chromium or Chrome was found, so nothing was measured.", file=sys.stderr)
        return 1
    cells = [nbformat.v4.new_code_cell(source) for source in (EXPLORER, BARE)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    written = nbformat.v4.new_notebook(cells=cells, metadata=kernel)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        running_lab(Path(folder)) as lab,
        running_browser(chromium) as browser,
    ):
        nbformat.write(written, lab.root / "latency.ipynb")
        page = browser.new_page(viewport={"width": 1360, "height": 1000})
        notebook = NotebookPage(page).open(lab.url("latency.ipynb"))
        notebook.run_all()
        print(table(list(measured(notebook))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
