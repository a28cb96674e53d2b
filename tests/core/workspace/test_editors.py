"""Opening files in the user's editor: at the line, only inside the folder, without a shell, never from the folder."""

import os
import stat
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.workspace.editors import (
    editor_command,
    existing_folder,
    file_inside,
    open_file,
    open_folder,
    open_terminal,
    terminal_command,
)
from core.workspace.program_search import find_program

RECORD = '#!/bin/sh\nfor word in "$@"; do printf "%s\\n" "$word"; done > "$RECORD.part"\nmv "$RECORD.part" "$RECORD"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    return folder


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is the whole PATH, besides the system's shell."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("RECORD", str(tmp_path / "record"))
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    return programs


def install(programs: Path, name: str, text: str = RECORD) -> Path:
    program = programs / name
    program.write_text(text.replace("mv ", "/bin/mv "))
    program.chmod(0o755)
    return program


def record(programs: Path) -> list[str]:
    return (programs.parent / "record").read_text().splitlines()


@pytest.mark.parametrize(
    ("program", "line", "arguments"),
    [
        ("code", 12, ["--goto", "{}:12"]),
        ("codium", 0, ["{}"]),
        ("zed", 12, ["{}:12"]),
        ("pycharm", 12, ["--line", "12", "{}"]),
    ],
)
def test_an_editor_opens_the_file_at_the_line(
    programs: Path, folder: Path, program: str, line: int, arguments: list[str]
) -> None:
    install(programs, program)
    open_file(folder, "a.py", line)
    path = str((folder / "a.py").resolve())
    assert record(programs) == [argument.format(path) for argument in arguments]


def test_the_setting_chooses_the_editor(programs: Path, folder: Path) -> None:
    for name in ("code", "zed"):
        install(programs, name)
    assert open_file(folder, "a.py") == "Visual Studio Code"
    assert open_file(folder, "a.py", 3, "zed") == "Zed" and record(programs)[0].endswith("a.py:3")
    with pytest.raises(Problem, match="Cursor is not installed"):
        open_file(folder, "a.py", 3, "cursor")


def test_an_editor_from_the_environment_runs_in_a_terminal_unless_it_has_a_window(
    programs: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vim, terminal = install(programs, "vim"), install(programs, "xterm")
    monkeypatch.setenv("EDITOR", "vim -p")
    path = (folder / "a.py").resolve()
    assert editor_command(folder, path, 7, "auto") == ("vim", [str(vim), "-p", "+7", str(path)], True)
    assert terminal_command(folder) == [str(terminal), "-e"]
    open_file(folder, "a.py", 7)
    assert record(programs) == ["-e", str(vim), "-p", "+7", str(path)]
    monkeypatch.setenv("VISUAL", str(install(programs, "gedit")))
    assert editor_command(folder, path, 7, "environment").in_terminal is False


def test_without_an_editor_or_a_terminal_that_is_said(programs: Path, folder: Path) -> None:
    with pytest.raises(Problem, match="No editor was found"):
        open_file(folder, "a.py")
    with pytest.raises(Problem, match="No editor was found"):
        open_folder(folder)
    with pytest.raises(Problem, match="No terminal was found"):
        open_terminal(folder)


def test_names_are_never_read_by_a_shell(programs: Path, folder: Path) -> None:
    install(programs, "code")
    for name in ("$(touch hacked).py", "; touch hacked #.py", "-n", "--goto", "a b'\".py", "`id`"):
        (folder / name).write_text("")
        open_file(folder, name, 2)
        assert record(programs) == ["--goto", f"{folder.resolve() / name}:2"]
    assert not list(folder.parent.rglob("hacked"))


@pytest.mark.parametrize("name", ["../outside.py", "/etc/passwd", "link.py", "links/outside.py", "~/x", "", "a\0b"])
def test_only_files_inside_the_folder_are_opened(programs: Path, folder: Path, name: str) -> None:
    install(programs, "code")
    (folder.parent / "outside.py").write_text("")
    (folder / "link.py").symlink_to("../outside.py")
    (folder / "links").symlink_to("..")
    with pytest.raises(Problem):
        open_file(folder, name)
    assert not (programs.parent / "record").exists()


def test_only_regular_files_are_opened(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "sub").mkdir()
    for name in ("pipe", "sub", "missing"):
        with pytest.raises(Problem):
            file_inside(folder, name)
    (folder / "inner").symlink_to("a.py")
    assert file_inside(folder, "inner") == (folder / "a.py").resolve()


def test_programs_of_the_folder_are_never_started(
    programs: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bin_folder = folder / "node_modules" / ".bin"
    bin_folder.mkdir(parents=True)
    install(bin_folder, "code")
    monkeypatch.setenv("PATH", f"{bin_folder}{os.pathsep}{programs}")
    assert find_program("code", folder) == ""
    monkeypatch.setenv("PATH", "node_modules/.bin")
    monkeypatch.chdir(folder)
    assert find_program("code", folder) == ""


def test_a_folder_opens_as_a_project_and_in_a_terminal(programs: Path, folder: Path) -> None:
    install(programs, "zed")
    assert open_folder(folder) == "Zed" and record(programs) == [str(folder.resolve())]
    install(programs, "xterm", '#!/bin/sh\npwd > "$RECORD"\n')
    open_terminal(folder)
    assert record(programs) == [str(folder.resolve())]


def test_an_editor_that_fails_at_once_is_reported(programs: Path, folder: Path) -> None:
    program = install(programs, "code", "#!/bin/sh\nexit 3\n")
    with pytest.raises(Problem, match="code could not open it"):
        open_file(folder, "a.py")
    program.chmod(program.stat().st_mode & ~stat.S_IXUSR & ~stat.S_IXGRP & ~stat.S_IXOTH)
    with pytest.raises(Problem, match="No editor was found"):
        open_file(folder, "a.py")


@pytest.mark.parametrize("name", ["program.sh", "missing", "//server/share", "", "."])
def test_only_an_existing_folder_of_this_computer_is_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / "program.sh").write_text("#!/bin/sh\n")
    assert existing_folder(tmp_path) == tmp_path
    with pytest.raises(Problem):
        existing_folder(tmp_path / name if name[:1].isalpha() else Path(name))
