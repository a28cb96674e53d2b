"""The door for exceptions nobody caught: written down with their stack, told, and the program goes on."""

import faulthandler
import os
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from core.domain.redact import Redactor, known_in


class CrashDoor:
    """Stands open from `open` to `close`; `tell` hears one line, in whatever thread it happened."""

    def __init__(self, folder: Path, tell: Callable[[str], None]) -> None:
        self._path = folder / "crash.log"
        self._tell = tell
        self._file: IO[str] | None = None
        self._before = sys.excepthook, threading.excepthook

    def open(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = self._path.open("a", encoding="utf-8")
            self._path.chmod(0o600)
        except OSError:  # where nothing can be written it goes to the terminal
            self._file = None
        faulthandler.enable(self._file or sys.stderr)
        self._before = sys.excepthook, threading.excepthook
        sys.excepthook = self._uncaught
        threading.excepthook = lambda args: self.report(args.exc_value or args.exc_type())

    def close(self) -> None:
        sys.excepthook, threading.excepthook = self._before
        if self._file:
            faulthandler.disable()
            self._file.close()
            self._file = None

    def report(self, error: BaseException) -> None:
        """Write the stack down, without keys, and tell in a line."""
        redactor = Redactor(known_in(os.environ))
        lines = redactor.text("".join(traceback.format_exception(error)))
        file = self._file or sys.stderr
        file.write(f"--- {datetime.now().astimezone().isoformat(timespec='seconds')}\n{lines}")
        file.flush()
        self._tell(redactor.text(f"{type(error).__name__}: {error}"))

    def of_loop(self, _loop: object, context: dict[str, Any]) -> None:
        """As an asyncio exception handler."""
        self.report(context.get("exception") or RuntimeError(context["message"]))

    def _uncaught(self, kind: type[BaseException], error: BaseException, stack: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, stack)
        else:
            self.report(error.with_traceback(stack))
