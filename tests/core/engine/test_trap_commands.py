"""Commands that only resemble allowed ones need approval, and allowed commands do not."""

import random
import shlex
import subprocess
from dataclasses import replace
from itertools import product

import pytest

from core.domain.command_line import ParsedLine, ReadLine, parse_line, read_line
from core.domain.folder_reading import only_reads_folder
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
    line = read_line(command)
    for mode in CAREFUL:
        found = verdict(act("run", command=command), *RULES, mode=mode)
        if isinstance(found, Allowed):
            assert mode != "ask-all" and isinstance(line, ReadLine) and only_reads_folder(line.parts[-1], enforced=True)
            assert found.read_only or len(line.parts) > 1


def test_a_rule_also_covers_commands_whose_output_goes_to_the_same_place_or_nowhere() -> None:
    for command in EVERYDAY:
        for end in ("2>&1", ">/dev/null 2>&1", "2>/dev/null"):
            found = verdict(act("run", command=f"{command} {end}"), *RULES, mode="ask-all")
            assert isinstance(found, Allowed) and found.argv == ()  # only a shell can redirect


PYTEST_RULE = (rule("pytest *"), rule("make *"), rule("python manage.py test"), rule("git status *"))


@pytest.mark.parametrize("command", ["cd sub && pytest -q", "pytest | tail -5", "cat *; pytest", "CI=1 pytest | head"])
def test_a_line_needs_rules_only_for_the_commands_that_do_more_than_read(command: str) -> None:
    found = verdict(act("run", command=command), *PYTEST_RULE)
    assert isinstance(found, Allowed) and found.rule_id and not found.read_only
    assert isinstance(verdict(act("run", command=command), *PYTEST_RULE, mode="ask-all"), NeedsApproval)


@pytest.mark.parametrize(
    "command",
    [
        "PATH=. pytest", "LD_PRELOAD=./x pytest", "export PATH=. && pytest", "CI=1 git status -v", "CI=1 ./x; pytest",
        "cd sub && make", "cd sub && python manage.py test", "cd sub && git commit", "cd sub; pytest",
        "cd .. && pytest", "cd .git && pytest", "pytest *", "pytest | sh", "pytest | tee x", "pytest > x",
        "pytest < x", "X=1 pytest",
        "pytest; cat server.pem", "pytest && cat ../x", "pytest | sort -o x", "pytest; ls > x", "pytest; pip list",
    ],
)  # fmt: skip
def test_rules_for_some_commands_of_a_line_do_not_allow_the_others(command: str) -> None:
    found = verdict(act("run", command=command), *PYTEST_RULE)
    assert not isinstance(found, Allowed)


def test_a_file_that_the_agent_changed_is_noticed_behind_redirections_and_cd() -> None:
    facts = replace(FACTS, changed_files=frozenset({"sub/package.json"}))
    for command in ("npm test 2>&1", "cd sub && npm test", "CI=1 npm test"):
        found = verdict(act("run", command=command), rule("npm test *"), mode="auto", facts=facts)
        assert isinstance(found, NeedsApproval) and "sub/package.json" in found.request.reason


LINTERS = tuple(map(rule, ("mypy *", "black *", "python -m mypy *", "eslint *", "vitest *", "npx vitest *")))


@pytest.mark.parametrize(
    "command",
    [
        "PYTHONPATH=evil mypy .", "PYTHONPATH=evil black src", "export PYTHONPATH=evil && mypy .",
        "PYTHONPATH=. python -m mypy src", "DJANGO_SETTINGS_MODULE=evil mypy .", "PYTHONPATH=/tmp pytest",
        "PYTHONPATH=src:../evil pytest", "env PYTHONPATH=evil mypy .",
        "eslint -f ./evil.js src", "eslint --format ./evil.js src", "eslint --format=evil.js src", "eslint -f../x src",
        "vitest --reporter ./evil.ts", "vitest --reporter=evil.mjs", "npx vitest --reporter=/tmp/x",
    ],
)  # fmt: skip
def test_no_option_or_variable_lets_an_allowed_linter_run_other_code(command: str) -> None:
    assert isinstance(verdict(act("run", command=command), *LINTERS, *PYTEST_RULE), NeedsApproval)


@pytest.mark.parametrize(
    "command",
    [
        "PYTHONPATH=src pytest -q", "PYTHONPATH=.:src pytest", "DJANGO_SETTINGS_MODULE=a.b pytest", "CI=1 mypy .",
        "PYTHONPATH=. python manage.py test", "eslint -f stylish src", "eslint --format=json src",
        "vitest --run --reporter=verbose",
    ],
)  # fmt: skip
def test_names_and_the_usual_variables_need_no_approval(command: str) -> None:
    assert isinstance(verdict(act("run", command=command), *LINTERS, *PYTEST_RULE), Allowed)


OFFERS = {
    "cd backend && pytest -q": "pytest *", "export NODE_ENV=test && npm test": "npm test *",
    "cargo build --release 2>&1 | tail -5": "cargo build *",
    "git switch -c fix": "git switch *", "git checkout -b fix": "git checkout -b *", "mvn -q test": "mvn test *",
    "git merge --no-ff feature": "git merge *", "go mod tidy": "go mod tidy *", "npm run lint | head": "npm run *",
    "cmake --build build -j": "cmake --build *", "bundle exec rspec spec/a_spec.rb": "bundle exec rspec *",
    "python3 x.py": "python3 x.py", "pip install requests": "pip install requests", "cp a b": "cp a b",
}  # fmt: skip


@pytest.mark.parametrize("command", OFFERS)
def test_an_approval_offers_a_pattern_for_the_verb_and_never_for_more(command: str) -> None:
    found = verdict(act("run", command=command))
    assert isinstance(found, NeedsApproval) and found.request.patterns == (OFFERS[command],)
    assert isinstance(verdict(act("run", command=command), rule(OFFERS[command])), Allowed)


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
