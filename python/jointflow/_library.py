"""Finds and loads the shared library, and calls it: failures become exceptions, its log Python's."""
import atexit
import ctypes
import logging
import os
import pathlib
import signal
import threading
import time
import warnings
import weakref
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, Optional

from . import _bindings as c
from ._watch import Interrupts
from .errors import ArgumentError, BY_STATUS, Error, Warning

HERE = pathlib.Path(__file__).resolve().parent
VARIABLE = "JOINTFLOW_LIBRARY"
logger = logging.getLogger("jointflow")


# ---- where it is ----

def _candidates() -> Iterator[str]:
    """What to load, in this order: what the environment names, what was installed with the package, what was built in
    the checkout that the package lies in, what the system has."""
    if os.environ.get(VARIABLE):
        yield os.environ[VARIABLE]
        return
    name = f"libjointflow.so.{c.ABI}"
    checkout = HERE.parent.parent
    folders = [HERE / "lib"]
    if (checkout / "CMakeLists.txt").is_file():
        folders += [checkout / "build"]
    yield from (str(folder / name) for folder in folders if (folder / name).is_file())
    yield name


def _bind(library: ctypes.CDLL) -> None:
    for name, (result, arguments) in c.FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def _load() -> ctypes.CDLL:
    reasons: List[str] = []
    for candidate in _candidates():
        try:
            library = ctypes.CDLL(candidate)
            _bind(library)
        except (OSError, AttributeError) as error:
            reasons.append(f"{candidate}: {error}")
            continue
        found = library.jf_version().decode()
        if found == c.JF_VERSION:
            return library
        reasons.append(f"{candidate}: version {found}, expected {c.JF_VERSION}")
    raise ImportError("the shared library of jointflow was not found; in a checkout, make build makes it, "
                      f"elsewhere {VARIABLE} names it. Tried: " + "; ".join(reasons))


lib = _load()


# ---- its log ----

class _Log(threading.local):
    """Warnings of the thread's current call: raised as such when it has returned, never inside of the library."""

    def __init__(self) -> None:
        self.warnings: List[str] = []
        self.watch: Optional[Callable[[Any], Any]] = None
        self.error: Optional[BaseException] = None
        self.interrupts: Optional[Interrupts] = None


_log = _Log()


@c.jf_log_fn
def _on_log(_user: Any, line: bytes) -> None:
    text = line.decode("utf-8", "replace")
    if text.startswith(c.JF_WARNING):
        _log.warnings.append(text[len(c.JF_WARNING):])
    else:
        logger.info(text)


@c.jf_progress_fn
def _on_progress(_user: Any, p: Any) -> int:
    """Asked by the library a few times a second in every long call; Ctrl-C is noticed here, and stops it."""
    try:
        if _ending or (_log.interrupts is not None and _log.interrupts.wanted):
            return 1
        return int(bool(_log.watch is not None and _log.watch(p[0])))
    except BaseException as error:
        _log.error = error
        return 1


@contextmanager
def watched(watch: Callable[[Any], Any]) -> Iterator[None]:
    """Tells this thread's calls to `watch`, which stops them by what it returns."""
    before, _log.watch = _log.watch, watch
    try:
        yield
    finally:
        _log.watch = before


# How messages name options: what stands before and behind the value of those that have one.
OPTIONS = {
    "key": ('setting "', '"'),
    "bounds": ('bounds="', '"'),
    "ordered": ("ordered=True", ""),
    "resume": ("resume=True", ""),
    "changed_data": ("jointflow train --resume --changed-data", ""),
    "models": ("jointflow figure --model", ""),
}


def option_names() -> List[str]:
    """The options that messages of the library name."""
    names: List[str] = []
    while (name := lib.jf_option_name(len(names))) is not None:
        names.append(name.decode())
    return names


def _create_context() -> ctypes.c_void_p:
    made = ctypes.c_void_p()
    if lib.jf_context_create(ctypes.byref(made)) != c.JF_OK:
        raise MemoryError("jointflow: not enough memory")
    for option in option_names():
        before, after = OPTIONS[option]
        lib.jf_context_name_option(made, option.encode(), before.encode(), after.encode())
    lib.jf_context_set_log(made, _on_log, None)
    lib.jf_context_set_progress(made, _on_progress, None)
    return made


