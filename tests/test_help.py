"""The help names every command, shortcut, setting, importer and local provider that the code has in its tables."""

import argparse
import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from app.cli.arguments import parser
from core.engine.prompting.profiles import AgentProfile, LearningRules, load_profiles
from core.exchange.importers.registry import IMPORTERS
from core.models.providers import LOCAL_PROVIDERS
from core.settings.schema import SettingInfo, Settings
from ui.dialogs.help_dialog import PAGES, help_files
from ui.shell.commands import COMMANDS, SLASH
from ui.shell.shortcuts_dialog import shortcut_groups

ROW = r"\| (?!Key|Setting|Command \|)"
HELP = Path(__file__).resolve().parent.parent / "resources" / "help"


def differing(page: str, wanted: list[str], start: str) -> str:
    """Return the lines to add to and remove from a page, ready to copy; empty if the page is up to date."""
    found = [line for line in (HELP / f"{page}.md").read_text("utf-8").splitlines() if re.match(start, line)]
    lines = [f"+ {line}" for line in wanted if line not in found] + [
        f"- {line}" for line in found if line not in wanted
    ]
    return "\n".join([f"{page}.md", *lines]) if lines else ""


def commands(command: argparse.ArgumentParser, name: str = "journeyman") -> Iterator[str]:
    """Yield the line of each command."""
    for action in command._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        for word, inner in action.choices.items():
            groups = [one for one in inner._actions if isinstance(one, argparse._SubParsersAction)]
            if not any(one.required for one in groups):
                yield f"- `{name} {word}{minimal_arguments(inner)}`: {inner.description}"
            yield from commands(inner, f"{name} {word}")


def minimal_arguments(command: argparse.ArgumentParser) -> str:
    """The arguments in the usage line of a command, with the first of those of which one is required."""
    required = [group._group_actions[0] for group in command._mutually_exclusive_groups if group.required]
    words = ""
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction) or (action.option_strings and action not in required):
            continue
        word = str(action.metavar or "|".join(action.choices or ()) or action.dest.upper())
        if action.option_strings:
            words += f" {action.option_strings[0]} {word}"
        elif action in required or action.nargs in (None, "+"):
            words += f" {word}"
        else:
            words += f" [{word}...]" if action.nargs == argparse.REMAINDER else f" [{word}]"
    return words


def settings() -> Iterator[str]:
    """Yield the row of each setting: its label, its description and its default."""
    for field in fields(Settings):
        about: SettingInfo = field.metadata["about"]
        match field.default:
            case bool(on):
                default = "on" if on else "off"
            case int(number) | float(number):
                default = _with_unit(f"{number:g}", about.unit)
            case str(word):
                default = word or "empty"
            case _:
                default = "none"
        yield f"| {about.label} | {about.help} | {default} |"


def _with_unit(number: str, unit: str) -> str:
    match unit:
        case "$":
            return f"${number}"
        case "%":
            return f"{number}%"
        case _:
            return f"{number} {unit}".strip()


def keys() -> Iterator[str]:
    for _, lines in shortcut_groups():
        yield from (f"| {key} | {text} |" for key, text in lines)
    texts = {command.id: command.text for command in COMMANDS}
    yield from (f"| /{word} | {texts[name]} |" for word, name in SLASH.items())


def test_every_command_is_listed() -> None:
    assert differing("command-line", list(commands(parser())), "- `journeyman \\w") == ""


def test_every_setting_is_listed() -> None:
    assert differing("settings", list(settings()), ROW) == ""


def test_every_shortcut_is_listed() -> None:
    assert differing("keys", list(keys()), ROW) == ""


def test_the_profile_in_the_help_names_every_field_and_is_valid(tmp_path: Path) -> None:
    text = (HELP / "agents.md").read_text("utf-8").split("```")[1].removeprefix("toml\n")
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "proofreader.toml").write_text(text, "utf-8")
    assert load_profiles(tmp_path).profiles["proofreader"].tier == "small"
    data = tomllib.loads(text)
    assert data.keys() == {field.name for field in fields(AgentProfile)}
    assert data["learn"].keys() == {field.name for field in fields(LearningRules)}


def test_every_importer_and_every_local_provider_is_named() -> None:
    imports, models = ((HELP / f"{page}.md").read_text("utf-8") for page in ("import-export", "models"))
    assert [importer.agent for importer in IMPORTERS if importer.agent.removesuffix(" (editor)") not in imports] == []
    assert [provider.title for provider in LOCAL_PROVIDERS if provider.title not in models] == []


def test_every_page_is_in_the_table_of_contents() -> None:
    assert {file.stem for file in HELP.glob("*.md")} == set(PAGES)
    assert [file.stem for file in help_files()] == list(PAGES)
