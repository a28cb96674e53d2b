"""Reading skills from untrusted archives: bad ones are refused with an explanation, and nothing is written."""

import io
import os
import sqlite3
import stat
import struct
import tarfile
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.skills.skill_archive import check_file_name, read_skills
from tests.core.skills.library_fixture import TEXT

Fill = Callable[[zipfile.ZipFile], None]


def packed(path: Path, fill: Fill | None = None, **options: int) -> Path:
    """Create a zip file with a valid skill and whatever `fill` adds."""
    target = path / "skill.zip"
    with zipfile.ZipFile(target, "w", options.get("how", zipfile.ZIP_DEFLATED)) as made:
        made.writestr("notes/SKILL.md", TEXT)
        if fill:
            fill(made)
    return target


def refused(path: Path, words: str) -> None:
    before = sorted(path.parent.rglob("*"))
    with pytest.raises(Problem, match=words):
        read_skills(path)
    assert sorted(path.parent.rglob("*")) == before


def test_a_valid_archive_is_read_with_its_scripts(tmp_path: Path) -> None:
    def fill(made: zipfile.ZipFile) -> None:
        entry = zipfile.ZipInfo("notes/scripts/run.sh")
        entry.external_attr = (stat.S_IFREG | 0o755) << 16
        made.writestr(entry, "#!/bin/sh\n")
        made.writestr("notes/assets/", "")
        made.writestr("other/SKILL.md", TEXT.replace("notes", "other", 1))
        made.writestr("README.md", "not a skill")
        made.writestr("__MACOSX/notes/._SKILL.md", "junk")

    one, two = read_skills(packed(tmp_path, fill))
    assert (one.folder, sorted(one.files), one.executable) == (
        "notes", ["SKILL.md", "scripts/run.sh"], frozenset({"scripts/run.sh"}),
    )  # fmt: skip
    assert (two.folder, sorted(two.files)) == ("other", ["SKILL.md"])
    with pytest.raises(Problem, match="There is no skill"):
        read_skills(packed_plain(tmp_path / "a.zip", {"README.md": b"x"}))


def packed_plain(target: Path, bodies: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(target, "w") as made:
        for name, body in bodies.items():
            made.writestr(name, body)
    return target


ESCAPES = (
    "../evil", "notes/../../evil", "/etc/evil", "//server/evil", "C:/evil", "c:evil", "..\\evil", "~/..",
    "notes\\..\\evil",     "notes/./evil", "notes//evil", "notes/\u202egpj.sh", "notes/evil\n.md", "notes/..",
)  # fmt: skip


@pytest.mark.parametrize("name", ESCAPES)
def test_B1_path_traversal_is_refused(tmp_path: Path, name: str) -> None:
    refused(packed(tmp_path, lambda made: made.writestr(name, "x")), "not a valid file name|link")


@pytest.mark.parametrize(
    "name", ["notes/CON", "notes/nul.md", "notes/x.md:ads", "notes/com1", "notes/end.", "notes/end "]
)
def test_B8_device_names_are_refused(tmp_path: Path, name: str) -> None:
    refused(packed(tmp_path, lambda made: made.writestr(name, "x")), "not a valid file name")


def test_B1_a_nul_byte_in_a_name_does_not_truncate_it(tmp_path: Path) -> None:
    path = packed(tmp_path, lambda made: made.writestr("notes/nul_hidden.sh", "x"))
    path.write_bytes(path.read_bytes().replace(b"nul_hidden", b"nul\0hidden"))
    refused(path, "not a valid file name")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_B2_links_and_devices_are_refused(tmp_path: Path, kind: int) -> None:
    def fill(made: zipfile.ZipFile) -> None:
        entry = zipfile.ZipInfo("notes/link")
        entry.external_attr = (kind | 0o777) << 16
        made.writestr(entry, "/etc/passwd")

    refused(packed(tmp_path, fill), "link or a device")


def test_B3_overlapping_entries_are_refused(tmp_path: Path) -> None:
    path = packed(tmp_path, lambda made: made.writestr("notes/big", b"\0" * 1_000_000))
    body = bytearray(path.read_bytes())
    start = body.index(b"PK\x01\x02")
    second = body.index(b"PK\x01\x02", start + 4)
    end = body.index(b"PK\x05\x06")
    entry = bytes(body[second:end])
    twin = entry.replace(b"notes/big", b"notes/bag")  # it points to the same offset in the file
    made = bytes(body[:end]) + twin + bytes(body[end:])
    at = made.index(b"PK\x05\x06")
    count, size = struct.unpack_from("<H", made, at + 10)[0] + 1, struct.unpack_from("<I", made, at + 12)[0] + len(twin)
    made = made[: at + 8] + struct.pack("<HHI", count, count, size) + made[at + 16 :]
    path.write_bytes(made)
    refused(path, "overlap")


def test_B4_an_archive_that_expands_too_much_is_stopped(tmp_path: Path) -> None:
    path = packed(tmp_path, lambda made: made.writestr("notes/bomb", b"\0" * (9 << 20)))
    assert path.stat().st_size < 20_000
    refused(path, "too large for a skill")
    refused(packed(tmp_path, lambda made: made.writestr("notes/big", os.urandom(11 << 20)), how=0), "too large")


def test_B5_a_false_size_is_not_trusted(tmp_path: Path) -> None:
    path = packed(tmp_path, lambda made: made.writestr("notes/liar", b"a" * 5_000))
    body = path.read_bytes()
    path.write_bytes(body.replace(struct.pack("<I", 5_000), struct.pack("<I", 10)))
    refused(path, "damaged|too large")


def test_B6_duplicate_skills_are_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        path = packed(tmp_path, lambda made: made.writestr("notes/SKILL.md", "another"))
    refused(path, "duplicate entry")


@pytest.mark.parametrize(("one", "other"), [("é.md", "e\u0301.md"), ("A.md", "a.md"), ("ß.md", "ss.md")])
def test_B7_names_that_collide_on_some_system_are_refused(tmp_path: Path, one: str, other: str) -> None:
    def fill(made: zipfile.ZipFile) -> None:
        made.writestr(f"notes/{one}", "1")
        made.writestr(f"notes/{other}", "2")

    refused(packed(tmp_path, fill), "duplicate entry")


def test_B9_an_encrypted_archive_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path, lambda made: made.writestr("notes/secret", "x"))
    body = bytearray(path.read_bytes())
    for sign, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = body.index(b"notes/secret", body.index(sign))
        header = body.rindex(sign, 0, at)
        body[header + offset] |= 1
    path.write_bytes(bytes(body))
    refused(path, "encrypted")


