"""A real JupyterLab in a real browser: started, driven and read, by browser tests and benchmark.

The lab runs from a copy of the course with a home of its own, by the learner's own command.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, Locator, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
COURSE = ("course_lib", "notebooks", "exercises", "solutions", "pyproject.toml", "requirements.txt")
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "progress.json")
PATIENCE = 60_000  # ms; a first start on two busy cores takes a few seconds
CELL = ".jp-Notebook-cell"
THEMES = ("JupyterLab Light", "JupyterLab Dark")
JUMP = 2  # px that nobody sees
FAR = 80  # presses of Tab; an explorer has some fifty controls

OPENED = """path => {
  const context = window.jupyterapp?.shell.currentWidget?.context;
  return context?.isReady && context.path === path;
}"""
# The commands' promises hold until the cells have run, which no look at the page can tell surely.
RUN = """async ([indices, patience]) => {
  const app = window.jupyterapp, panel = app.shell.currentWidget, notebook = panel.content;
  const run = async () => {
    await panel.sessionContext.ready;
    notebook.deselectAll();
    if (indices === null) await app.commands.execute("notebook:run-all-cells");
    for (const index of indices ?? []) {
      notebook.activeCellIndex = index;
      await app.commands.execute("notebook:run-cell");
    }
  };
  const late = new Promise((_, fail) => setTimeout(
    () => fail(new Error(`cells still running after ${patience / 1000} seconds`)), patience));
  await Promise.race([run(), late]);
}"""
CELLS = """() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells
  .map(cell => cell.toJSON())"""

FRAMES = """box => {
  const from = box.getBoundingClientRect();
  return [box, ...box.querySelectorAll(".widget-box, .widget-html, svg")].map(part => {
    const frame = part.getBoundingClientRect();
    return [frame.x - from.x, frame.y - from.y, frame.width, frame.height];
  });
}"""

# Answered after all that the kernel was sent before, and its answers have come; then painted. Asked
# twice: a widget holds back its newest change until the kernel has dealt with the one before.
SETTLED = """async () => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  for (const time of [1, 2]) {
    await kernel.requestKernelInfo();
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  }
}"""
# By WCAG 2: each text that can be seen, and its contrast with what it stands on.
CONTRASTS = """root => {
  const rgba = text => {
    const parts = text.match(/[\\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return [...parts.slice(0, 3), parts[3] ?? 1];
  };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3]));
  const luminance = colour => {
    const [r, g, b] = colour.map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const shapes = text => {  // what is drawn under a text of an SVG, from the bottom up
    if (!text.ownerSVGElement) return [];
    const box = text.getBBox();
    const middle = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2);
    const drawn = [...text.ownerSVGElement.querySelectorAll("rect, polygon, circle")];
    return drawn.filter(shape => shape.isPointInFill(middle)).map(s => getComputedStyle(s).fill);
  };
  const ground = element => {
    const layers = shapes(element).reverse();
    for (let at = element; at; at = at.parentElement)
      layers.push(getComputedStyle(at).backgroundColor);
    return layers.reverse().map(rgba).reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const own = element => [...element.childNodes]
    .filter(node => node.nodeType === Node.TEXT_NODE).map(node => node.data).join("").trim();
  const seen = element => element.getClientRects().length && !element.closest("[disabled]")
    && !["STYLE", "TITLE", "OPTION"].includes(element.tagName.toUpperCase());
  return [...root.querySelectorAll("*")].filter(element => own(element) && seen(element))
    .map(element => {
      const style = getComputedStyle(element), under = ground(element);
      const ink = over(rgba(element.ownerSVGElement ? style.fill : style.color), under);
      const [dark, light] = [luminance(ink), luminance(under)].sort((a, b) => a - b);
      return [own(element), (light + 0.05) / (dark + 0.05)];
    });
}"""


def copy_course(folder: Path) -> Path:
    """A copy of the course in `folder`, without what a learner's use leaves behind."""
    for name in COURSE:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=LEFT_OUT)
        else:
            shutil.copy(source, folder / name)
    return folder


