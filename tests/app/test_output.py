"""What is printed: a terminal is never told to do anything by words of others."""

import os
import sys

import pytest

from app.output import terminal

SAID = "a\x1b]0;pwned\x07 \x1b[31mred \u202egpj.exe"


@pytest.mark.skipif(sys.platform == "win32", reason="no such terminals there")
def test_u2_a_terminal_shows_signs_that_hide_and_a_pipe_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.openpty()
    other, pipe = os.pipe()
    with os.fdopen(writing, "w", encoding="utf-8") as screen, os.fdopen(pipe, "w", encoding="utf-8") as piped:
        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setattr(sys, "stderr", piped)
        out = terminal()
        out.write(SAID)
        out.complain(SAID)
        assert os.read(reading, 1_000).decode() == "a red ⟦U+202E⟧gpj.exe\r\n"
        assert os.read(other, 1_000).decode() == f"{SAID}\n"
    os.close(reading)
    os.close(other)
