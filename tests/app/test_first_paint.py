"""What is loaded when the window is first painted: only what is light."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAVY = (
    "PySide6.QtNetwork", "asyncio", "concurrent", "core.domain.events", "core.engine", "core.store", "httpx", "keyring",
    "markdown_it", "pydantic", "qasync", "sqlalchemy", "sqlite3", "sqlmodel", "ui.sessions", "ui.timeline", "ui.window",
)  # fmt: skip
LOOK = """
import sys
from pathlib import Path
import app.main
from app import desktop
from app.display import application, theme_name
from ui.shell import Shell
from ui.theme import load_theme
from ui.window_state import WindowState

qt, state = application(), WindowState(Path(sys.argv[1]))
shell = Shell(load_theme(theme_name(qt, state)), state)
shell.show()
desktop.paint(qt, shell)
assert shell.painted
sys.stdout.write("\\n".join(sys.modules))
"""


def test_nothing_heavy_is_loaded_before_the_first_paint(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(home)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    loaded = done.stdout.split()
    assert "PySide6.QtWidgets" in loaded
    assert not [name for name in loaded if any(f"{name}.".startswith(f"{heavy}.") for heavy in HEAVY)]