def environment(home: Path) -> dict[str, str]:
    """The variables of somebody who never started JupyterLab: all that it keeps is in `home`."""
    config = home / ".jupyter"
    config.mkdir(parents=True)
    # Lets the page tell when all cells have run; it changes nothing else.
    expose = json.dumps({"LabApp": {"expose_app_in_browser": True}})
    (config / "jupyter_lab_config.json").write_text(expose, encoding="utf-8")
    places = {
        "HOME": home,
        "USERPROFILE": home,
        "JUPYTER_CONFIG_DIR": config,
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "IPYTHONDIR": home / "ipython",
    }
    kept = {name: value for name, value in os.environ.items() if name != "COURSE_PROGRESS"}
    return kept | {name: str(place) for name, place in places.items()}


@dataclass
class Lab:
    """A running JupyterLab: the course that it shows, and the address that it printed."""

    root: Path
    address: str

    def url(self, path: str) -> str:
        """The address of another notebook, in a workspace without other tabs."""
        base = self.address.partition("/lab/")[0]
        return f"{base}/lab/tree/{path}?token={self.token}&reset"

    @property
    def token(self) -> str:
        """What lets a browser in."""
        return parse_qs(urlsplit(self.address).query)["token"][0]

    def request(self, method: str, path: str) -> Any:
        """What the server's own interface answers, read as JSON; None where it says nothing."""
        base = self.address.partition("/lab/")[0]
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(f"{base}/{path}", method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=10) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def forget(self) -> None:
        """End all kernels, and delete the workspace and the learner's progress."""
        for session in self.request("GET", "api/sessions"):
            self.request("DELETE", f"api/sessions/{session['id']}")
        shutil.rmtree(self.root / ".lab", ignore_errors=True)
        (self.root / "progress.json").unlink(missing_ok=True)


@contextmanager
def running_lab(folder: Path, root: Path | None = None) -> Iterator[Lab]:
    """JupyterLab on the course in `root`, or on a copy in `folder`, until the block ends.

    Raises `RuntimeError` with what it printed, where it doesn't come up.
    """
    root = root or copy_course(folder / "course")
    log = folder / "lab.log"
    command = [sys.executable, "-m", "course_lib", "lab", "--no-browser", f"--port={free_port()}"]
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            command,
            cwd=root,
            env=environment(folder / "home"),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
        )
    with process:
        printed = list(_up_to_address(process.stdout))
        if not printed or not printed[-1].startswith("http"):
            raise RuntimeError("".join(printed) + log.read_text(encoding="utf-8"))
        lab = Lab(root, printed[-1].strip())
        try:
            yield lab
        finally:
            stop(lab, process)


def free_port() -> int:
    """A port that nothing else on this machine is likely to ask for, unlike the lab's own 8888."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def stop(lab: Lab, process: subprocess.Popen[str]) -> None:
    """End the lab; asked by its own interface, it ends its kernels on every system alike."""
    try:
        lab.request("POST", "api/shutdown")
        process.wait(timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        process.terminate()


def _up_to_address(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line
        if line.startswith("http"):
            return


@contextmanager
def running_browser(chromium: str | Path) -> Iterator[Browser]:
    """A Chromium without a window, until the block ends."""
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=arguments)
        yield browser
        browser.close()


@dataclass
class NotebookPage:
    """A browser's tab with a notebook in JupyterLab; `errors` holds what the page complained of."""

    page: Page
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._listen)

    def _listen(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def open(self, url: str) -> NotebookPage:
        """Go there and wait until the notebook is on the page, whole."""
        self.page.goto(url)
        self.page.wait_for_function(OPENED, arg=urlsplit(url).path.partition("/tree/")[2])
        self.page.locator(f"{CELL}:visible").first.wait_for()
        return self

    def run_all(self) -> None:
        """Run all cells and return when the last one has run."""
        self.page.evaluate(RUN, [None, PATIENCE])

    def run(self, *indices: int) -> None:
        """Run these cells, one after the other, and return when they have run."""
        self.page.evaluate(RUN, [indices, PATIENCE])

    def cells(self) -> list[dict[str, Any]]:
        """The notebook as it stands in the page, outputs too: each cell as nbformat has it."""
        return self.page.evaluate(CELLS)

    def index_of(self, text: str) -> int:
        """The number of the first code cell that has this text in its source."""
        sources = [(cell["cell_type"], "".join(cell["source"])) for cell in self.cells()]
        return next(
            i for i, (kind, source) in enumerate(sources) if kind == "code" and text in source
        )

    def cell(self, index: int) -> Locator:
        """A cell's element."""
        return self.page.locator(f'{CELL}[data-windowed-list-index="{index}"]')

    def write(self, index: int, source: str) -> None:
        """Put another text into a cell."""
        self.page.evaluate(
            """([index, source]) => window.jupyterapp.shell.currentWidget.content.widgets[index]
              .model.sharedModel.setSource(source)""",
            [index, source],
        )

    def error_outputs(self) -> list[str]:
        """The errors that cells have ended in, with the cells' first lines."""
        return [
            f"{''.join(cell['source'])[:60]!r}: {output['ename']}: {output['evalue']}"
            for cell in self.cells()
            for output in cell.get("outputs", [])
            if output["output_type"] == "error"
        ]

    def use_theme(self, name: str) -> None:
        """Switch to "JupyterLab Light" or "JupyterLab Dark", and wait until the page has it."""
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", name
        )
        light = "true" if name.endswith("Light") else "false"
        self.page.locator(f'body[data-jp-theme-light="{light}"]').wait_for(state="attached")

    def settle(self) -> None:
        """Return when the kernel has answered all that it was sent, and the page shows it."""
        self.page.evaluate(SETTLED)

    def tab_to(self, goal: Locator) -> Locator:
        """Press Tab until the element has the keyboard; gives it back.

        Raises `AssertionError` where Tab doesn't lead there.
        """
        for _ in range(FAR):
            if goal.evaluate("element => element === document.activeElement"):
                return goal
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab doesn't lead to {goal}")


