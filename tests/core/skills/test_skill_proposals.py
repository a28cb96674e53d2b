"""Proposals about skills: what accepting them records is enough to undo them."""

import asyncio
from dataclasses import replace
from pathlib import Path

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
