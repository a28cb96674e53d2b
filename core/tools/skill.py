"""What `use_skill` and `manage_skill` take. The engine itself answers: skills stand in its library."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import MaxLen, MinLen

from core.domain.skill import DESCRIPTION_LIMIT, MAIN
from core.tools.says import Says

USE_SKILL = "use_skill"
USE_DESCRIPTION = (
    "Read a skill before work that it fits: its steps, commands and pitfalls. With file one of the files that it names."
)
MANAGE_SKILL = "manage_skill"
MANAGE_DESCRIPTION = (
    "Propose a new skill, or a change of one; the person decides. Read a skill with use_skill before you change it. "
    "Rather change one than make a second on the same matter."
)


@dataclass(frozen=True, slots=True)
class UseSkill:
    name: Annotated[str, MinLen(1), MaxLen(200)]
    file: Annotated[str, MaxLen(400), Says("Such as references/checks.md; nothing for the skill itself.")] = ""


@dataclass(frozen=True, slots=True)
class ManageSkill:
    action: Literal["create", "patch", "add_file", "archive"]
    name: Annotated[str, MinLen(1), MaxLen(64), Says("Small letters, digits, single hyphens.")]
    reason: Annotated[str, MinLen(1), MaxLen(500), Says("Why this is worth keeping, for the person.")]
    description: Annotated[str, MaxLen(DESCRIPTION_LIMIT), Says("Of create: what it does, then when to use it.")] = ""
    text: Annotated[str, MaxLen(60_000), Says("Of create the body in Markdown, of add_file what the file holds.")] = ""
    old: Annotated[str, Says("Of patch: words that stand in the file exactly once.")] = ""
    new: Annotated[str, MaxLen(60_000), Says("Of patch: what takes their place.")] = ""
    path: Annotated[
        str,
        MaxLen(200),
        Says("Of add_file, and of patch where it is another file: under references/, scripts/, assets/."),
    ] = ""

    def __post_init__(self) -> None:
        if self.action == "create" and not (self.description.strip() and self.text.strip()):
            raise ValueError("create needs description and text")
        if self.action == "patch" and not self.old:
            raise ValueError("patch needs old")
        if self.action == "add_file" and (not self.path or self.path == MAIN):
            raise ValueError("add_file needs path, and SKILL.md is no such file")


def used(parameters: UseSkill) -> str:
    """What a person sees of it."""
    return f"{parameters.name}/{parameters.file}" if parameters.file else parameters.name


def managed(parameters: ManageSkill) -> str:
    """What a person sees of it."""
    words = {
        "create": "the new skill",
        "patch": "a change of the skill",
        "add_file": f"{parameters.path} for the skill",
        "archive": "to archive the skill",
    }
    return f"{words[parameters.action]} {parameters.name}"
