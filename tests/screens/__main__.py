"""Takes a screenshot of every screen, or of those named: `python -m tests.screens DIR [SCREEN ...]`.

`packaging/dev.py screenshots` runs it.

The sample data comes from real runs of the scripted model, with fixed clocks.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.process.exit_codes import FAILED, USAGE
from app.process.output import Output, terminal
from core.domain.problems import Problem

THEMES = {100: ("light", "dark", "contrast"), 150: ("light", "dark")}
SIZE = (1440, 900)
SETTLES = 4
HOMES = ("HOME", "USERPROFILE")


def take(folder: Path, names: Sequence[str], out: Output) -> int:
    """Save pictures of every screen, or of those in `names`, with one process per scale: Qt reads it at startup."""
    if scale := os.environ.get("JOURNEYMAN_PICTURES_AT"):
        _paint_all(folder, Path(os.environ["JOURNEYMAN_HOME"]), scale, names)
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, _at_home(place):
        from tests.screens.sample_data_folder import make

        home = Path(place) / "journeyman"
        make(home)
        for scale_ in THEMES:
            _paint_in_process(folder, home, _screen(Path(place)), scale_, names)
    for picture in sorted(folder.glob("*.png")):
        out.write(str(picture))
    return 0


@contextmanager
def _at_home(place: str) -> Iterator[None]:
    """Use a temporary home folder, so that no screenshot shows the name of the user who takes it."""
    before = {name: os.environ.get(name) for name in HOMES}
    os.environ.update(dict.fromkeys(HOMES, place))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _screen(place: Path) -> Path:
    """Write a screen configuration: the offscreen platform's default of 800 × 800 would cut the windows."""
    file = place / "screen.json"
    screen = {"name": "pictures", "x": 0, "y": 0, "width": 3840, "height": 2400, "logicalDpi": 96, "dpr": 1}
    file.write_text(json.dumps({"screens": [screen]}), encoding="utf-8")
    return file


def _paint_in_process(folder: Path, home: Path, screen: Path, scale: int, names: Sequence[str]) -> None:
    offered = os.environ | {
        "JOURNEYMAN_HOME": str(home),
        "JOURNEYMAN_PICTURES_AT": str(scale),
        "QT_SCALE_FACTOR": str(scale / 100),
        "QT_QPA_PLATFORM": f"offscreen:configfile={screen}",
        "QT_LOGGING_RULES": "qt.qpa.*=false",
    }
    words = [sys.executable, "-m", "tests.screens", str(folder.absolute()), *names]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(words, env=offered, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Problem("The screenshots could not be taken.", done.stderr.strip()[-2000:], "")


def _paint_all(folder: Path, home: Path, scale: str, names: Sequence[str]) -> None:
    from app.window.qt_application import get_or_create_application
    from tests.screens.screens import screens

    app = get_or_create_application()
    for theme in THEMES[int(scale)]:
        for name, widget in screens(home, theme, SIZE):
            if names and name not in names:
                continue
            for _ in range(SETTLES):
                app.processEvents()
            widget.grab().save(str(folder / f"{name}-{theme}-{scale}.png"))


def main(words: list[str]) -> int:
    out = terminal()
    if not words or words[0].startswith("-"):
        out.write_error("usage: python -m tests.screens DIR [SCREEN ...]")
        return USAGE
    try:
        return take(Path(words[0]), words[1:], out)
    except Problem as problem:
        out.print_error(problem.details)
        return FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
