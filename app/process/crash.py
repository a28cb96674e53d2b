"""The crash handler: writes uncaught exceptions to the crash log and reports them; the program continues."""

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

from app.process.data_folder import database_path
from core import __version__
from core.domain.problems import ErrorDetails, Problem
from core.domain.redact import Redactor, secrets_in_environment
from core.domain.visible import visible
from core.store.integrity import damage_in

if TYPE_CHECKING:
    from app.process.output import Output

CRASH_LOG, FATAL_LOG = "crash.log", "fatal.log"
MAX_REPEATS = 20  # how often the same error is reported; one in a paint event would repeat sixty times a second
MAX_FATAL_CHARS = 20_000


class CrashReport(NamedTuple):
    """An error as one line, and as a full report that the user can read before sending it to the developer."""

    line: str
    report: str


class CrashHandler:
    """Handles uncaught exceptions from `open` to `close`.

    An exception is passed, in the thread that raised it, to `on_damage` if it says that the data file is damaged, else
    to `on_crash`.

    Attributes:
        previous_crash: What `faulthandler` wrote if a fault in native code killed the previous process, else None.
    """

    def __init__(
        self,
        folder: Path,
        on_crash: Callable[[CrashReport], None],
        on_damage: Callable[[Problem], None] | None = None,
    ) -> None:
        self._folder = folder
        self._on_crash = on_crash
        self._on_damage = on_damage
        self._log: IO[str] | None = None
        self._fatal: IO[str] | None = None
        self._original_hook = sys.excepthook
        self._original_thread_hook = threading.excepthook
        self._reported: Counter[str] = Counter()
        self.previous_crash: CrashReport | None = None

    def open(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._log = _open_private(self._folder / CRASH_LOG)
            self.previous_crash = self._take_fatal_log()
            self._fatal = _open_private(self._folder / FATAL_LOG)
        except OSError:  # the folder is not writable, so `faulthandler` writes to standard error
            self._fatal = None
        faulthandler.enable(self._fatal or sys.stderr)
        self._original_hook = sys.excepthook
        self._original_thread_hook = threading.excepthook
        sys.excepthook = self._uncaught
        threading.excepthook = lambda args: self.report(args.exc_value or args.exc_type())

    def close(self) -> None:
        sys.excepthook = self._original_hook
        threading.excepthook = self._original_thread_hook
        if self._fatal:
            faulthandler.disable()
            self._fatal.close()
            self._fatal = None
            (self._folder / FATAL_LOG).unlink(missing_ok=True)
        if self._log:
            self._log.close()
            self._log = None

    def report(self, error: BaseException) -> None:
        """Log the stack trace with secrets redacted, and report it; the same error at most MAX_REPEATS times.

        An error about damage of the data file goes to `on_damage` instead.
        """
        damage = damage_in(error, database_path(self._folder))
        if self._on_damage and isinstance(damage, Problem):
            self._on_damage(damage)
            return
        crash = make_crash_report(error)
        self._reported[crash.line] += 1
        if self._reported[crash.line] > MAX_REPEATS:
            return
        self._write(crash.report)
        self._on_crash(crash)

    def handle_loop_exception(self, _loop: object, context: dict[str, Any]) -> None:
        """Handle an exception in an asyncio event loop. Meant for `loop.set_exception_handler`."""
        self.report(exception_of_context(context))

    def _uncaught(self, kind: type[BaseException], error: BaseException, stack: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, stack)
        else:
            self.report(error.with_traceback(stack))

    def _write(self, report: str) -> None:
        _append(self._log or sys.stderr, report)

    def _take_fatal_log(self) -> CrashReport | None:
        """Move the fatal log of the previous process to the crash log; return it, or None if it is empty."""
        path = self._folder / FATAL_LOG
        text = path.read_text("utf-8", "replace")[:MAX_FATAL_CHARS] if path.exists() else ""
        path.unlink(missing_ok=True)
        if not text.strip():
            return None
        crash = CrashReport(
            _redacted(text.strip().splitlines()[0]),
            format_report(f"The previous process ended with:\n\n{text.rstrip()}"),
        )
        self._write(crash.report)
        return crash


def exception_of_context(context: dict[str, Any]) -> BaseException:
    """Return the exception in an asyncio exception context; if it has none, a new one with its message."""
    error: BaseException | None = context.get("exception")
    return error or RuntimeError(context["message"])


def report_error(error: BaseException, folder: Path, out: "Output") -> None:
    """Print the error of a command on the data in `folder`. An exception other than Problem is reported as a bug."""
    error = damage_in(error, database_path(folder))
    if isinstance(error, Problem):
        out.print_error(error.details)
    else:
        report_internal_error(error, folder, out)


def report_internal_error(error: BaseException, folder: Path, out: "Output") -> None:
    """Print a bug in a command as an internal error, and write its report to the crash log.

    If the log cannot be written, the whole report is printed.
    """
    crash = make_crash_report(error)
    fix = f"Send the report in {folder / CRASH_LOG} to the developer; secrets are redacted."
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _open_private(folder / CRASH_LOG) as log:
            _append(log, crash.report)
    except OSError:
        fix = f"Send this report to the developer; secrets are redacted.\n{crash.report}"
    out.print_error(ErrorDetails(f"Internal error: {crash.line}.", "Everything shown so far is saved.", fix))


def make_crash_report(error: BaseException) -> CrashReport:
    stack = "".join(traceback.format_exception(error))
    report = format_report(f"Thread: {threading.current_thread().name}\n\n{stack.rstrip()}")
    return CrashReport(_redacted(f"{type(error).__name__}: {error}"), report)


def format_report(text: str) -> str:
    """Return a crash report of `text` and version numbers, with secrets and the path of the home folder redacted."""
    qt = getattr(sys.modules.get("PySide6"), "__version__", "not loaded")
    import platform  # slow to import, and seldom needed

    versions = f"Journeyman {__version__}, Python {platform.python_version()}, Qt {qt}"
    return _redacted(f"{versions}\n{platform.platform()}\n{text}")


def _redacted(text: str) -> str:
    home = str(Path.home())
    if len(home) > 1:
        text = text.replace(home, "~")
    return visible(Redactor(secrets_in_environment(os.environ)).redact(text))


def _append(file: IO[str], report: str) -> None:
    file.write(f"--- {datetime.now().astimezone().isoformat(timespec='seconds')}\n{report}\n")
    file.flush()


def _open_private(path: Path) -> IO[str]:
    file = path.open("a", encoding="utf-8")
    path.chmod(0o600)
    return file