@pytest.mark.parametrize("left", [0, 1, 3, 30, 100, 0.5, 0.9])
def test_B10_a_truncated_archive_is_refused(tmp_path: Path, left: float) -> None:
    path = packed(tmp_path, lambda made: made.writestr("notes/more", os.urandom(5_000)))
    body = path.read_bytes()
    path.write_bytes(body[: int(left if left >= 1 else left * len(body))])
    refused(path, "damaged|not a zip file")


def test_B11_a_hundred_thousand_entries_are_refused_at_once(tmp_path: Path) -> None:
    def fill(made: zipfile.ZipFile) -> None:
        for n in range(100_000):
            made.writestr(zipfile.ZipInfo(f"notes/{n}"), "")

    path = packed(tmp_path, fill, how=0)
    began = time.process_time()
    refused(path, "100,001 entries")
    assert time.process_time() - began < 20


def test_B12_a_nested_archive_is_an_ordinary_file(tmp_path: Path) -> None:
    inner = packed(tmp_path).read_bytes()
    (found,) = read_skills(packed(tmp_path, lambda made: made.writestr("notes/assets/inner.zip", inner)))
    assert found.files["assets/inner.zip"] == inner


def test_B22_a_tar_file_is_recognized(tmp_path: Path) -> None:
    for name, mode in (("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.zip", "w")):
        with tarfile.open(tmp_path / name, mode) as made:  # type: ignore[call-overload]
            entry = tarfile.TarInfo("notes/SKILL.md")
            entry.size = len(TEXT)
            made.addfile(entry, io.BytesIO(TEXT.encode()))
        refused(tmp_path / name, "not a zip file. It is a .*tar file")


def test_B23_a_database_is_not_a_skill(tmp_path: Path) -> None:
    path = tmp_path / "skill.zip"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE a (b)")
        db.commit()
    refused(path, "It is a database")


def test_B24_an_image_bomb_is_only_bytes(tmp_path: Path) -> None:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 50_000, 50_000, 8, 6, 0, 0, 0) + b"\0" * 50
    (found,) = read_skills(packed(tmp_path, lambda made: made.writestr("notes/assets/big.png", head)))
    assert found.files["assets/big.png"] == head


def test_a_folder_is_read_without_following_links(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("canary")
    root = tmp_path / "root"
    for name in ("one", "two"):
        (root / name / "scripts").mkdir(parents=True)
        (root / name / "SKILL.md").write_text(TEXT.replace("notes", name, 1))
    (root / "elsewhere").symlink_to(secret)  # outside of every skill, so it is ignored
    (root / "one" / "scripts" / "a.sh").write_text("#!/bin/sh\n")
    (root / "one" / "scripts" / "a.sh").chmod(0o755)
    assert [(each.folder, sorted(each.files), each.executable) for each in read_skills(root)] == [
        ("one", ["SKILL.md", "scripts/a.sh"], frozenset({"scripts/a.sh"})),
        ("two", ["SKILL.md"], frozenset()),
    ]
    assert read_skills(root / "one")[0].folder == "one"
    assert read_skills(root / "two" / "SKILL.md")[0].folder == "two"
    (root / "two" / "stolen").symlink_to(secret)
    refused(root / "two", "not a regular file")
    (root / "two" / "stolen").unlink()
    os.mkfifo(root / "two" / "pipe")
    refused(root / "two", "not a regular file")
    refused(root / "two" / "pipe", "not a regular file")


def test_a_bad_skill_does_not_affect_the_others(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(TEXT.replace("notes", name, 1))
    (tmp_path / "two" / "stolen").symlink_to(tmp_path)
    found = read_skills(tmp_path)
    assert [(one.folder, sorted(one.files)) for one in found] == [
        ("one", ["SKILL.md"]), ("three", ["SKILL.md"]), ("two", []),
    ]  # fmt: skip
    assert found[2].error and "two/stolen" in found[2].error.details.message


def test_ordinary_names_are_accepted() -> None:
    for name in ("SKILL.md", "scripts/run me.py", "references/ä/日本.md", "assets/.hidden", "a-b_c (1).txt"):
        check_file_name(name)