@dataclass
class ExplorerView:
    """An explorer on the page: its controls, its figures in words, and where its parts stand."""

    notebook: NotebookPage
    index: int  # of its cell

    @property
    def box(self) -> Locator:
        """The whole of it."""
        return self.notebook.cell(self.index).locator(".jp-OutputArea-output .widget-vbox").first

    @property
    def readouts(self) -> Locator:
        """The figures on top of the picture, each with its caption."""
        return self.box.locator(".stm-readouts > div")

    @property
    def sentence(self) -> Locator:
        """What there is to see, in words."""
        return self.box.get_by_role("status")

    def slider(self, label: str) -> Locator:
        """The handle of the slider with this label."""
        name = self.notebook.page.get_by_text(label, exact=True)
        return self.box.locator(".widget-slider").filter(has=name).get_by_role("slider")

    def button(self, name: str) -> Locator:
        """A preset's or a policy's button."""
        return self.box.get_by_role("button", name=name, exact=True)

    def checkbox(self, name: str) -> Locator:
        """A pin, "step 3", or the one for the summary."""
        return self.box.get_by_role("checkbox", name=name, exact=True)

    def status(self, row: int) -> Locator:
        """What has become of the group in this row of the table, counted from 1."""
        return self.box.locator("tbody tr").nth(row - 1).locator("td").last

    def start_at_the_top(self) -> None:
        """Give the keyboard to its first control."""
        self.box.locator("button").first.focus()

    def picture(self, name: str) -> Locator:
        """A drawing whose description begins with this."""
        return self.box.get_by_role("img", name=name)

    def frames(self) -> list[list[float]]:
        """Left, top, width and height in pixels of all parts, relative to the whole."""
        return self.box.evaluate(FRAMES)

    def has_moved(self, first: list[list[float]]) -> bool:
        """True if a part stands elsewhere than in `first`, or is another size, once all is drawn."""
        self.notebook.settle()
        now = self.frames()
        return len(now) != len(first) or any(
            abs(a - b) > JUMP
            for was, frame in zip(first, now, strict=True)
            for a, b in zip(was, frame, strict=True)
        )


def poor_contrasts(root: Locator) -> list[tuple[str, float]]:
    """Texts with a contrast under 4.5, and signs (✓, ✕, ★) with one under 3, as WCAG 2 asks."""
    for _ in range(50):  # a change of theme takes a moment to be drawn
        found = root.evaluate(CONTRASTS)
        if len(found) > 5:
            break
        time.sleep(0.2)
    assert len(found) > 5
    return [
        (text, round(ratio, 2))
        for text, ratio in found
        if ratio < (4.5 if any(map(str.isalnum, text)) else 3)
    ]
