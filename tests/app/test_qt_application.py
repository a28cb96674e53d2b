"""The creation of the QApplication, in a process of its own."""

import os
import subprocess
import sys

KEEPS_HANDLER = """
from PySide6.QtCore import qInstallMessageHandler, qWarning
from app.window.qt_application import get_or_create_application

qInstallMessageHandler(lambda kind, context, text: print("handled:", text))
assert get_or_create_application() is get_or_create_application()
qWarning("later")
qInstallMessageHandler(None)
"""


def test_an_earlier_message_handler_is_restored() -> None:
    done = subprocess.run(
        [sys.executable, "-c", KEEPS_HANDLER],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "handled: later" in done.stdout
