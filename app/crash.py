"""The door for exceptions nobody caught: written down with their stack, told, and the program goes on."""

import faulthandler
import os
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from core import __version__
from core.domain.problems import Trouble
from core.domain.redact import Redactor, known_in

if TYPE_CHECKING:
    from app.output import Output

LOG, FATAL = "crash.log", "fatal.log"
MOST_ALIKE = 20  # a fault in a paint event comes sixty times a second
MOST_OF_FATAL = 20_000


class Crash(NamedTuple):
    """What went wrong in a line, and a report that a person can read before anybody else does."""

    line: str
    report: str


class CrashDoor:
    """Stands open from `open` to `close`; `tell` hears of each crash, in whatever thread it happened.

    What kills the process before Python can say anything `faulthandler` writes, and is `left` for the next start.
    """

    def __init__(self, folder: Path, tell: Callable[[Crash], None]) -> None:
        self._folder = folder
        self._tell = tell
        self._log: IO[str] | None = None
        self._fatal: IO[str] | None = None
        self._before = sys.excepthook, threading.excepthook
        self._told: Counter[str] = Counter()
        self.left: Crash | None = None

    def open(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._log = _private(self._folder / LOG)
            self.left = self._last_words()
            self._fatal = _private(self._folder / FATAL)
        except OSError:  # where nothing can be written it goes to the terminal
            self._fatal = None
        faulthandler.enable(self._fatal or sys.stderr)
        self._before = sys.excepthook, threading.excepthook
        sys.excepthook = self._uncaught
        threading.excepthook = lambda args: self.report(args.exc_value or args.exc_type())

    def close(self) -> None:
        sys.excepthook, threading.excepthook = self._before
        if self._fatal:
            faulthandler.disable()
            self._fatal.close()
            self._fatal = None
            (self._folder / FATAL).unlink(missing_ok=True)
        if self._log:
            self._log.close()
            self._log = None

    def report(self, error: BaseException) -> None:
        """Write the stack down, without keys, and tell of it; the same thing again and again only so often."""
        crash = crash_of(error)
        self._told[crash.line] += 1
        if self._told[crash.line] > MOST_ALIKE:
            return
        self._write(crash.report)
        self._tell(crash)

    def of_loop(self, _loop: object, context: dict[str, Any]) -> None:
        """As an asyncio exception handler."""
        self.report(of_context(context))

    def _uncaught(self, kind: type[BaseException], error: BaseException, stack: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, stack)
        else:
            self.report(error.with_traceback(stack))

    def _write(self, report: str) -> None:
        _append(self._log or sys.stderr, report)

    def _last_words(self) -> Crash | None:
        """Of the process before, if it left any; they move to the log."""
        path = self._folder / FATAL
        words = path.read_text("utf-8", "replace")[:MOST_OF_FATAL] if path.exists() else ""
        path.unlink(missing_ok=True)
        if not words.strip():
            return None
        crash = Crash(_redacted(words.strip().splitlines()[0]), told(f"The last start ended with:\n\n{words.rstrip()}"))
        self._write(crash.report)
        return crash


def of_context(context: dict[str, Any]) -> BaseException:
    """What asyncio tells an exception handler."""
    error: BaseException | None = context.get("exception")
    return error or RuntimeError(context["message"])


def complain(error: BaseException, folder: Path, out: "Output") -> None:
    """Of a command: a mistake of ours in words, its report in the log, or here where nothing can be written."""
    crash = crash_of(error)
    do = f"Read the report in {folder / LOG} (keys are taken out), and pass it on to whoever may help."
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _private(folder / LOG) as log:
            _append(log, crash.report)
    except OSError:
        do = f"Pass this report on to whoever may help (keys are taken out):\n{crash.report}"
    out.trouble(Trouble(f"Journeyman made a mistake: {crash.line}", "What was shown before is saved.", do))


def crash_of(error: BaseException) -> Crash:
    stack = "".join(traceback.format_exception(error))
    report = told(f"In the thread {threading.current_thread().name}:\n\n{stack.rstrip()}")
    return Crash(_redacted(f"{type(error).__name__}: {error}"), report)


def told(what: str) -> str:
    """A report: what happened and in which surroundings; no keys, and nobody's name out of a path."""
    qt = getattr(sys.modules.get("PySide6"), "__version__", "not loaded")
    import platform  # slow to import, and seldom of use

    head = f"Journeyman {__version__}, Python {platform.python_version()}, Qt {qt}"
    return _redacted(f"{head}\n{platform.platform()}\n{what}")


def _redacted(text: str) -> str:
    home = str(Path.home())
    return Redactor(known_in(os.environ)).text(text.replace(home, "~") if len(home) > 1 else text)


def _append(file: IO[str], report: str) -> None:
    file.write(f"--- {datetime.now().astimezone().isoformat(timespec='seconds')}\n{report}\n")
    file.flush()


def _private(path: Path) -> IO[str]:
    file = path.open("a", encoding="utf-8")
    path.chmod(0o600)
    return file
