"""Opens files in the user's editor at a line, and terminals in a folder.

File names and folder contents are untrusted, so programs are started without a shell, with absolute paths of regular
files inside the folder, and programs in the folder itself are not used.
"""

import os
import shlex
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import Problem
from core.domain.visible import visible_name
from core.workspace.broker import FileBroker
from core.workspace.program_search import find_program

AUTO = "auto"
ENVIRONMENT = "environment"
STARTED_S = 1.0  # seconds for which a started program is observed: an earlier failure is reported
# Placeholders in the arguments of an editor.
LINE = "{line}"
FILE = "{file}"


@dataclass(frozen=True, slots=True)
class Editor:
    """An editor: its id, its display name, the programs that may start it, and the arguments that open a line."""

    id: str
    name: str
    programs: tuple[str, ...]
    at_line: tuple[str, ...]


JETBRAINS = ("idea", "pycharm", "webstorm", "goland", "clion", "rider", "phpstorm", "rubymine", "rustrover")
EDITORS = (
    Editor("vscode", "Visual Studio Code", ("code", "codium", "code-oss"), ("--goto", f"{FILE}:{LINE}")),
    Editor("cursor", "Cursor", ("cursor",), ("--goto", f"{FILE}:{LINE}")),
    Editor("zed", "Zed", ("zed", "zeditor", "zedit"), (f"{FILE}:{LINE}",)),
    Editor("jetbrains", "JetBrains", JETBRAINS, ("--line", LINE, FILE)),
    Editor("sublime", "Sublime Text", ("subl",), (f"{FILE}:{LINE}",)),
    Editor("kate", "Kate", ("kate",), ("--line", LINE, FILE)),
)
# Programs in $VISUAL or $EDITOR that accept a line number as `+LINE` before the file.
PLUS_LINE = frozenset({"vi", "vim", "nvim", "gvim", "emacs", "emacsclient", "nano", "micro", "hx", "helix", "kak"})
GRAPHICAL = frozenset({"gvim", "gedit", "gnome-text-editor", "kwrite", "mousepad", "xed", "pluma", "emacs"})
# Terminal programs, each with the option that precedes a command to run.
TERMINALS = {
    "x-terminal-emulator": "-e",
    "gnome-terminal": "--",
    "konsole": "-e",
    "xfce4-terminal": "-x",
    "alacritty": "-e",
    "kitty": "--",
    "foot": "--",
    "wezterm": "start",
    "xterm": "-e",
}


class EditorCommand(NamedTuple):
    """The command line that opens a file, the display name of the editor, and whether it needs a terminal."""

    editor_name: str
    argv: list[str]
    in_terminal: bool


def open_file(folder: Path, name: str, line: int = 0, choice: str = AUTO) -> str:
    """Open a file of a folder in an editor, at a line (0: no line), and return the display name of the editor.

    `choice` is the id of an editor, "environment" for $VISUAL or $EDITOR, or "auto". Raise Problem if the file is not a
    regular file inside the folder, or if no such editor is installed.
    """
    command = editor_command(folder, file_inside(folder, name), line, choice)
    terminal = terminal_command(folder) if command.in_terminal else []
    start_program([*terminal, *command.argv], folder=Path.home())
    return command.editor_name


def open_folder(folder: Path, choice: str = AUTO) -> str:
    """Open a folder as a project and return the display name of the editor; raise Problem if none is installed."""
    real = existing_folder(folder)
    for editor in EDITORS:
        if choice in (AUTO, editor.id) and (program := _program_of(editor, folder)):
            start_program([program, str(real)], folder=Path.home())
            return editor.name
    raise _no_editor(choice)


def open_terminal(folder: Path) -> None:
    """Open a terminal in a folder; raise Problem if none is installed."""
    real = existing_folder(folder)
    if sys.platform == "darwin":
        start_program(["/usr/bin/open", "-a", "Terminal", str(real)], folder=real)
        return
    start_program(terminal_command(folder)[:1], folder=real)


