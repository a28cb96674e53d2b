"""What a memory proposal says about itself: its title, and what accepting it leads to."""

import pytest
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from core.domain.memory import MemoryContent
from core.domain.proposal import Proposal
from core.memory.serialization import to_proposal_details
from tests.ui.hands import find
from ui.memory.proposal_card import MemoryProposalCard
from ui.memory.texts import acceptance_text, proposal_title
from ui.style.theme import Look

EVERYWHERE = to_proposal_details(MemoryContent("knowledge", ""))
FOLDER = to_proposal_details(MemoryContent("heuristic", "", "folder", "/srv/house"))


@pytest.mark.parametrize(
    ("proposal", "title", "consequence"),
    [
        (Proposal("", "memory", "create", "", "A.", "b", details=EVERYWHERE), "New memory · Knowledge",
         "Applies to every folder. You can undo that."),
        (Proposal("", "memory", "create", "", "A.", "b", details=FOLDER), "New memory · Heuristic",
         "Applies to /srv/house. You can undo that."),
        (Proposal("", "memory", "create", "", "A.", "b", details="[]"), "New memory", "Applies to every folder."),
        (Proposal("", "memory", "patch", "m1", "A.", "b"), "Change to a memory", "the new text instead of the old one"),
        (Proposal("", "memory", "archive", "m1", "", "b"), "Archive a memory", "agents no longer receive it"),
    ],
)  # fmt: skip
def test_a_proposal_says_what_accepting_it_does(proposal: Proposal, title: str, consequence: str) -> None:
    assert proposal_title(proposal) == title
    assert consequence in acceptance_text(proposal, str)


def test_a_proposal_from_untrusted_content_warns_and_does_not_recommend_accepting(qtbot: QtBot, look: Look) -> None:
    card = MemoryProposalCard(look, str)
    qtbot.addWidget(card)
    tones = []
    for sources in ((), ("web: a.example",)):
        proposal = Proposal("", "memory", "create", "", "A.", "b", details=FOLDER, untrusted_sources=sources)
        card.show_proposal(proposal, None)
        tones.append(find(card, QPushButton, "memory.proposal.keep").property("tone"))
    assert tones == ["primary", ""]
    assert "untrusted content: web: a.example" in find(card, QLabel, "memory.proposal.taint").text()
