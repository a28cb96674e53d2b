"""Which saved rules cover a command line, and which new ones would."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from core.domain.command_line import program_name
from core.domain.programs import control_files
from core.domain.rules import PermissionRule, allows_part, command_pattern
from core.domain.shell_words import GlobPattern
from core.engine.policy.command_reach import CommandReach

ReadingCheck = Callable[[CommandReach], bool]  # returns whether all commands of a line need no rule, as they only read


def covering_rules(
    reach: CommandReach, rules: Sequence[PermissionRule], only_reads: ReadingCheck
) -> list[PermissionRule] | None:
    """Return the rules that cover the commands of a line, or None if a command that does more than read has no rule."""
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
    """Return a pattern for each command of a line that does more than read; empty if rules could not cover the line."""
    commands = [part for part in _commands(reach) if not only_reads(_limited(reach, [part]))]
    patterns = tuple(dict.fromkeys(map(command_pattern, commands)))
    if not all(patterns):
        return ()
    rules = [PermissionRule("", "allow", "run", "command", pattern) for pattern in patterns]
    return patterns if covering_rules(reach, rules, only_reads) else ()


def _commands(reach: CommandReach) -> list[tuple[str, ...]]:
    """Return the commands of a line without those that only set variables, which are harmless or not understood."""
    return [part for part in reach.line.parts if part[0] != "export"]


def _covers(rule: PermissionRule, part: tuple[str, ...], reach: CommandReach) -> bool:
    if any(isinstance(word, GlobPattern) for word in part) or not allows_part(rule, part):
        return False
    if reach.line.assignments and program_name(part[0]) == "git":  # git has variables that name programs
        return False
    if reach.folders == ("",):
        return True
    # In another folder, a script or the file that controls a program may be another one than the rule was saved for.
    controlled = "/" in part[0] or control_files(part)
    return reach.line.enters_folder and bool(reach.folders) and rule.pattern.endswith(" *") and not controlled


def _limited(reach: CommandReach, parts: Sequence[tuple[str, ...]]) -> CommandReach:
    """Return the reach of some commands of a line, apart from the variables that it sets."""
    return replace(reach, line=replace(reach.line, parts=tuple(parts), assignments=()))
