"""The launchers for macOS and Windows: the profiles and structures they would pass to the system."""

import struct
import sys
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.workspace.job_object import JobObject, job_limits
from core.workspace.launcher import CommandLimits, CommandRequest, SandboxPermissions
from core.workspace.sandbox import choose_sandbox
from core.workspace.seatbelt import Seatbelt


def rules(folder: Path, **more: object) -> list[str]:
    """Return the lines of the profile for a folder."""
    return Seatbelt().profile_text(CommandRequest("true", folder, **more)).splitlines()  # type: ignore[arg-type]  # fields of Asked


def test_the_profile_of_macos(tmp_path: Path) -> None:
    """The profile denies by default, allows the folder, and last denies protected files, secrets and the network."""
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


def test_hosts_allowed_by_the_user_on_macos(tmp_path: Path) -> None:
    lines = rules(tmp_path, permit=SandboxPermissions(secrets=True, protected_paths=(".envrc",)))
    assert not any(".envrc" in line or f"{tmp_path}/.env" in line for line in lines if line.startswith("(deny"))
    with pytest.raises(Problem, match="network access"):
        Seatbelt().prepare(CommandRequest("true", tmp_path, permit=SandboxPermissions(proxy=tmp_path)))


@pytest.mark.parametrize("name", ['with "quotes"', "back\\slash", "(allow default)"])
def test_a_file_name_cannot_inject_rules(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    folder.mkdir()
    spelled = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    text = "\n".join(rules(folder))
    assert f'(subpath "{spelled}")' in text and text.count("\n(allow default)") == 0


def test_the_job_object_of_windows() -> None:
    """The structure has the size and offsets of the Windows headers."""
    body = job_limits(CommandLimits(processes=7, memory=1 << 30))
    assert len(body) == 144
    assert struct.unpack_from("<I", body, 16)[0] == 0x8 | 0x200 | 0x400 | 0x2000
    assert struct.unpack_from("<I", body, 40)[0] == 7 and struct.unpack_from("<Q", body, 120)[0] == 1 << 30


@pytest.mark.skipif(sys.platform == "win32", reason="there it is possible")
def test_windows_reports_its_true_level() -> None:
    assert JobObject().level == "none" and not JobObject().available
    assert choose_sandbox(launchers=[JobObject]).name == "none"