# The library may call these from a daemon thread while the interpreter is taken down: they are never freed.
for _callback in (_on_log, _on_progress):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_callback))

# One for the process, for as long as it lasts: each thread finds its own messages there, and handles never outlive it.
context = _create_context()


# ---- calls ----

# Those that may take long and are called as they are; training watches by itself.
LONG_CALLS = ("jf_sample", "jf_encode", "jf_decode", "jf_denoise", "jf_density", "jf_summarise", "jf_image_conditions_create",
              "jf_image_answers", "jf_restore", "jf_cascade_enlarge", "jf_judge", "jf_report", "jf_bench")


# ---- the end of the process ----

EXIT_SECONDS = 3.0
_running: List[None] = []  # an entry for each long call under way
_ending = False


def _stop_calls() -> None:
    """Stops the calls of daemon threads and waits for them: what they read is taken down next. No more calls begin."""
    global _ending
    _ending = True
    deadline = time.monotonic() + EXIT_SECONDS
    while _running and time.monotonic() < deadline:
        time.sleep(0.005)


atexit.register(_stop_calls)
os.register_at_fork(after_in_child=_running.clear)  # the threads of those calls are the parent's


@contextmanager
def under_way() -> Iterator[None]:
    """Around a long call, which the end of the process stops."""
    if _ending:
        raise SystemExit  # ends a daemon thread without words
    _running.append(None)
    try:
        yield
    finally:
        _running.pop()


def free_with(owner: Any, free: Callable[..., Any], *arguments: Any) -> None:
    """Calls free(*arguments) when the owner is gone. At the end of the process nothing is freed: daemon threads may use it."""
    weakref.finalize(owner, free, *arguments).atexit = False


def _interruptible(function: Any) -> Callable[..., int]:
    """The function, stopped by Ctrl-C. Python's own handler would raise at the first instruction of the callback, before
    anything can catch it there: ctypes prints such an exception and goes on."""
    def call(*arguments: Any) -> int:
        before = _log.interrupts
        with under_way(), Interrupts() as _log.interrupts:
            try:
                status: int = function(*arguments)
            finally:
                wanted, _log.interrupts = _log.interrupts.wanted, before
        if wanted and status != c.JF_STOPPED:  # it came too late to stop anything
            signal.raise_signal(signal.SIGINT)
        return status
    return call


for _name in LONG_CALLS:
    setattr(lib, _name, _interruptible(getattr(lib, _name)))


def _raise_warnings() -> None:
    told, _log.warnings = _log.warnings, []
    for text in told:
        warn(text)


def warn(text: str) -> None:
    """Warns, and names the line of the user, not ours."""
    here = str(HERE)
    level, frame = 2, __import__("sys")._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(here):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, Warning, stacklevel=level)


def check(status: int, may_stop: bool = False) -> int:
    """The status of a call that did not fail; else its exception. may_stop: that it was stopped is no failure."""
    if _log.warnings:
        _raise_warnings()
    if _log.error is not None:
        error, _log.error = _log.error, None
        raise error
    if status == c.JF_STOPPED and _ending:
        raise SystemExit
    if status == c.JF_OK or (status == c.JF_STOPPED and may_stop):
        return status
    if status == c.JF_STOPPED:
        raise KeyboardInterrupt
    message = lib.jf_context_error(context).decode("utf-8", "replace")
    raise BY_STATUS.get(status, Error)(message)


def take_text(address: Optional[int]) -> str:
    """Text that the library gave away, which is freed here."""
    if not address:
        return ""
    try:
        return ctypes.string_at(address).decode("utf-8", "replace")
    finally:
        lib.jf_text_free(address)


def encode(text: "str | os.PathLike[str] | None") -> Optional[bytes]:
    """A path or a text as C takes it, which would end it at a null character."""
    made = None if text is None else os.fsencode(text)
    if made is not None and b"\0" in made:
        raise ArgumentError(f"{text!r} holds a null character, expected text without")
    return made
