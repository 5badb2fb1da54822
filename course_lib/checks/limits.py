"""A time limit for a function that may never end, inside the process, so that a kernel survives.

The seconds are those that the function really gets: on a crowded machine, such as a class server,
they may be up to five times as long by the clock. Until they are over the function runs at full
speed, untraced. Then a signal (in the main thread, where the system has SIGALRM) or a watching
thread raises `TimeUp` inside it. A bare `except` can swallow that, so from then on `TimeUp` is
raised again at each line of the learner's own code: the next one stands in the handler and so leads
out of it. What can't be stopped: one call into C that never comes back to Python, such as
`sum(itertools.count())`.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

_AGAIN_AFTER = 0.02
_PATIENCE = 5
_SPARE_FRAMES = 50


class TimeUp(BaseException):
    """The time is over. Not an Exception, so that `except Exception` lets it through."""

    limit: TimeLimit

    def __init__(self) -> None:
        super().__init__()
        self.limit.arm(sys._getframe(1))

    def __del__(self) -> None:
        # Python stops tracing when a tracer raises. A TimeUp that was swallowed ends here, in the
        # frame that swallowed it: be there again at its next line.
        self.limit.arm(sys._getframe(1))


class TimeLimit:
    """Runs one function for at most `seconds`; `owns(frame)` says which frames are the learner's.

    After `run`, `over` says whether the time ran out, and `place` is (file, line) of the learner's
    code at that moment, or None.
    """

    def __init__(self, seconds: float, owns: Callable[[FrameType], bool]) -> None:
        self.over = False
        self.place: tuple[str, int] | None = None
        self._seconds, self._owns = seconds, owns
        self._thread = threading.get_ident()
        self._inside: FrameType | None = None
        self._armed = self._closed = False
        self._error = type("TimeUp", (TimeUp,), {"limit": self})
        self._before = sys.gettrace(), sys.getprofile()
        self._depth = sys.getrecursionlimit()

    def run(self, work: Callable[[], Any]) -> Any:
        """What `work()` returns; raises what it raises, and TimeUp where the time runs out."""
        self._start = time.monotonic(), time.process_time()
        alarm = (_Signal if _signals_work() else _Watcher)(self._seconds, self.strike)
        # At the bottom of a recursion there is no room to say anything about a swallowed TimeUp.
        unraisable, sys.unraisablehook = sys.unraisablehook, _say_nothing
        alarm.start()
        try:
            return self._enter(work)
        finally:
            # A last TimeUp can still arrive in here, between any two calls: then begin again.
            while not self._closed:
                try:
                    alarm.stop()
                    self._close()
                except TimeUp:  # noqa: SIM105, S110
                    pass
            sys.unraisablehook = unraisable

    def strike(self, frame: FrameType | None) -> type[TimeUp] | None:
        """The error to raise in this frame, or None where it isn't `work` that runs there."""
        if not self.over:
            if self._starved():
                return None
            # At the bottom of a recursion there is no room for what follows.
            sys.setrecursionlimit(self._depth + _SPARE_FRAMES)
        place, outer = None, frame
        while outer is not self._inside:
            # What runs on top may also be this module itself, in the middle of arming.
            if outer is None or outer.f_globals is globals():
                return None
            if place is None and self._owns(outer):
                place = outer.f_code.co_filename, outer.f_lineno
            outer = outer.f_back
        if outer is None:
            return None
        if not self.over:
            self.over, self.place = True, place
        return self._error

    def arm(self, frame: FrameType | None) -> None:
        """Raise TimeUp at the next line of the learner's code, in this frame or around it."""
        if self._closed or threading.get_ident() != self._thread:
            return
        # Frames further out were armed by the first call.
        depth, self._armed = (2 if self._armed else sys.maxsize), True
        while frame is not None and frame is not self._inside and depth:
            if self._owns(frame):
                frame.f_trace = self._trace
            frame, depth = frame.f_back, depth - 1
        sys.setprofile(self._again)
        sys.settrace(self._trace)

    def _starved(self) -> bool:
        """Whether other programs had the processor, so that the function's time isn't over yet."""
        wall, busy = time.monotonic() - self._start[0], time.process_time() - self._start[1]
        waits_by_itself = busy < 0.05 * wall  # a sleep, a lock
        return (
            busy < 0.9 * self._seconds and not waits_by_itself and wall < _PATIENCE * self._seconds
        )

    def _enter(self, work: Callable[[], Any]) -> Any:
        self._inside = sys._getframe()
        return work()

    def _close(self) -> None:
        trace, profile = self._before
        sys.setprofile(profile)
        sys.settrace(trace)
        sys.setrecursionlimit(self._depth)
        self._inside, self._closed = None, True

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self._closed or not self._owns(frame):
            return None
        if event in ("call", "line"):
            raise self._error
        return self._trace

    def _again(self, frame: FrameType, event: str, argument: Any) -> None:
        self.arm(frame)


def _say_nothing(_: object) -> None:
    pass


def _signals_work() -> bool:
    main = threading.current_thread() is threading.main_thread()
    return main and hasattr(signal, "setitimer")


class _Signal:
    """Strikes by SIGALRM, which breaks a wait, too; somebody else's timer goes on afterwards."""

    def __init__(self, seconds: float, strike: Callable[[FrameType | None], Any]) -> None:
        self._seconds, self._strike = seconds, strike

    def start(self) -> None:
        self._handler = signal.signal(signal.SIGALRM, self._handle)
        self._timer = signal.setitimer(signal.ITIMER_REAL, self._seconds, _AGAIN_AFTER)
        self._start = time.monotonic()

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._handler or signal.SIG_DFL)
        left, every = self._timer
        if left:
            gone = time.monotonic() - self._start
            signal.setitimer(signal.ITIMER_REAL, max(left - gone, 0.001), every)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        error = self._strike(frame)
        if error is not None:
            raise error


class _Watcher:
    """Strikes from a thread of its own: on Windows, and for code outside the main thread."""

    def __init__(self, seconds: float, strike: Callable[[FrameType | None], Any]) -> None:
        self._seconds, self._strike = seconds, strike
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._target = threading.get_ident()

    def start(self) -> None:
        threading.Thread(target=self._watch, daemon=True).start()

    def stop(self) -> None:
        with self._lock:
            self._done.set()

    def _watch(self) -> None:
        wait = self._seconds
        while not self._done.wait(wait):
            wait = _AGAIN_AFTER
            with self._lock:
                if self._done.is_set():
                    return
                error = self._strike(sys._current_frames().get(self._target))
                if error is not None:
                    _raise_in(self._target, error)


def _raise_in(thread: int, error: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
