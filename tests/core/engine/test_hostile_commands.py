"""Hostile commands need approval, whatever rules were saved, and no rule is accepted that could cover one."""

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from core.domain.command_line import program_name
from core.domain.command_tables import known_programs, program_sets
from core.domain.modes import Mode
from core.domain.permissions import Allowed, SandboxLevel
from core.domain.problems import Problem
from core.domain.rules import PermissionRule
from tests.core.engine.policy_calls import FACTS, act, rule, verdict

HERE = Path(__file__).parent
LISTS: dict[str, list[str]] = tomllib.loads((HERE / "hostile_commands.toml").read_text("utf-8"))
WRAPPED = [form.replace("{rm}", lost) for form, lost in product(LISTS["wrappers"], LISTS["lost"])]
LEVELS: tuple[SandboxLevel, ...] = ("verified", "reduced")


def gtfobins() -> list[str]:
    lines = (HERE / "gtfobins_names.txt").read_text("utf-8").splitlines()
    return [name for line in lines if not line.startswith("#") for name in line.split()]


def broad_rules() -> list[PermissionRule]:
    """Return every rule of a program or verb with `*` that can be saved at all."""
    verbs = [" ".join(command.words) for known in known_programs().values() for command in known.commands]
    made = []
    for pattern in (*verbs, *gtfobins()):
        try:
            made.append(rule(f"{pattern} *"))
        except Problem:
            continue
    return made


RULES = broad_rules()


def allowed(commands: Sequence[str], mode: Mode, level: SandboxLevel, *rules: PermissionRule) -> list[str]:
    """Return the commands that are allowed. The folder contains secrets that no sandbox hides from code."""
    facts = replace(FACTS, level=level, secret_files=lambda: ("server.pem",))
    return [c for c in commands if isinstance(verdict(act("run", command=c), *rules, mode=mode, facts=facts), Allowed)]


def test_the_lists_are_long() -> None:
    assert len(WRAPPED) + len(LISTS["destroys"]) + len(LISTS["runs_code"]) > 1_500 and len(RULES) > 100


@pytest.mark.parametrize("level", LEVELS)
def test_a_destructive_command_asks_in_every_mode_behind_every_wrapper(level: SandboxLevel) -> None:
    for mode in ("auto", "ask"):
        assert allowed(WRAPPED, mode, level, *RULES) == []
        assert allowed(LISTS["destroys"], mode, level, *RULES) == []


@pytest.mark.parametrize("level", LEVELS)
def test_no_rule_covers_options_that_run_code(level: SandboxLevel) -> None:
    assert allowed(LISTS["runs_code"], "ask", level, *RULES) == []
    assert allowed(LISTS["runs_code"], "accept-edits", level, *RULES) == []


@pytest.mark.parametrize("pattern", LISTS["patterns"])
def test_a_pattern_that_could_run_anything_is_refused(pattern: str) -> None:
    with pytest.raises(Problem):
        rule(pattern)


def test_every_program_of_gtfobins_is_too_broad_or_has_known_options() -> None:
    sets = program_sets()
    names = {program_name(name) for name in gtfobins()}
    assert len(names) > 450
    known = {name for name, program in known_programs().items() if any(len(c.words) == 1 for c in program.commands)}
    behind = {"env", "nice", "nohup", "time", "timeout"} | sets.wrappers | sets.shells
    assert names - {name for (name,) in sets.too_broad} - known - behind == set()


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("sqlite3", "sqlite3"),
        ("python3.11", "python"),
        ("/usr/bin/pip3", "pip"),
        ("clang-17", "clang"),
        ("g++-13", "g++"),
        ("bzip2", "bzip2"),
        ("base64", "base64"),
        ("md5sum", "md5sum"),
        ("s3", "s3"),
        ("git.exe", "git"),
        ("tool2", "tool2"),
        ("perl5.36.0", "perl"),
        ("i386", "i386"),
        ("lua5.4", "lua"),
        ("7z", "7z"),
    ],
)
def test_only_versioned_programs_lose_the_digits_of_their_name(name: str, program: str) -> None:
    assert program_name(name) == program


def test_the_tables_name_their_sources() -> None:
    text = Path("resources/commands/tools.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    missing = [
        name for name, table in tables.items() if "same_as" not in table and not {"source", "checked"} <= set(table)
    ]
    assert missing == []
    used = {
        "git",
        "docker",
        "kubectl",
        "gh",
        "npm",
        "pnpm",
        "yarn",
        "pip",
        "uv",
        "cargo",
        "go",
        "terraform",
        "aws",
        "gcloud",
        "az",
        "helm",
        "systemctl",
        "journalctl",
        "brew",
        "apt",
        "make",
        "jq",
        "rg",
        "fd",
    }
    assert used <= set(tables)
