"""Prints how many everyday commands need approval: `python -m tests.core.engine.everyday_asking [--list] [--tuned]`."""

import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from core.domain.modes import Mode
from core.domain.permissions import NeedsApproval, PolicyDecision, SandboxLevel
from core.domain.problems import Problem
from core.domain.rules import PermissionRule
from core.engine.policy.policy import evaluate_call
from tests.core.engine.policy_calls import FACTS, act, rule
from tests.core.engine.trap_commands import KEPT

LIST = Path(__file__).with_name("everyday_commands.toml")
BACKENDS: dict[str, SandboxLevel] = {"bubblewrap": "verified", "Landlock": "reduced"}


class EverydayCommand(NamedTuple):
    """A command of the list; `expected` is read, write, network or destructive."""

    text: str
    expected: str
    held_back: bool


def everyday_commands() -> list[EverydayCommand]:
    lists: dict[str, list[str]] = tomllib.loads(LIST.read_text("utf-8"))
    return [
        EverydayCommand(text, expected, at % 2 == 1)
        for expected, texts in lists.items()
        for at, text in enumerate(texts)
    ]


def decide(text: str, mode: Mode, level: SandboxLevel, rules: Sequence[PermissionRule] = ()) -> PolicyDecision:
    return evaluate_call(act("run", command=text), mode, rules, (), replace(FACTS, level=level, plain_git=lambda: True))


def offered_rules(commands: Sequence[EverydayCommand]) -> list[PermissionRule]:
    """Return the rules of a user who saves every pattern that these commands offer."""
    patterns: dict[str, None] = {}
    for command in commands:
        found = decide(command.text, "ask", "verified")
        if isinstance(found, NeedsApproval):
            patterns |= dict.fromkeys(found.request.patterns)
    return [rule(pattern) for pattern in patterns]


def saved_rules() -> list[PermissionRule]:
    """Return the rules that a user may have saved over weeks of work."""
    made = []
    for pattern in KEPT:
        try:
            made.append(rule(pattern))
        except Problem:
            continue
    return made


def asked(
    commands: Sequence[EverydayCommand], mode: Mode, level: SandboxLevel, rules: Sequence[PermissionRule] = ()
) -> list[EverydayCommand]:
    return [
        command for command in commands if isinstance(decide(command.text, mode, level, rules), NeedsApproval)
    ]  # denials count as wrong answers elsewhere


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main(words: Sequence[str]) -> None:
    commands = everyday_commands()
    tuned = [command for command in commands if not command.held_back]
    kept = [command for command in commands if command.held_back]
    shown = tuned if "--tuned" in words else kept if "--held-back" in words else commands
    offered, every = offered_rules(tuned), offered_rules(commands)
    rows: list[tuple[str, Mode, Sequence[PermissionRule]]] = [
        ("auto", "auto", ()),
        ("ask", "ask", ()),
        (f"ask, {len(saved_rules())} saved rules", "ask", saved_rules()),
        (f"ask, the {len(offered)} rules offered for one half", "ask", offered),
        (f"ask, the {len(every)} rules offered for all", "ask", every),
    ]
    say(f"{len(commands)} commands, {len(kept)} of them held back: {dict(Counter(c.expected for c in commands))}")
    for name, mode, rules in rows:
        for backend, level in BACKENDS.items():
            both = [
                f"{100 * len(asked(some, mode, level, rules)) / len(some):5.1f} %" for some in (commands, tuned, kept)
            ]
            say(f"{name:42} {backend:10}  all {both[0]}   tuned half {both[1]}   held back {both[2]}")
    if "--list" in words:
        for name, mode, rules in rows:
            if name != "ask":
                for backend, level in BACKENDS.items():
                    say(f"\n{name}, {backend}:")
                    for command in asked(shown, mode, level, rules):
                        say(f"  {command.expected:11} {command.text!r}")


if __name__ == "__main__":
    main(sys.argv[1:])
