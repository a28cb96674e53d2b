"""Once a day: what has faded goes to the archive; lessons of like outcomes and likely mergers are proposed."""

import json

from core.domain.proposal import Proposal
from core.memory.lessons import lessons, pairs
from core.memory.memory import Memories
from core.memory.portable import about
from core.store.proposals import Proposals


async def tidy(memories: Memories, proposals: Proposals) -> tuple[list[str], list[Proposal]]:
    """What was archived, and what was proposed now. Nothing that was decided once is proposed again."""
    archived = await memories.fade()
    known = proposals.find(of="memory")
    asked = {(one.what, one.target, one.text) for one in known}
    new = [one for one in _wanted(memories) if (one.what, one.target, one.text) not in asked]
    made = [await proposals.make(one) for one in new if not _is_known(memories, one)]
    return archived, made


def _wanted(memories: Memories) -> list[Proposal]:
    found = [
        Proposal(
            "", "memory", "create", "", lesson.said.text, lesson.reason, about=about(lesson.said),
            session=lesson.rests_on[0].session, by="review",
        )
        for lesson in lessons(memories.listed(kind="outcome"))
    ]  # fmt: skip
    for one, other in pairs(memories.listed()):
        text = max(one.said.text, other.said.text, key=len)
        found.append(
            Proposal(
                "", "memory", "merge", one.id, text, f"{other.id} says nearly the same: {other.said.text}",
                one.version, about=json.dumps({"with": [other.id]}), session=one.session, by="review",
            )
        )  # fmt: skip
    return found


def _is_known(memories: Memories, wanted: Proposal) -> bool:
    """Is it remembered already, or a person's own word that nobody rewrites?"""
    if wanted.what == "create":
        return any(one.memory.said.text == wanted.text for one in memories.find(wanted.text, most=3))
    return False
