"""The tables of programs and their options, loaded from `resources/commands`."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class ProgramSets:
    """Sets of program names, by how a command line must be analyzed; described in `programs.toml`."""

    shells: frozenset[str]
    versioned: frozenset[str]
    wrappers: frozenset[str]
    harmless_variables: frozenset[str]
    too_broad: frozenset[tuple[str, ...]]
    too_broad_commands: frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class KnownCommand:
    """A command whose options are known; `tools.toml` describes the attributes that are not described here.

    Attributes:
        words: The program and its verb, in which `*` stands for any word and `describe-*` for any with that prefix.
        flags: Options without a value (`--stat`), and as `--color=` those that take one only after the equals sign.
        values: Options whose value may be any text (`--author`).
        paths: Options whose value is the path of a file in the folder (`--project`).
        names: Options whose value is a name (`--reporter`), because the program would run the file that a path names.
        number: Whether a number is an option (`-15`).
        single_dash: Whether long options start with one hyphen (`-name`), so that letters cannot be combined.
    """

    words: tuple[str, ...]
    effect: Literal["reads", "writes"] = "reads"
    contents: Literal["none", "named", "tree"] = "none"
    flags: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    options_after_dashes: frozenset[str] = frozenset()
    required_options: frozenset[str] = frozenset()
    operands_require: frozenset[str] = frozenset()
    excluded_options: frozenset[str] = frozenset()
    recurses: frozenset[str] = frozenset()
    secret_words: frozenset[str] = frozenset()
    number: bool = False
    single_dash: bool = False
    max_operands: int | None = None
    awk_program: bool = False
    example: str = ""
    first_operand: re.Pattern[str] | None = None
    operands: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class FolderReads:
    """Commands that only read the folder, each as program and verb; `folder_reads.toml` describes the sets."""

    paths: frozenset[tuple[str, ...]]
    pattern_first: frozenset[tuple[str, ...]]
    no_operands: frozenset[tuple[str, ...]]
    pattern_only: frozenset[tuple[str, ...]]
    text: frozenset[tuple[str, ...]]
    enforced: frozenset[tuple[str, ...]]
    git_unless: frozenset[str]

    def lists(self, words: tuple[str, ...]) -> bool:
        """Return whether a command, as program and verb, is in one of the sets."""
        local = (self.paths, self.pattern_first, self.no_operands, self.pattern_only, self.text, self.enforced)
        return any(words in commands for commands in local)


@dataclass(frozen=True, slots=True)
class KnownProgram:
    """A program with its commands, and the options that may precede a verb.

    A program without verbs has one command.
    """

    before_flags: frozenset[str]
    before_values: frozenset[str]
    commands: tuple[KnownCommand, ...]


_SETS = (
    "flags",
    "values",
    "paths",
    "names",
    "options_after_dashes",
    "required_options",
    "operands_require",
    "excluded_options",
    "recurses",
    "secret_words",
)
_PLAIN = ("effect", "contents", "number", "single_dash", "max_operands", "awk_program", "example")
_OWN = (*_SETS, *_PLAIN, "first_operand", "operands")


@cache
def program_sets() -> ProgramSets:
    table = _read("programs.toml")
    return ProgramSets(
        shells=words_of(table["shells"]),
        versioned=words_of(table["versioned"]),
        wrappers=words_of(table["wrappers"]),
        harmless_variables=words_of(table["harmless_variables"]),
        too_broad=frozenset((word,) for word in table["too_broad"].casefold().split()),
        too_broad_commands=frozenset(tuple(line.split()) for line in table["too_broad_commands"]),
    )


@cache
def known_programs() -> Mapping[str, KnownProgram]:
    """Return the programs whose options are known, by name."""
    tables = _read("tools.toml")
    return MappingProxyType({name: _program(name, tables) for name in tables})


@cache
def folder_reads() -> FolderReads:
    table = _read("folder_reads.toml")
    sets = {
        key: frozenset(tuple(command.split()) for command in commands)
        for key, commands in table.items()
        if isinstance(commands, list)
    }
    return FolderReads(**sets, git_unless=words_of(table["git_unless"]))


def words_of(text: str) -> frozenset[str]:
    """Return the set of words in a text, split at white space."""
    return frozenset(text.split())


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((resources.files("resources") / "commands" / name).read_text("utf-8"))


def _program(name: str, tables: Mapping[str, Any]) -> KnownProgram:
    table = tables[name]
    if "same_as" in table:
        table = {**tables[table["same_as"]], **{key: value for key, value in table.items() if key != "same_as"}}
    verbs, listed = table.get("verbs", {}), table.get("reads", [])
    commands = [_command(name, verb, _resolved(options, verbs, tables)) for verb, options in verbs.items()]
    commands += [_command(name, verb, table) for verb in listed]
    if not listed and any(key in table for key in _OWN):
        commands.append(_command(name, "", table))
    if not commands and "checked" in table:
        commands.append(_command(name, "", table))
    return KnownProgram(
        before_flags=words_of(table.get("before_flags", "")),
        before_values=words_of(table.get("before_values", "")),
        commands=tuple(sorted(commands, key=lambda command: -len(command.words))),
    )


def _resolved(options: Mapping[str, Any], verbs: Mapping[str, Any], tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of a verb merged with those of the verb or program that its key `same_as` names."""
    if "same_as" not in options:
        return options
    verb = verbs.get(options["same_as"])
    other = verb if verb is not None and verb is not options else tables[options["same_as"]]
    base = _resolved(other, verbs, tables)
    added = {
        key: f"{base.get(key, '')} {value}" if key in _SETS else value
        for key, value in options.items()
        if key != "same_as"
    }
    return {**base, **added}


def _command(program: str, verb: str, options: Mapping[str, Any]) -> KnownCommand:
    fields: dict[str, Any] = {key: words_of(options.get(key, "")) for key in _SETS}
    fields |= {key: options[key] for key in _PLAIN if key in options}
    fields |= {key: re.compile(options[key]) for key in ("first_operand", "operands") if key in options}
    return KnownCommand((program, *verb.split()), **fields)
