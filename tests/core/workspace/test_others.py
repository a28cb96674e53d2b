"""The launchers of other systems: what they would hand to macOS and Windows, looked at here."""

import struct
import sys
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.workspace.jobobject import JobObject, job_limits
from core.workspace.launch import Asked, Limits, Permit
from core.workspace.sandbox import choose
from core.workspace.seatbelt import Seatbelt


def rules(folder: Path, **more: object) -> list[str]:
    """The profile's lines for a folder."""
    return Seatbelt().rules(Asked("true", folder, **more)).splitlines()  # type: ignore[arg-type]  # fields of Asked


def test_the_profile_of_macos(tmp_path: Path) -> None:
    """It denies by default, opens the folder, and its last words close what is protected, secret, and the network."""
    lines = rules(tmp_path, protected=("sub/.git",), hidden=("a/.env",))
    assert lines[:2] == ["(version 1)", "(deny default)"] and lines[-1] == "(deny network*)"
    opened = next(number for number, line in enumerate(lines) if line.startswith("(allow file-write* "))
    assert f'(subpath "{tmp_path}")' in lines[opened]
    for name in (".git/hooks", ".git/config", ".envrc", ".mcp.json", "sub/.git/hooks"):
        assert lines.index(f'(deny file-write* (subpath "{tmp_path}/{name}"))') > opened
    assert f'(deny file-write* (literal "{tmp_path}/.git"))' in lines
    assert f'(deny file-read* (subpath "{tmp_path}/a/.env"))' in lines
    assert not any(line.startswith("(allow network") for line in lines)
    assert all(line.count("(") == line.count(")") for line in lines)


def test_what_a_person_allowed_on_macos(tmp_path: Path) -> None:
    lines = rules(tmp_path, permit=Permit(secrets=True, protected=(".envrc",)))
    assert not any(".envrc" in line or f"{tmp_path}/.env" in line for line in lines if line.startswith("(deny"))
    with pytest.raises(Problem, match="No host"):
        Seatbelt().prepare(Asked("true", tmp_path, permit=Permit(proxy=tmp_path)))


@pytest.mark.parametrize("name", ['with "quotes"', "back\\slash", "(allow default)"])
def test_a_name_cannot_write_rules(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    spelled = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    text = "\n".join(rules(folder))
    assert f'(subpath "{spelled}")' in text and text.count("\n(allow default)") == 0


def test_the_job_of_windows() -> None:
    """The layout the system takes: sizes and places are those of its headers."""
    body = job_limits(Limits(processes=7, memory=1 << 30))
    assert len(body) == 144
    assert struct.unpack_from("<I", body, 16)[0] == 0x8 | 0x200 | 0x400 | 0x2000
    assert struct.unpack_from("<I", body, 40)[0] == 7 and struct.unpack_from("<Q", body, 120)[0] == 1 << 30


@pytest.mark.skipif(sys.platform == "win32", reason="there it is possible")
def test_windows_is_honest_about_its_level() -> None:
    assert JobObject().level == "none" and not JobObject().possible
    assert choose(ladder=[JobObject]).name == "none"
