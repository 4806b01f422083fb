"""Long calls, watched: how far they are, and Ctrl-C, which stops them.

A signal that arrives while the library computes waits until Python code runs again. That is in the callback of the
progress, which hands it on: the library stops, saves what is to be saved, and returns.
"""
from __future__ import annotations

import signal
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Union

Progress = Union[bool, None, Callable[[Dict[str, Any]], Any]]
"""True, False, None (where somebody is looking: a terminal or a notebook), or a function of a dictionary."""


class Interrupts:
    """Notes Ctrl-C instead of raising it; a second one is raised as usual. Only the main thread hears of signals."""

    def __init__(self) -> None:
        self.wanted = False
        self._before: Any = None

    def __enter__(self) -> "Interrupts":
        usual = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and usual is signal.default_int_handler:
            self._before = usual
            signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _on_signal(self, _number: int, _frame: Any) -> None:
        self.wanted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)


# ---- what is shown ----

def in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return bool(shell and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell")


def is_watched() -> bool:
    return in_notebook() or bool(getattr(sys.stderr, "isatty", lambda: False)())


class Line:
    """One line on standard error, rewritten: for systems without tqdm."""

    def __init__(self) -> None:
        self._shown = 0.0

    def show(self, label: str, done: float, total: float, words: str) -> None:
        now = time.monotonic()
        if now - self._shown < 0.1 and done < total:
            return
        self._shown = now
        sys.stderr.write(f"\r{label} {done:g}/{total:g}  {words}"[:79].ljust(79))
        sys.stderr.flush()

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\n")


class Bar:
    """tqdm's bar; one for each phase."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm, self._label = tqdm, ""
        self._bar: Any = None

    def show(self, label: str, done: float, total: float, words: str) -> None:
        if self._bar is None or label != self._label:
            self.close()
            self._bar, self._label = self._tqdm(total=total, desc=label, unit="epoch", file=sys.stderr), label
        self._bar.set_postfix_str(words, refresh=False)
        self._bar.update(round(done - self._bar.n, 1))

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def make_display() -> "Bar | Line":
    try:
        from tqdm import tqdm
    except ImportError:
        return Line()
    if in_notebook():
        try:
            import ipywidgets  # noqa: F401  what tqdm's widget needs
            from tqdm.notebook import tqdm
        except ImportError:
            pass
    return Bar(tqdm)


# ---- both ----

class Watch:
    """Given to a long call: takes its progress, shows it, collects the epochs, and says whether to stop."""

    def __init__(self, progress: Progress):
        shown = is_watched() if progress is None else bool(progress)
        self._display = make_display() if shown and not callable(progress) else None
        self._tell = progress if callable(progress) else None
        self._interrupts = Interrupts()
        self.error: Optional[BaseException] = None
        self.epochs: List[Dict[str, Any]] = []
        self.interrupted = False

    def __enter__(self) -> "Watch":
        self._interrupts.__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        self._interrupts.__exit__()
        if self._display:
            self._display.close()
        self.interrupted = self._interrupts.wanted

    def take(self, now: Dict[str, Any]) -> bool:
        """Whether to stop; an exception stops, too, and is raised after the call, never through the library."""
        try:
            if now.get("epoch_ended"):
                self.epochs.append(now)
            if self._tell and self._tell(now):
                return True
            if self._display:
                self._display.show(now["label"], now["done"], now["total"], now["words"])
        except BaseException as error:
            self.error = error
        return self.stop_wanted()

    def stop_wanted(self) -> bool:
        return self._interrupts.wanted or self.error is not None

    def raise_error(self) -> None:
        if self.error is not None:
            raise self.error
