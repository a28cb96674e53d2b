"""Finds the saved permission rules that cover a command line, and the patterns that new rules could use."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from core.domain.command_arguments import is_plain
from core.domain.command_line import program_name
from core.domain.control_files import control_files
from core.domain.rules import PermissionRule, allows_part, command_pattern
from core.domain.shell_words import GlobPattern
from core.engine.policy.command_reach import CommandReach

# Variables with which any program in Python imports code of the folder. They are harmless only for programs that do so
# anyway, unlike a linter.
PYTHON_VARIABLES = ("PYTHONPATH=", "DJANGO_SETTINGS_MODULE=")
PYTHON_LINTERS = frozenset({"black", "flake8", "isort", "mypy", "pip", "pylint", "ruff", "venv"})
PYTHON_RUNNERS = frozenset({"python", "pytest", "py.test", "tox", "nox", "coverage"})
ReadingCheck = Callable[[CommandReach], bool]  # returns whether a line needs no rule because it only reads


def covering_rules(
    reach: CommandReach, rules: Sequence[PermissionRule], only_reads: ReadingCheck
) -> list[PermissionRule] | None:
    """Return the rules that cover the commands of a line.

    None if no rule covers any, or if a command without a rule does more than read.
    """
    line = reach.line
    if line.inputs or line.outputs or line.embeds_text:
        return None
    covering: list[PermissionRule] = []
    others: list[tuple[str, ...]] = []
    for part in _commands(reach):
        if rule := next((rule for rule in rules if _covers(rule, part, reach)), None):
            covering.append(rule)
        else:
            others.append(part)
    if not covering or (others and not only_reads(_limited(reach, others))):
        return None
    return covering


def offered_patterns(reach: CommandReach, only_reads: ReadingCheck) -> tuple[str, ...]:
    """Return a rule pattern for each command of a line that does more than read.

    () if rules with these patterns would not cover the line.
    """
    commands = [part for part in _commands(reach) if not only_reads(_limited(reach, [part]))]
    patterns = tuple(dict.fromkeys(map(command_pattern, commands)))
    if not all(patterns):
        return ()
    rules = [
        PermissionRule(id="", effect="allow", tool="run", subject="command", pattern=pattern) for pattern in patterns
    ]
    return patterns if covering_rules(reach, rules, only_reads) else ()


def _commands(reach: CommandReach) -> list[tuple[str, ...]]:
    """Return the commands of a line without `export`: a parsed line sets only harmless variables."""
    return [part for part in reach.line.parts if part[0] != "export"]


def _covers(rule: PermissionRule, part: tuple[str, ...], reach: CommandReach) -> bool:
    if any(isinstance(word, GlobPattern) for word in part) or not allows_part(rule, part):
        return False
    if reach.line.assignments and program_name(part[0]) == "git":  # some variables name programs for git to run
        return False
    if not all(_is_harmless(assignment, part) for assignment in reach.line.assignments):
        return False
    if reach.folders == ("",):
        return True
    # In another folder, `./script` or a file such as the Makefile is not the one that the rule was saved for.
    if "/" in part[0] or control_files(part):
        return False
    return reach.line.enters_folder and bool(reach.folders) and rule.pattern.endswith(" *")


def _is_harmless(assignment: str, part: tuple[str, ...]) -> bool:
    """Return whether a variable that the line sets lets a command import no code that it would not import anyway."""
    if not assignment.startswith(PYTHON_VARIABLES):
        return True
    programs = {program_name(word) for word in part[:3]}
    imports_code = not PYTHON_RUNNERS.isdisjoint(programs) and PYTHON_LINTERS.isdisjoint(programs)
    return imports_code and all(map(is_plain, filter(None, assignment.partition("=")[2].split(":"))))


def _limited(reach: CommandReach, parts: Sequence[tuple[str, ...]]) -> CommandReach:
    """Return a copy that contains only the commands `parts`, without the variables that the line sets."""
    return replace(reach, line=replace(reach.line, parts=tuple(parts), assignments=()))
