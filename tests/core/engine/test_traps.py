"""No command that only looks like an allowed one runs without a person, and the allowed ones do."""

import random
import shlex
import subprocess
from itertools import product

import pytest

from core.domain.command_line import Understood, read_line
from core.domain.consent import Allowed, Asks, Denied
from core.domain.modes import Mode
from tests.core.engine.judged import FACTS, act, rule, verdict
from tests.core.engine.traps import EVERYDAY, EVIL, JOINED, KEPT, TRAPS, TWISTED

RULES = tuple(rule(pattern) for pattern in KEPT)
CAREFUL: tuple[Mode, ...] = ("ask", "edits", "accept")


def compositions(count: int) -> list[str]:
    """Everyday commands joined with others, or twisted; never the same twice."""
    joined = {form.format(good=good, evil=evil) for form, good, evil in product(JOINED, EVERYDAY, EVIL)}
    twisted = {form.format(good=good) for form, good in product(TWISTED, EVERYDAY)}
    return random.Random(5).sample(sorted(joined - twisted), count - len(twisted)) + sorted(twisted)


@pytest.mark.parametrize("command", EVERYDAY)
def test_everyday_commands_run_without_a_question(command: str) -> None:
    for mode in CAREFUL:
        found = verdict(act("run", command=command), *RULES, mode=mode)
        assert isinstance(found, Allowed), f"{command}: {found}"
        assert found.rule and found.cause.startswith("your rule: ")


def test_there_are_enough_of_each() -> None:
    assert len(EVERYDAY) >= 60 and len(TRAPS) >= 35 + 38 and len(set(TRAPS)) == len(TRAPS)


@pytest.mark.parametrize("command", TRAPS)
def test_a_trap_is_never_allowed_by_a_rule(command: str) -> None:
    for mode in CAREFUL:
        found = verdict(act("run", command=command), *RULES, mode=mode)
        assert isinstance(found, Asks | Denied), f"{command!r}: {found}"


def test_ten_thousand_compositions_are_never_allowed() -> None:
    commands = compositions(10_000)
    assert len(commands) == len(set(commands)) == 10_000
    passed = [c for c in commands if isinstance(verdict(act("run", command=c), *RULES), Allowed)]
    assert passed == []


@pytest.mark.parametrize("command", [c for c in EVERYDAY if isinstance(read_line(c), Understood)])
def test_what_is_understood_is_what_a_shell_makes_of_it(command: str) -> None:
    line = read_line(command)
    assert isinstance(line, Understood)
    if line.single:
        print_words = f"printf '%s\\0' {command}"
        told = subprocess.run(["sh", "-c", print_words], capture_output=True, check=True).stdout
        assert tuple(word.decode() for word in told.split(b"\0")[:-1]) == line.parts[0]
        assert tuple(shlex.split(command)) == line.parts[0]


def test_a_single_command_is_given_its_words_and_a_chain_is_not() -> None:
    one = verdict(act("run", command="git commit -m 'two words'"), *RULES)
    assert isinstance(one, Allowed) and one.argv == ("git", "commit", "-m", "two words")
    for command in ("git status && ls", "timeout 5 ls", "sh -c ls"):
        several = verdict(act("run", command=command), *RULES)
        assert isinstance(several, Allowed) and several.argv == ()


def test_no_pattern_is_offered_for_a_trap() -> None:
    """What a person is asked about is only remembered where that would be safe."""
    for command in TRAPS:
        found = verdict(act("run", command=command))
        if isinstance(found, Asks) and found.request.patterns:
            new = tuple(rule(pattern) for pattern in found.request.patterns)
            again = verdict(act("run", command=command), *new)
            assert isinstance(again, Allowed), command
            for evil in set(EVIL) - {command}:
                worse = verdict(act("run", command=f"{command}; {evil}"), *new, facts=FACTS)
                assert not isinstance(worse, Allowed), f"{command}; {evil}"
