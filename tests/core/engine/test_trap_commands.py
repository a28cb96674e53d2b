"""Commands that only resemble allowed ones need approval, and allowed commands do not."""

import random
import shlex
import subprocess
from itertools import product

import pytest

from core.domain.command_line import ParsedLine, parse_line
from core.domain.modes import Mode
from core.domain.permissions import Allowed, Denied, NeedsApproval
from tests.core.engine.policy_calls import FACTS, act, rule, verdict
from tests.core.engine.trap_commands import (
    EVERYDAY,
    EVIL,
    JOINED,
    KEPT,
    READING_TRAPS,
    READING_TWISTS,
    TRAPS,
    TWISTED,
)  # fmt: skip

RULES = tuple(rule(pattern) for pattern in KEPT)
CAREFUL: tuple[Mode, ...] = ("ask-all", "ask", "accept-edits")


def compositions(count: int) -> list[str]:
    """Return everyday commands combined with others, or distorted, without duplicates."""
    joined = {form.format(good=good, evil=evil) for form, good, evil in product(JOINED, EVERYDAY, EVIL)}
    twisted = {form.format(good=good) for form, good in product(TWISTED, EVERYDAY)}
    return random.Random(5).sample(sorted(joined - twisted), count - len(twisted)) + sorted(twisted)


@pytest.mark.parametrize("command", EVERYDAY)
def test_everyday_commands_run_without_approval(command: str) -> None:
    for mode in CAREFUL:
        found = verdict(act("run", command=command), *RULES, mode=mode)
        assert isinstance(found, Allowed), f"{command}: {found}"
        assert found.rule_id and found.reason.startswith("your rule: ")


def test_there_are_enough_commands_of_each_kind() -> None:
    assert len(EVERYDAY) >= 60 and len(TRAPS) >= 35 + 38 and len(set(TRAPS)) == len(TRAPS)


@pytest.mark.parametrize("command", TRAPS)
def test_no_rule_allows_a_trap(command: str) -> None:
    for mode in CAREFUL:
        found = verdict(act("run", command=command), *RULES, mode=mode)
        assert isinstance(found, NeedsApproval | Denied), f"{command!r}: {found}"


@pytest.mark.parametrize("command", READING_TRAPS + [t.format(good=good) for t in READING_TWISTS for good in EVERYDAY])
def test_no_rule_allows_what_is_allowed_because_it_only_reads(command: str) -> None:
    for mode in CAREFUL:
        found = verdict(act("run", command=command), *RULES, mode=mode)
        assert not isinstance(found, Allowed) or (found.read_only and not found.rule_id and mode != "ask-all")


def test_ten_thousand_compositions_are_never_allowed() -> None:
    commands = compositions(10_000)
    assert len(commands) == len(set(commands)) == 10_000
    passed = [c for c in commands if isinstance(verdict(act("run", command=c), *RULES), Allowed)]
    assert passed == []


@pytest.mark.parametrize("command", [c for c in EVERYDAY if isinstance(parse_line(c), ParsedLine)])
def test_parsed_commands_agree_with_the_shell(command: str) -> None:
    line = parse_line(command)
    assert isinstance(line, ParsedLine)
    if line.single:
        print_words = f"printf '%s\\0' {command}"
        told = subprocess.run(["sh", "-c", print_words], capture_output=True, check=True).stdout
        assert tuple(word.decode() for word in told.split(b"\0")[:-1]) == line.parts[0]
        assert tuple(shlex.split(command)) == line.parts[0]


def test_a_single_command_is_run_by_its_words_and_a_chain_is_not() -> None:
    one = verdict(act("run", command="git commit -m 'two words'"), *RULES)
    assert isinstance(one, Allowed) and one.argv == ("git", "commit", "-m", "two words")
    for command in ("git status && ls", "timeout 5 ls", "sh -c ls"):
        several = verdict(act("run", command=command), *RULES)
        assert isinstance(several, Allowed) and several.argv == ()


def test_no_pattern_is_offered_for_a_trap() -> None:
    """A rule is offered only where saving it would be safe."""
    for command in TRAPS:
        found = verdict(act("run", command=command))
        if isinstance(found, NeedsApproval) and found.request.patterns:
            new = tuple(rule(pattern) for pattern in found.request.patterns)
            again = verdict(act("run", command=command), *new)
            assert isinstance(again, Allowed), command
            for evil in set(EVIL) - {command}:
                worse = verdict(act("run", command=f"{command}; {evil}"), *new, facts=FACTS)
                assert not isinstance(worse, Allowed), f"{command}; {evil}"
