"""The templates for new skills."""

from typing import Final

from PySide6.QtCore import QCoreApplication

STEPS: Final = "begin"
COMMANDS: Final = "commands"
KNOWLEDGE: Final = "knowledge"
EMPTY: Final = "empty"


def template_choices() -> list[tuple[str, str]]:
    """Return the names of the templates, with their labels."""
    return [
        (STEPS, _tr("Steps: how to do a task")),
        (COMMANDS, _tr("Commands: a task that scripts perform")),
        (KNOWLEDGE, _tr("Knowledge: facts, with reference documents")),
        (EMPTY, _tr("Empty: front matter only")),
    ]


def fill_template(template: str, name: str) -> tuple[str, dict[str, str]]:
    """Return the text of the SKILL.md of a new skill, and its other files by path."""
    title = name.replace("-", " ").capitalize()
    head = f"---\nname: {name}\ndescription: What it does. Use when…\n---\n\n# {title}\n"
    if template == COMMANDS:
        steps = "1. Run `scripts/check.sh` in the working folder.\n2. Read its output.\n"
        body = f"\n## When to use\n\n## Steps\n{steps}\n## Pitfalls\n- \n"
        return head + body, {"scripts/check.sh": "#!/bin/sh\nset -eu\n\nls\n"}
    if template == KNOWLEDGE:
        body = "\n## Summary\n- \n\n## Details\nRead [the details](references/details.md) when you need them.\n"
        return head + body, {"references/details.md": "# Details\n"}
    return head + ("\n## When to use\n\n## Steps\n1. \n\n## Pitfalls\n- \n" if template == STEPS else ""), {}


def _tr(text: str) -> str:
    return QCoreApplication.translate("skills", text)
