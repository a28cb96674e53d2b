"""Everyday commands ask rarely. `python -m tests.core.engine.everyday_asking` prints the figures and the commands."""

from dataclasses import replace

import pytest

from core.domain.permissions import Allowed, Denied
from tests.core.engine.everyday_asking import (
    BACKENDS,
    asked,
    decide,
    everyday_commands,
    offered_rules,
    saved_rules,
)
from tests.core.engine.policy_calls import FACTS, act, rule, verdict

COMMANDS = everyday_commands()
MOST_IN_AUTO = {"bubblewrap": 0.05, "Landlock": 0.08}


def test_the_list_is_long_and_nothing_in_it_is_denied() -> None:
    assert len(COMMANDS) >= 300 and len({command.text for command in COMMANDS}) == len(COMMANDS)
    denied = [
        c.text for c in COMMANDS for level in BACKENDS.values() if isinstance(decide(c.text, "auto", level), Denied)
    ]
    assert denied == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("held_back", [False, True])
def test_auto_mode_asks_about_few(backend: str, held_back: bool) -> None:
    some = [command for command in COMMANDS if command.held_back == held_back]
    found = asked(some, "auto", BACKENDS[backend])
    assert len(found) <= MOST_IN_AUTO[backend] * len(some), [command.text for command in found]


def test_auto_mode_asks_about_every_destructive_one() -> None:
    for level in BACKENDS.values():
        for command in COMMANDS:
            if command.expected == "destructive":
                assert not isinstance(decide(command.text, "auto", level), Allowed), command.text


def test_rules_saved_once_cover_most_commands_from_then_on() -> None:
    found = asked(COMMANDS, "ask", "verified", offered_rules(COMMANDS))
    assert len(found) <= 0.25 * len(COMMANDS), [command.text for command in found]


def test_rules_saved_for_every_second_command_leave_few_questions() -> None:
    offered = offered_rules([command for command in COMMANDS if not command.held_back])
    found = asked(COMMANDS, "ask", "verified", offered)
    assert len(found) <= 0.25 * len(COMMANDS)
    decisions = [decide(command.text, "ask", level) for command in COMMANDS for level in BACKENDS.values()]
    assert all(decision.read_only for decision in decisions if isinstance(decision, Allowed))


def test_the_rules_of_a_few_weeks_cover_more_than_a_third_of_all_tools() -> None:
    assert len(asked(COMMANDS, "ask", "verified", saved_rules())) <= 0.65 * len(COMMANDS)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git log *", "git log --oneline -15"),
        ("git log *", "git log --format='%h %an' -n 5 --since=yesterday"),
        ("git log *", "git --no-pager log -3"),
        ("npm run *", "npm run lint -- --fix"),
        ("npm run lint *", "npm run lint -- --fix"),
        ("cargo test *", "cargo test -- --nocapture"),
        ("cargo test *", "cargo test parser -- --test-threads 1"),
        ("grep *", "grep -rnE --include=*.ts -A3 useState src"),
        ("grep *", "grep -m1 -e TODO src/app.py"),
        ("ls *", "ls -lahtr src"),
        ("kubectl get *", "kubectl get pods -n prod -o wide"),
        ("gh pr view *", "gh pr view 12 --comments"),
        ("docker compose logs *", "docker compose logs -f --tail=20 api"),
        ("sed -n *", "sed -n '10,40p' src/app.py"),
        ("python -m pytest *", "python3.11 -m pytest -n 4 -q"),
        ("aws ec2 describe-instances *", "aws ec2 describe-instances --region eu-west-1"),
    ],
)
def test_a_rule_covers_harmless_options_in_every_spelling(pattern: str, command: str) -> None:
    wanted = pattern if not pattern.startswith("python ") else "python3.11 -m pytest *"
    assert isinstance(verdict(act("run", command=command), rule(wanted)), Allowed)


@pytest.mark.parametrize(
    "command",
    [
        "kubectl get pods",
        "terraform plan",
        "gh pr view 12",
        "git clean -n",
        "git clean -nd build",
        "git restore --staged src/app.py",
        "curl localhost:8080/health",
        "curl -sS http://127.0.0.1:3000/x",
        "git stash push -m wip",
        "sqlite3 -readonly app.db .schema",
        "docker volume ls",
        "systemctl status nginx",
        "helm template ./chart",
        "aws s3 ls",
        "git push --dry-run",
        "git log --grep push",
    ],
)
def test_what_only_reads_is_not_irreversible(command: str) -> None:
    for level in BACKENDS.values():
        assert isinstance(decide(command, "auto", level), Allowed)


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q 2>&1 | tail -20",
        "python gen.py > out.json 2> err.log",
        "cd src && ls",
        "cd src && cat app.py | head -5 > x.txt",
        "cat > a.py <<'EOF'\nprint('$x')\nEOF",
        "wc -l src/*.py",
        "CI=1 npm test",
        "export NODE_ENV=test && npm test",
        "[ -f x ] && cat x",
        "command -v node",
        "# look\nls",
        "find . -name '*.py' -exec grep -l main {} +",
    ],
)
def test_landlock_needs_no_approval_for_a_line_that_is_understood(command: str) -> None:
    assert isinstance(decide(command, "auto", "reduced"), Allowed)


@pytest.mark.parametrize(
    "command",
    [
        "cd .. && ls",
        "cd / && ls",
        "echo x > ../x",
        "cat a > /tmp/x",
        "cd .git && echo x > config",
        "cd .vscode; cp ../a tasks.json",
        "echo x > .envrc",
        "cat a >> .bashrc",
        "cat <<E | python3\nprint(1)\nE",
        "echo x > run.sh; ./run.sh",
        "echo x > package.json && npm test",
        "PATH=. ls",
        "GIT_SSH_COMMAND=./x git fetch",
        "LD_PRELOAD=./x ls",
        "BASH_ENV=x ls",
        "cat $x",
        "find . -name '*.c' -exec ./x {} \\;",
        "cp a .git/hook?/pre-commit",
    ],
)
def test_landlock_still_asks_about_what_hides_its_effect(command: str) -> None:
    hooks = {".git/hook?/pre-commit": (".git/hooks/pre-commit",)}
    facts = replace(FACTS, level="reduced", expand=lambda pattern: hooks.get(pattern, ()))
    assert not isinstance(verdict(act("run", command=command), mode="auto", facts=facts), Allowed)
