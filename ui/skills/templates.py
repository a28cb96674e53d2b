"""The templates for new skills."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication

from ui.skills.name_dialog import Choice

STEPS: Final = "begin"
COMMANDS: Final = "commands"
KNOWLEDGE: Final = "knowledge"
EMPTY: Final = "empty"


class NewSkill(NamedTuple):
    """The text of the SKILL.md of a new skill, and its other files by path."""

    text: str
    files: Mapping[str, str]


def template_choices() -> list[Choice]:
    return [
        Choice(STEPS, _tr("Steps: how to do a task")),
        Choice(COMMANDS, _tr("Commands: a task that scripts perform")),
        Choice(KNOWLEDGE, _tr("Knowledge: facts, with reference documents")),
        Choice(EMPTY, _tr("Empty: front matter only")),
    ]


def fill_template(template: str, name: str) -> NewSkill:
    title = name.replace("-", " ").capitalize()
    head = f"---\nname: {name}\ndescription: What it does. Use when…\n---\n\n# {title}\n"
    if template == COMMANDS:
        steps = "1. Run `scripts/check.sh` in the working folder.\n2. Read its output.\n"
        body = f"\n## When to use\n\n## Steps\n{steps}\n## Pitfalls\n- \n"
        return NewSkill(head + body, {"scripts/check.sh": "#!/bin/sh\nset -eu\n\nls\n"})
    if template == KNOWLEDGE:
        body = "\n## Summary\n- \n\n## Details\nRead [the details](references/details.md) when you need them.\n"
        return NewSkill(head + body, {"references/details.md": "# Details\n"})
    body = "\n## When to use\n\n## Steps\n1. \n\n## Pitfalls\n- \n" if template == STEPS else ""
    return NewSkill(head + body, {})


def _tr(text: str) -> str:
    return QCoreApplication.translate("skills", text)
