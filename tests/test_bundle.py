"""Tests of the packages: the files that other programs read, and the bundle as a Python interpreter."""

import configparser
import hashlib
import importlib
import json
import os
import plistlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from app.cli.arguments import parser
from core import __version__

ROOT = Path(__file__).resolve().parent.parent
SHARE = ROOT / "packaging" / "share"


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that imports a module of `packaging`, which is a folder of scripts, not a package."""
    monkeypatch.syspath_prepend(ROOT / "packaging")
    return importlib.import_module


def test_the_windows_installer_replaces_older_versions_and_leaves_data_alone(recipe: Any, tmp_path: Path) -> None:
    windows = recipe("windows")
    text = windows.script("1.2.3", tmp_path / "dist" / "journeyman", tmp_path / "dist", tmp_path / "a.ico")
    sections = re.findall(r"^\[(\w+)\]$", text, re.MULTILINE)
    assert sections == ["Setup", "Tasks", "InstallDelete", "Files", "Icons", "Registry", "Run", "Code"]
    ini = configparser.ConfigParser(interpolation=None)
    ini.read_string(text[: text.index("[Tasks]")])
    assert ini["Setup"]["AppVersion"] == "1.2.3" and ini["Setup"]["PrivilegesRequired"] == "lowest"
    assert ini["Setup"]["AppId"].startswith("{{") and windows.name("1.2.3") == "journeyman-1.2.3-windows-setup"
    places = set(re.findall(r"\{+(\w+)[},]", text)) - {"cm", "olddata"}
    assert places <= {"app", "autopf", "group", "autodesktop"} | {windows.SAME_PROGRAM.strip("{}").split("-")[0]}
    assert "localappdata" not in text.lower() and "[UninstallDelete]" not in text
    for line in re.findall(r"^(?:Name|Source|Type|Root|Filename): .*(?:\\\n.*)*$", text, re.MULTILINE):
        assert line.count('"') % 2 == 0, line


def test_the_macos_application_describes_itself(recipe: Any, tmp_path: Path) -> None:
    macos = recipe("macos")
    plist = plistlib.loads(macos.info("1.2.3"))
    assert plist["CFBundleShortVersionString"] == "1.2.3" and plist["CFBundleExecutable"] == "journeyman"
    (kind,) = plist["UTExportedTypeDeclarations"]
    mime = ElementTree.parse(SHARE / "journeyman.xml").getroot()[0]
    assert kind["UTTypeTagSpecification"]["public.mime-type"] == [mime.get("type") or ""] == [mime.attrib["type"]]
    commands = macos.image_commands(tmp_path, tmp_path / "a.dmg")
    assert commands[0][0] == "codesign" and commands[-1][-1] == str(tmp_path / "a.dmg")
    assert str(tmp_path / "Journeyman.app") in commands[0]


def test_the_flatpak_manifest_packs_the_tarball(recipe: Any, tmp_path: Path) -> None:
    flatpak = recipe("flatpak")
    tarball = tmp_path / "journeyman.tar.xz"
    tarball.write_bytes(b"packed")
    path = tmp_path / f"{flatpak.APP}.json"
    path.write_text(flatpak.manifest(tarball))
    manifest = json.loads(path.read_text())
    (module,) = manifest["modules"]
    assert [(source["path"], source["sha256"]) for source in module["sources"]] == [(tarball.name, digest(tarball))]
    recipe("debian").put_shared(tmp_path / "share", "1.2.3")
    shared = {file.name for file in (tmp_path / "share").rglob("*")}
    assert {manifest["rename-desktop-file"], f"{manifest['rename-icon']}.png"} <= shared
    assert "share/mime/packages/journeyman.xml" in " ".join(module["build-commands"]) and "journeyman.xml" in shared
    if builder := shutil.which("flatpak-builder"):
        command = [builder, "--show-manifest", str(path)]
        ran = subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
        shown = json.loads(ran.stdout)
        assert b"WARNING" not in ran.stderr
        assert shown["id"] == flatpak.APP and shown["finish-args"] == flatpak.PERMISSIONS


def test_the_homebrew_cask_installs_the_disk_image(recipe: Any, tmp_path: Path) -> None:
    image = tmp_path / "journeyman-1.2.3.dmg"
    image.write_bytes(b"image")
    text = recipe("homebrew").cask("1.2.3", image)
    fields = dict(re.findall(r'^  (version|sha256|url|app) "(.*)"$', text, re.MULTILINE))
    assert fields == {"version": "1.2.3", "sha256": digest(image), "url": image.as_uri(), "app": "Journeyman.app"}
    assert plistlib.loads(recipe("macos").info("1.2.3"))["CFBundleIdentifier"] in text
    if ruby := shutil.which("ruby"):
        assert b"Syntax OK" in subprocess.run([ruby, "-c"], input=text.encode(), check=True, capture_output=True).stdout


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_desktop_finds_program_icon_and_type(recipe: Any, tmp_path: Path) -> None:
    recipe("debian").put_shared(tmp_path, "1.2.3")
    entry = configparser.ConfigParser(interpolation=None)
    entry.optionxform = str  # type: ignore[assignment, method-assign]  # keep the case of the names
    entry.read(tmp_path / "applications" / "journeyman.desktop")
    assert entry["Desktop Entry"]["Exec"] == "journeyman open %F" and entry["Desktop Entry"]["Icon"] == "journeyman"
    assert entry["Desktop Entry"]["MimeType"] == "application/x-journeyman+json;"
    assert entry["Desktop Action safe"]["Exec"] == "journeyman --safe"
    for size in (16, 48, 256):
        picture = (tmp_path / f"icons/hicolor/{size}x{size}/apps/journeyman.png").read_bytes()
        assert picture[:4] == b"\x89PNG" and int.from_bytes(picture[16:20], "big") == size
    described = ElementTree.parse(tmp_path / "metainfo/local.journeyman.journeyman.metainfo.xml").getroot()
    assert described.find("releases/release[@version='1.2.3']") is not None
    assert (described.findtext("launchable"), described.findtext("provides/binary")) == (
        "journeyman.desktop",
        "journeyman",
    )
    glob = ElementTree.parse(tmp_path / "mime/packages/journeyman.xml").getroot().find(".//{*}glob")
    assert glob is not None and glob.get("pattern") == "*.journeyman.json"


@pytest.mark.skipif(shutil.which("appstreamcli") is None, reason="`apt install appstream` lets this be checked")
def test_the_description_is_valid(recipe: Any, tmp_path: Path) -> None:
    recipe("debian").put_shared(tmp_path, __version__)
    file = tmp_path / "metainfo/local.journeyman.journeyman.metainfo.xml"
    done = subprocess.run(["appstreamcli", "validate", "--no-net", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_manual_names_every_command(recipe: Any) -> None:
    page = recipe("manual").page("1.2.3")
    commands = next(action.choices for action in parser()._actions if isinstance(action.choices, dict))
    assert set(re.findall(r"^\.SS (\S+)$", page, re.MULTILINE)) == set(commands) and len(commands) > 15
    assert not re.findall(r"^'", page, re.MULTILINE)
    if shutil.which("man"):
        words = ["man", "--warnings", "-l", "-"]
        done = subprocess.run(words, input=page, capture_output=True, text=True, env={**os.environ, "MANPAGER": "cat"})
        assert (done.returncode, done.stderr) == (0, "") and "--safe" in done.stdout


def test_a_library_without_a_known_package_is_an_error(recipe: Any) -> None:
    debian = recipe("debian")
    assert debian.named(["libEGL.so.1", "libX11.so.6"]) == ["libegl1", "libx11-6"]
    if shutil.which("dpkg"):
        assert debian.named(["libcrypt.so.1"]) == ["libcrypt1"], "this system's package database knows it"
    with pytest.raises(Exception, match=r"No package is known for libnew\.so\.1"):
        debian.named(["libX11.so.6", "libnew.so.1"])


@pytest.mark.parametrize("words", [("-IS",), ("-I", "-S")])
def test_a_bundle_runs_our_own_scripts_like_python(tmp_path: Path, words: tuple[str, ...]) -> None:
    script = tmp_path / "apart.py"
    script.write_text("import os, sys\nprint(__name__, sys.argv, 'LD_LIBRARY_PATH' in os.environ)\n")
    command = [sys.executable, "-m", "app.bundled", *words, str(script), "a", "-b"]
    environment = {**os.environ, "LD_LIBRARY_PATH": "/nowhere"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=True)
    assert done.stdout == f"__main__ {[str(script), 'a', '-b']} False\n"


def test_a_bundle_is_the_program(tmp_path: Path) -> None:
    for words in (["--version"], ["-m", "app", "--version"]):
        command = [sys.executable, "-m", "app.bundled", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
        assert done.stdout == f"journeyman {__version__}\n"


def test_the_bundle_contains_every_script_that_runs_in_its_own_process() -> None:
    """These scripts are started by path, so PyInstaller does not find them as imports."""
    spec = (ROOT / "packaging" / "journeyman.spec").read_text()
    started = {"core/tools/searcher.py", "core/workspace/attacks.py", "core/workspace/confine.py"}
    for path in (ROOT / "core").rglob("*.py"):
        for name in re.findall(r'Path\(__file__\)\.with_name\("(\w+\.py)"\)', path.read_text("utf-8")):
            started.add(str(path.with_name(name).relative_to(ROOT)))
    assert started == set(re.findall(r'"(core/[\w/]+\.py)"', spec))
