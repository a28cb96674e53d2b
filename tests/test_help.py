"""The help is whole: every command, key and setting stands in it, in the words of its own table."""

import argparse
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from app.arguments import parser
from core.settings.schema import About, Settings
from ui.commands import COMMANDS, SLASH
from ui.help_dialog import PAGES, pages
from ui.keys_dialog import sheet

ROW = r"\| (?!Key|Setting|Typed)"
HELP = Path(__file__).resolve().parent.parent / "resources" / "help"


def differing(page: str, wanted: list[str], start: str) -> str:
    """Which lines a page must gain and lose, so that whoever changed a table can copy them; empty when none."""
    found = [line for line in (HELP / f"{page}.md").read_text("utf-8").splitlines() if re.match(start, line)]
    lines = [f"+ {line}" for line in wanted if line not in found] + [
        f"- {line}" for line in found if line not in wanted
    ]
    return "\n".join([f"{page}.md", *lines]) if lines else ""


def commands(command: argparse.ArgumentParser, name: str = "journeyman") -> Iterator[str]:
    """A line for each command a person can give."""
    for action in command._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        for word, inner in action.choices.items():
            groups = [one for one in inner._actions if isinstance(one, argparse._SubParsersAction)]
            if not any(one.required for one in groups):
                yield f"- `{name} {word}{given(inner)}`: {inner.description}"
            yield from commands(inner, f"{name} {word}")


def given(command: argparse.ArgumentParser) -> str:
    """What comes after its name."""
    words = ""
    for action in command._actions:
        if not action.option_strings and not isinstance(action, argparse._SubParsersAction):
            word = str(action.metavar or "|".join(action.choices or ()) or action.dest.upper())
            words += f" [{word}]" if action.nargs in ("?", "*") else f" {word}"
    for group in command._mutually_exclusive_groups:
        if group.required:
            first = group._group_actions[0]
            words += f" {first.option_strings[0]} {first.metavar}"
    return words


def settings() -> Iterator[str]:
    """A line for each setting: its name, its words, what it is at first."""
    for field in fields(Settings):
        said: About = field.metadata["about"]
        match field.default:
            case bool(on):
                usual = "on" if on else "off"
            case int(number) | float(number):
                usual = f"{number:g} {said.unit}".strip()
            case str(word):
                usual = word
            case _:
                usual = ""
        yield f"| {said.label} | {said.help} | {usual or 'nothing'} |"


def keys() -> Iterator[str]:
    for _, lines in sheet():
        yield from (f"| {key} | {text} |" for key, text in lines)
    texts = {command.id: command.text for command in COMMANDS}
    yield from (f"| /{word} | {texts[name]} |" for word, name in SLASH.items())


def test_every_command_is_told() -> None:
    assert differing("command-line", list(commands(parser())), "- `journeyman \\w") == ""


def test_every_setting_is_told() -> None:
    assert differing("settings", list(settings()), ROW) == ""


def test_every_key_is_told() -> None:
    assert differing("keys", list(keys()), ROW) == ""


def test_every_page_has_its_place_in_the_list() -> None:
    found = {file.stem for file in HELP.glob("*.md")}
    assert set(PAGES) - {"figures"} <= found <= set(PAGES)
    assert [file.stem for file in pages()] == [name for name in PAGES if name in found]
