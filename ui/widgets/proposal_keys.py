"""The keys that accept, edit or reject the proposal on display. The buttons show them."""

from enum import StrEnum
from typing import Final

from PySide6.QtCore import Qt


class ProposalAction(StrEnum):
    """Actions on the proposal on display."""

    ACCEPT = "accept"
    EDIT = "edit"  # make the proposed text editable
    REJECT = "reject"


PROPOSAL_KEYS: Final = {
    Qt.Key.Key_Y: ProposalAction.ACCEPT,
    Qt.Key.Key_E: ProposalAction.EDIT,
    Qt.Key.Key_N: ProposalAction.REJECT,
}
