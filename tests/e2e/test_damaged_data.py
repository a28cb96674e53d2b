"""A data file that was damaged in place: commands say so in words, and a repair recovers what can be read."""

import os
from pathlib import Path

from tests.e2e.terminal import Terminal


def damage_in_place(path: Path) -> None:
    """Overwrite a page of events, without changing the file's size and time."""
    before = path.stat()
    body = path.read_bytes()
    at = body.rindex(b"word word word") // 4096 * 4096
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"\xa5" * 4096)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_damage_is_named_and_repaired(terminal: Terminal) -> None:
    script = terminal.script(*({"text": "word " * 300} for _ in range(30)), {"text": "Done."}, then="repeat_last")
    for _ in range(8):
        assert terminal.run(script=script).code == 0
    sound = terminal("doctor")
    assert "ok    Database: every page was read; no damage" in sound.out
    assert terminal("db", "check").out == "The database is not damaged.\n"
    (terminal.home / "journeyman.check").unlink()
    damage_in_place(terminal.home / "journeyman.db")
    found = terminal("doctor")
    assert found.code == 1 and "FAIL  Database: The data file is damaged." in found.out
    assert "journeyman db repair" in found.out and "sqlalche.me" not in found.out + found.err
    assert "Internal error" not in found.out + found.err


def test_a_backup_of_damaged_data_says_how_to_repair_it(terminal: Terminal) -> None:
    script = terminal.script({"text": "word " * 600})
    for _ in range(8):
        assert terminal.run(script=script).code == 0
    damage_in_place(terminal.home / "journeyman.db")
    failed = terminal("db", "backup")
    assert failed.code == 1 and "The backup failed." in failed.err and "journeyman db repair" in failed.err
    repaired = terminal("db", "repair")
    assert repaired.code == 0 and "has been repaired. Recovered:" in repaired.out
    assert terminal("db", "repair").out == "The database is not damaged.\n"
    assert terminal("db", "check").code == 0
    assert terminal("db", "backup").code == 0
