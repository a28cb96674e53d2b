"""Instructions for runs: the user's own, of the folder and the folders above it, imported, and in subfolders."""

import os
from pathlib import Path

import pytest

from core.domain.events import RunStarted
from core.engine.policy.instruction_files import MAX_IMPORTS, imported_names
from core.engine.policy.trust import CHANGED_SINCE_TRUST, NOT_TRUSTED, FollowedFiles
from core.engine.prompting.instructions import IMPORTER_NOT_USED, TOTAL_MAX_CHARS, load_instructions
from tests.core.engine.harness import EngineHarness, open_engine, run_bounded, scripted_replies


class AllFiles(FollowedFiles):
    """Follows every file, as if the user had trusted all of them as they are."""

    def follows_digest(self, name: str, digest: str) -> bool:
        return True


ALL = AllFiles()


async def started(scene: EngineHarness) -> RunStarted:
    session = await scene.run(scripted_replies({"text": "Done."}))
    return next(event for event in await scene.events(session) if isinstance(event, RunStarted))


def names(folder: Path, home: Path, follows: FollowedFiles = ALL) -> list[str]:
    return [item.file.name for item in load_instructions(folder, home, follows) if item.text]


def test_the_users_own_instructions_are_in_the_system_prompt_of_every_folder(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            own = tmp_path / "AGENTS.md"
            own.write_text("Always answer in French.")
            start = await started(scene)
            assert "Always answer in French." in scene.engine.full_text(start.system_prompt)
            (file,) = start.instruction_files
            assert file.name == str(own) and file.tokens > 3 and not file.error

    run_bounded(main())


def test_parents_count_up_to_the_top_of_the_repository_and_only_once_trusted(tmp_path: Path) -> None:
    outer, work = tmp_path / "outer", tmp_path / "outer" / "repository" / "packages" / "web"
    work.mkdir(parents=True)
    (tmp_path / "outer" / "repository" / ".git").mkdir()
    for folder, text in ((outer, "outside"), (outer / "repository", "top"), (work, "web")):
        (folder / "AGENTS.md").write_text(text)
    (work.parent / "CLAUDE.md").write_text("packages")
    assert names(work, tmp_path) == ["../../AGENTS.md", "../CLAUDE.md", "AGENTS.md"]

    async def main() -> None:
        async with open_engine(tmp_path / "engine") as scene:
            assert {file.error for file in scene.engine.instructions(work)} == {NOT_TRUSTED}
            await scene.engine.trust(work)
            assert [file.error for file in scene.engine.instructions(work)] == ["", "", ""]
            assert (await scene.engine.folder_trust(work)).instructions == (
                "../../AGENTS.md", "../CLAUDE.md", "AGENTS.md",
            )  # fmt: skip
            (outer / "repository" / "AGENTS.md").write_text("changed")
            assert [file.error for file in scene.engine.instructions(work)] == [CHANGED_SINCE_TRUST, "", ""]
            assert (await scene.engine.folder_trust(work)).changed == ("../../AGENTS.md",)

    run_bounded(main())


def test_imports_are_read_once_bounded_and_only_with_the_file_that_imports_them(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "CLAUDE.md").write_text("@AGENTS.md\nSee @docs/style.md, and mail me@docs/style.md.\n`@docs/code.md`")
    (tmp_path / "AGENTS.md").write_text("Rules. @docs/style.md")
    (tmp_path / "docs" / "style.md").write_text("Style. @more.md @../CLAUDE.md @../../outside.md @missing.md")
    (tmp_path / "docs" / "more.md").write_text("More.")
    (tmp_path / "docs" / "code.md").write_text("Never.")
    home = tmp_path / "home"
    assert names(tmp_path, home) == ["AGENTS.md", "docs/style.md", "docs/more.md", "CLAUDE.md"]

    (tmp_path / "AGENTS.md").write_text("\n".join(f"@docs/n{n}.md" for n in range(40)))
    for n in range(40):
        (tmp_path / "docs" / f"n{n}.md").write_text(f"Number {n}.")
    (tmp_path / "CLAUDE.md").unlink()
    assert len(names(tmp_path, home)) == 1 + MAX_IMPORTS


def test_a_changed_import_is_not_used_and_neither_are_imports_of_a_changed_file(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "AGENTS.md").write_text("@a.md")
            (scene.folder / "a.md").write_text("A")
            await scene.engine.trust(scene.folder)
            (scene.folder / "a.md").write_text("B")
            start = await started(scene)
            assert [(file.name, file.error) for file in start.instruction_files] == [
                ("AGENTS.md", ""), ("a.md", CHANGED_SINCE_TRUST),
            ]  # fmt: skip
            (scene.folder / "AGENTS.md").write_text("@a.md!")
            start = await started(scene)
            assert [file.error for file in start.instruction_files] == [
                CHANGED_SINCE_TRUST, IMPORTER_NOT_USED.format("AGENTS.md"),
            ]  # fmt: skip

    run_bounded(main())


@pytest.mark.parametrize("secret", [".env", "id_rsa"])
def test_secrets_and_links_that_lead_out_are_not_imported(tmp_path: Path, secret: str) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "out.md").write_text("outside")
    (folder / "link.md").symlink_to(tmp_path / "out.md")
    (folder / secret).write_text("KEY=4")
    (folder / "AGENTS.md").write_text(f"@link.md @{secret}")
    loaded = load_instructions(folder, tmp_path, ALL)
    assert [item.file.name for item in loaded if item.text] == ["AGENTS.md"]
    assert all(item.file.error for item in loaded[1:]) and len(loaded) == 3


def test_all_instructions_together_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text(" ".join(f"@{n}.md" for n in range(6)))
    for n in range(6):
        (tmp_path / f"{n}.md").write_text(f"{n}" * 40_000)
    loaded = load_instructions(tmp_path, tmp_path / "home", ALL)
    assert sum(len(item.text) for item in loaded) == TOTAL_MAX_CHARS
    assert "left out" in loaded[-1].file.error and loaded[2].file.included == 32_000


def test_the_context_names_the_instructions_of_subfolders(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "web").mkdir()
            (scene.folder / "web" / "AGENTS.md").write_text("Use tabs.")
            await scene.engine.trust(scene.folder)
            context = scene.engine.full_text((await started(scene)).session_context)
            assert "web/AGENTS.md" in context and "Use tabs." not in context

    run_bounded(main())


def test_what_looks_like_an_import(tmp_path: Path) -> None:
    text = "@a.md (@b.md) x@c.md @d.md, @/e.md @~/f.md @g/../h.md\n```\n@i.md\n```\n`@j.md` @./k.md"
    assert imported_names(text, "docs/x.md") == ["docs/a.md", "docs/d.md", "docs/h.md", "docs/k.md"]


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("foreign", [".git", ".", "AGENTS.md", "sub"])
def test_files_of_another_user_above_the_folder_are_not_followed(foreign: str, tmp_path: Path) -> None:
    top, folder, home = tmp_path / "top", tmp_path / "top" / "sub" / "work", tmp_path / "home"
    folder.mkdir(parents=True)
    (top / ".git").touch()
    for place in (top, top / "sub", folder):
        (place / "AGENTS.md").write_text(f"Use tabs in {place}.")
    assert names(folder, home) == ["../../AGENTS.md", "../AGENTS.md", "AGENTS.md"]
    os.chown(top / foreign if foreign != "sub" else top / "sub" / "AGENTS.md", 12345, 12345)
    left = {"AGENTS.md": ["../AGENTS.md"], "sub": ["../../AGENTS.md"]}.get(foreign, [])
    assert names(folder, home) == [*left, "AGENTS.md"]