def file_inside(folder: Path, name: str) -> Path:
    """Return the absolute path of a regular file inside a folder, with links resolved; raise Problem otherwise."""
    try:
        broker = FileBroker(folder)
    except OSError as error:
        raise Problem(f"The folder {folder} cannot be opened.", f"{error.strerror}.", "") from error
    with broker:
        relative_path = broker.resolve(name)
        status = broker.stat(relative_path)
        if status is None:
            raise Problem(f"There is no file {name!r} in the folder.", "", "It may have been renamed or deleted.")
        if not stat.S_ISREG(status.st_mode):
            raise Problem(f"{name!r} is not a file.", "", "Open the folder instead.")
        return Path(os.path.realpath(folder)) / relative_path


def editor_command(folder: Path, path: Path, line: int, choice: str) -> EditorCommand:
    """Return how to open a file at a line (0: no line) with the chosen editor; raise Problem if none is installed."""
    for editor in EDITORS:
        if choice in (AUTO, editor.id) and (program := _program_of(editor, folder)):
            arguments = editor.at_line if line > 0 else (FILE,)
            filled = [part.replace(LINE, str(line)).replace(FILE, str(path)) for part in arguments]
            return EditorCommand(editor.name, [program, *filled], in_terminal=False)
    if choice in (AUTO, ENVIRONMENT) and (command := _environment_command(folder, path, line)):
        return command
    raise _no_editor(choice)


def _environment_command(folder: Path, path: Path, line: int) -> EditorCommand | None:
    """Return how to open a file with the program in $VISUAL or $EDITOR; None if neither names a usable program."""
    for variable in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(os.environ.get(variable, ""))
        except ValueError:
            continue
        if words and (program := find_program(words[0], folder)):
            name = Path(program).name
            at_line = [f"+{line}"] if line > 0 and name in PLUS_LINE else []
            return EditorCommand(name, [program, *words[1:], *at_line, str(path)], in_terminal=name not in GRAPHICAL)
    return None


def terminal_command(folder: Path) -> list[str]:
    """Return an installed terminal program and the option that precedes a command; raise Problem if there is none."""
    for name, option in TERMINALS.items():
        if program := find_program(name, folder):
            return [program, option]
    raise Problem("No terminal was found.", "", "Install one, such as xterm.")


def start_program(argv: Sequence[str], *, folder: Path) -> None:
    """Start a program that outlives Journeyman. Raise Problem if it cannot be started or soon exits with an error."""
    try:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise Problem(f"{argv[0]} could not be started.", f"{error.strerror}.", "") from error
    try:
        exit_code = process.wait(STARTED_S)
    except subprocess.TimeoutExpired:
        threading.Thread(target=process.wait, name="editor", daemon=True).start()
        return
    if exit_code:
        raise Problem(f"{Path(argv[0]).name} could not open it.", f"It ended with exit code {exit_code}.", "")


def _program_of(editor: Editor, folder: Path) -> str:
    return next((program for name in editor.programs if (program := find_program(name, folder))), "")


def existing_folder(folder: Path) -> Path:
    """Return a folder with links resolved; raise Problem if it does not exist or is on another computer.

    The path may come from an imported session. On Windows, even looking at a network path would send the user's
    credentials to that computer.
    """
    if not folder.is_absolute() or str(folder).startswith(("//", "\\\\")):
        raise Problem(f"The folder {visible_name(str(folder))} is not opened.", "It is not on this computer.", "")
    real = Path(os.path.realpath(folder))
    if not real.is_dir():
        raise Problem(f"The folder {visible_name(str(folder))} does not exist.", "", "")
    return real


def _no_editor(choice: str) -> Problem:
    name = next((editor.name for editor in EDITORS if editor.id == choice), "")
    if name:
        return Problem(f"{name} is not installed.", "", "Choose another editor in Settings, Appearance.")
    fix = "Install Visual Studio Code, Zed or a JetBrains editor, or set $EDITOR."
    return Problem("No editor was found.", "", fix)
