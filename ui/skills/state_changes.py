"""The changes to the state of a skill that can be reversed: pin, disable and archive, and their opposites."""

from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple

from ui.skills.controller import SkillsController
from ui.skills.skill_menu import SkillAction

StateAction = Literal[
    SkillAction.PIN,
    SkillAction.UNPIN,
    SkillAction.DISABLE,
    SkillAction.ENABLE,
    SkillAction.ARCHIVE,
    SkillAction.UNARCHIVE,
]


class StateChange(NamedTuple):
    """What an action does to a skill.

    Attributes:
        setter: The method that is called with the key of the skill and `value`.
        reverse: The action that undoes this one.
        message: The text of the toast; `{}` stands for the name of the skill.
    """

    setter: Callable[[SkillsController, str, bool], Awaitable[None]]
    value: bool
    reverse: StateAction
    message: str


def state_change(action: StateAction) -> StateChange:
    match action:
        case SkillAction.PIN:
            return StateChange(SkillsController.pin, True, SkillAction.UNPIN, "Pinned {}.")
        case SkillAction.UNPIN:
            return StateChange(SkillsController.pin, False, SkillAction.PIN, "Unpinned {}.")
        case SkillAction.DISABLE:
            message = "Disabled {}. It is no longer offered to models."
            return StateChange(SkillsController.disable, True, SkillAction.ENABLE, message)
        case SkillAction.ENABLE:
            return StateChange(SkillsController.disable, False, SkillAction.DISABLE, "Enabled {}.")
        case SkillAction.ARCHIVE:
            message = "Archived {}. Its versions are kept."
            return StateChange(SkillsController.archive, True, SkillAction.UNARCHIVE, message)
        case SkillAction.UNARCHIVE:
            return StateChange(SkillsController.archive, False, SkillAction.ARCHIVE, "Restored {}.")
