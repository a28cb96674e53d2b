"""Proposals about skills: what accepting them records is enough to undo them."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.domain.proposal import Proposal, SkillResult
from core.skills.proposal_actions import SkillProposals
from tests.core.skills.library_fixture import TEXT, skill_fixture


def test_a_change_of_a_skill_in_a_folder_with_a_space_in_its_path_is_undone(tmp_path: Path) -> None:
    place = tmp_path / "Ada Lovelace"
    place.mkdir()
    with skill_fixture(place) as made:
        folder = made.write_skill(made.home, "notes")
        key = f"home:{folder}"
        base = asyncio.run(made.library.save_disk_changes(key))
        patch = Proposal("p1", "skill", "patch", key, TEXT + "One more line.\n", base_version=base)
        proposals = SkillProposals(made.library)
        result = asyncio.run(proposals.apply(patch))
        assert result == SkillResult(key, base + 1) and "One more line." in (folder / "SKILL.md").read_text()
        stored = replace(patch, result=SkillResult.parse(str(result)))
        asyncio.run(proposals.undo(stored))
        assert (folder / "SKILL.md").read_text() == TEXT


def test_two_proposed_files_of_which_one_needs_the_other_as_a_folder_are_not_both_accepted(tmp_path: Path) -> None:
    with skill_fixture(tmp_path) as made:
        asyncio.run(made.library.save("notes", TEXT))
        key, proposals = "library/notes", SkillProposals(made.library)
        file, inside = (
            Proposal("p", "skill", "write_file", key, "echo\n", base_version=1, path=path)
            for path in ("scripts/x", "scripts/x/y.sh")
        )
        asyncio.run(proposals.apply(file))
        with pytest.raises(Problem, match="A file is not a folder"):
            asyncio.run(proposals.apply(inside))
        assert {each.path for each in made.library.open(key).files} == {"SKILL.md", "scripts/x"}
