"""What a new skill begins with."""

from typing import Final

from PySide6.QtCore import QCoreApplication

BEGIN: Final = "begin"
COMMANDS: Final = "commands"
KNOWLEDGE: Final = "knowledge"
EMPTY: Final = "empty"


def choices() -> list[tuple[str, str]]:
    """The templates there are, and what each is for."""
    return [
        (BEGIN, _tr("Steps: how to do a task well")),
        (COMMANDS, _tr("Commands: a task that scripts do")),
        (KNOWLEDGE, _tr("Knowledge: what to know, with pages beside it")),
        (EMPTY, _tr("Nothing but the head")),
    ]


def filled(template: str, name: str) -> tuple[str, dict[str, str]]:
    """The text of a new skill, and the files beside it."""
    title = name.replace("-", " ").capitalize()
    head = f"---\nname: {name}\ndescription: What it does. Use when …\n---\n\n# {title}\n"
    if template == COMMANDS:
        steps = "1. Run `scripts/check.sh` in the folder.\n2. Read what it prints.\n"
        body = f"\n## When to use\n\n## Steps\n{steps}\n## Pitfalls\n- \n"
        return head + body, {"scripts/check.sh": "#!/bin/sh\nset -eu\n\nls\n"}
    if template == KNOWLEDGE:
        body = "\n## In short\n- \n\n## More\nRead [the details](references/details.md) when you need them.\n"
        return head + body, {"references/details.md": "# Details\n"}
    return head + ("\n## When to use\n\n## Steps\n1. \n\n## Pitfalls\n- \n" if template == BEGIN else ""), {}


def _tr(text: str) -> str:
    return QCoreApplication.translate("skills", text)
