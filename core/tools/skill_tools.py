"""The parameters of the tools `use_skill` and `manage_skill`. The engine executes their calls in its skill library."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MaxLen, MinLen

from core.domain.skill import DESCRIPTION_LIMIT, SKILL_FILE
from core.tools.parameter_description import ParameterDescription

USE_SKILL = "use_skill"
USE_DESCRIPTION = (
    "Read a skill before work that it covers: its steps, commands and pitfalls; or a file that it refers to."
)
MANAGE_SKILL = "manage_skill"
MANAGE_DESCRIPTION = (
    "Propose a new skill or a change to one; the user decides. Read a skill with use_skill before changing it. "
    "Prefer changing a skill to adding a similar one."
)


@dataclass(frozen=True, slots=True)
class UseSkillArguments:
    name: Annotated[str, MinLen(1), MaxLen(200), ParameterDescription("The skill.")]
    file: Annotated[
        str, MaxLen(400), ParameterDescription("Such as references/checks.md; empty: the skill itself.")
    ] = ""


@dataclass(frozen=True, slots=True)
class ManageSkillArguments:
    action: Annotated[Literal["create", "patch", "add_file", "archive"], ParameterDescription("What to do.")]
    name: Annotated[str, MinLen(1), MaxLen(64), ParameterDescription("Lowercase letters, digits, single hyphens.")]
    reason: Annotated[str, MinLen(1), MaxLen(500), ParameterDescription("Why this is worth keeping, for the user.")]
    description: Annotated[
        str, MaxLen(DESCRIPTION_LIMIT), ParameterDescription("create: what it does, then when to use it.")
    ] = ""
    text: Annotated[
        str, MaxLen(60_000), ParameterDescription("create: the body in Markdown; add_file: the contents.")
    ] = ""
    old_string: Annotated[str, ParameterDescription("patch: text that matches exactly once.")] = ""
    new_string: Annotated[str, MaxLen(60_000), ParameterDescription("patch: its replacement.")] = ""
    path: Annotated[
        str,
        MaxLen(200),
        ParameterDescription("add_file, or patch of another file: under references/, scripts/ or assets/."),
    ] = ""

    def __post_init__(self) -> None:
        if self.action == "create" and not (self.description.strip() and self.text.strip()):
            raise ValueError("create needs description and text")
        if self.action == "patch" and not self.old_string:
            raise ValueError("patch needs old_string")
        if self.action == "add_file" and (not self.path or self.path == SKILL_FILE):
            raise ValueError("add_file needs a path other than SKILL.md")


def use_skill_text(parameters: UseSkillArguments) -> str:
    """Return the line that the timeline shows for the call."""
    return f"{parameters.name}/{parameters.file}" if parameters.file else parameters.name


def manage_skill_text(parameters: ManageSkillArguments) -> str:
    """Return the line that the timeline shows for the call."""
    phrases = {
        "create": "the new skill",
        "patch": "a change to the skill",
        "add_file": f"{parameters.path} for the skill",
        "archive": "to archive the skill",
    }
    return f"{phrases[parameters.action]} {parameters.name}"
