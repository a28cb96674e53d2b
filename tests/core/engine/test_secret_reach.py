"""Commands that read patterns or whole folders do not show secrets that the sandbox cannot hide without approval."""

import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from core.domain.modes import Mode
from core.domain.permissions import Allowed, Denied, NeedsApproval, PolicyDecision, SandboxLevel
from core.domain.sensitive_paths import ORDINARY_WORDS, is_hidden_from_commands, is_secret, names_secret
from core.engine.policy.folder_inspection import MAX_MATCHES, inner_links, matching_files, secret_files
from core.workspace.folder_scan import FolderScan
from core.workspace.launcher import CommandRequest
from core.workspace.trusted_places import NOTEWORTHY
from tests.core.engine.policy_calls import FACTS, act, rule, verdict
from tests.core.workspace.commands import await_, open_sandbox

SECRET = "canary-7f31"
FILES = (
    ".env",
    "id_rsa",
    "src/app.py",
    "src/notes.txt",
    "deploy/prod.tfvars",
    "conf/kubeconfig",
    "certs/server.pem",
    "certs/ca.txt",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    for name in FILES:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(f"X {SECRET}\n")
    (work / "plain-name").symlink_to(".env")
    return work


def decide(folder: Path, command: str, level: SandboxLevel, mode: Mode = "auto", *rules: str) -> PolicyDecision:
    def resolve(path: str) -> str:
        real = (folder / path).resolve()
        return str(real.relative_to(folder)) if real.is_relative_to(folder) else path

    facts = replace(
        FACTS,
        workspace=str(folder),
        level=level,
        resolve=resolve,
        expand=partial(matching_files, folder),
        secret_files=partial(secret_files, folder),
        inner_links=partial(inner_links, folder),
    )
    saved = [rule(pattern, scope="always", scope_id="") for pattern in rules]
    return verdict(act("run", command=command), *saved, mode=mode, facts=facts)


READERS = [
    "grep -r X .",
    "grep -rn X",
    "grep -R X .",
    "grep --recursive X",
    "grep --recurs X .",
    "grep -nir X . --color",
    "grep X -r",
    "grep -d recurse X .",
    "egrep -r X .",
    "rg X -uu",
    "rg --hidden X",
    "rg X",
    "rg -. X",
    "ag X",
    "git grep X",
    "diff -r . src",
    "diff --recursive src .",
    "cat *",
    "cat id_*",
    "head *",
    "grep X *",
    "tail -n 3 ?d_rsa",
    "cat plain-name",
    "sort < plain-name",
    "cd src; nl < ../plain-name",
    "find . -type f -exec cat {} +",
    "cd conf && cat *",
    "cd src && grep -r X ..",
    "cd deploy; cat *",
    "cat deploy/*",
    "cat conf/kubeconfig",
    "cat deploy/prod.tfvars",
    "grep -r X deploy",
    "rg X deploy",
    "cat certs/server.pem",
    "cat certs/*",
    "sort *",
    "jq . deploy/*",
    "sh -c 'grep -r X .'",
    "timeout 5 grep -r X .",
    "nice grep -r X .",
    "grep -r X . | head",
    "ls; grep -r X .",
    "grep -r --include=*.tfvars X .",
    "grep -r --exclude=*.py X .",
]


@pytest.mark.parametrize("command", READERS)
def test_a_reader_of_unnamed_files_asks_under_landlock(command: str, folder: Path) -> None:
    program = command.split()[0]
    modes: tuple[Mode, ...] = ("auto", "ask")
    for mode in modes:
        rules = (f"{program} *",) if mode == "ask" and program in ("grep", "rg", "cat", "head", "sort") else ()
        found = decide(folder, command, "reduced", mode, *rules)
        assert isinstance(found, NeedsApproval | Denied), command
        if isinstance(found, NeedsApproval) and mode == "auto":
            assert found.request.patterns == () or "git grep" in command


# Options and folders that make a search read what it would otherwise leave out, and comparisons of whole folders.
WIDENED = [
    "rg -g '*' X",
    "rg '-g*' X src",
    "rg -ng '*' X src",
    "rg --iglob '.E*' X src",
    "rg --glob='.e*' X src",
    "rg -g 'src/**' X src",
    "rg -g '*.{tfvars,py}' X src",
    "rg --iglob '*.TFVARS' X src",
    "rg X .hidden",
    "grep -r --exclude=.env --include='*' X src",
    "grep -r --exclude=x --include=*.py X src",
    "cd src && grep -r --exclude-dir=src X .",
    "grep -r --exclude-dir=src X src/.",
    "diff src other",
    "diff -q src/ other/",
    "git grep X HEAD",
    "git grep X --cached",
    "yq 'eval(.e)' x.yml",
    "yq '.e | eval' x.yml",
    "yq envsubst x.yml",
    "yq '[load(.p)]' x.yml",
    "yq e '{\"a\":load_str(.p)}' x.yml",
    "yq '.a-load(.p)' x.yml",
    "terraform fmt -check -diff",
]


# Bubblewrap hides what the patterns `.e*` find.
WIDENED_UNDER_BUBBLEWRAP = [command for command in WIDENED if ".e" not in command.casefold()]


@pytest.mark.parametrize(
    ("level", "command"),
    [*(("reduced", one) for one in WIDENED), *(("verified", one) for one in WIDENED_UNDER_BUBBLEWRAP)],
)
def test_an_option_that_widens_a_search_asks(command: str, level: SandboxLevel, tmp_path: Path) -> None:
    for name in (".env", "src/.env", "src/prod.tfvars", ".hidden/credentials.json", "other/prod.tfvars"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"X {SECRET}\n")
    assert isinstance(decide(tmp_path, command, level, "ask"), NeedsApproval)
    if level == "reduced" or not command.startswith("yq "):
        assert isinstance(decide(tmp_path, command, level, "auto"), NeedsApproval)


UNKNOWN_READERS = [
    "hexyl deploy/*",
    "hexyl deploy/prod.tfvars",
    "hexyl certs/server.pem",
    "hexyl @deploy/prod.tfvars",
    "hexyl --file=deploy/prod.tfvars",
    "hexyl -fdeploy/prod.tfvars",
    "hexyl --file deploy/*.tfvars",
    "ugrep -r X .",
    "ugrep -rn X",
    "ugrep --recursive X deploy",
    "cd deploy && hexyl *",
    "cd deploy && ugrep -r X",
    "cp deploy/prod.tfvars copy.txt",
    "mv certs/* .",
    "ls deploy/* | xargs hexyl",
    "grep --unknown-option --file=deploy/prod.tfvars X src/app.py",
    "find deploy -type f -exec hexyl {} +",
    "find deploy -type f -execdir cat {} +",
    "for f in deploy/*; do cat $f; done",
    "cat deploy/*.tfvars $(true)",
    "ugrep -r X . $(true)",
    "cat certs/server.pe[m]",
]


@pytest.mark.parametrize("command", UNKNOWN_READERS)
def test_an_unknown_command_that_is_given_secrets_asks(command: str, folder: Path) -> None:
    levels: tuple[SandboxLevel, ...] = ("verified", "reduced")
    for level in levels:
        found = decide(folder, command, level)
        assert isinstance(found, NeedsApproval) and found.request.reason.startswith("It may show"), level


@pytest.mark.parametrize(
    "command",
    [
        "hexyl src/*",
        "hexyl -r src",
        "hexyl new.pem",
        "hexyl *",
        "ruff check .",
        "pytest -ra",
        "pip install -r requirements.txt",
        "cp -r deploy copy",
        "chmod 600 certs/server.pem",
        "for f in src/*; do cat $f; done",
        "node server.js --reload",
        "cp src/app.py src/b.py",
    ],
)
def test_an_unknown_command_that_is_given_no_secret_does_not_ask(command: str, folder: Path) -> None:
    (folder / "requirements.txt").write_text("")
    assert isinstance(decide(folder, command, "verified"), Allowed)


@pytest.mark.parametrize(
    "command",
    [
        "rg -g '!*.md' X src",
        "rg -g '*.py' -n X",
        "grep -r --include=*.py X src",
        "grep -r --exclude-dir=deploy X .",
        "diff src/app.py src/notes.txt",
        "yq .services x.yml",
    ],
)
def test_an_option_that_narrows_a_search_does_not_ask(command: str, tmp_path: Path) -> None:
    for name in ("src/.env", "deploy/prod.tfvars"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"X {SECRET}\n")
    (tmp_path / "src" / ".env").rename(tmp_path / "deploy" / ".env")
    assert isinstance(decide(tmp_path, command, "reduced"), Allowed)


@pytest.mark.parametrize(
    "command",
    [
        "grep -rn X src",
        "grep -rn --include=*.py X .",
        "grep -r --exclude-dir=deploy --exclude-dir=conf --exclude=id_rsa --exclude=.env X .",
        "rg X src",
        "rg -g '*.py' X",
        "cat src/*",
        "cat src/app.py",
        "ls *",
        "ls -la",
        "wc -l *",
        "find . -name '*.py'",
        "git status",
        "git log --oneline -5",
        "cd src && grep -r X .",
        "echo a > b.txt",
        "du -sh *",
        "stat id_rsa.pub",
    ],
)
def test_other_commands_do_not_ask(command: str, folder: Path) -> None:
    assert isinstance(decide(folder, command, "reduced"), Allowed)


@pytest.mark.parametrize(
    "command",
    ["pytest -q", "python x.py", "npm test", "make", "tar cf a.tar .", "cp -r . ../x", "node x.js", "CI=1 ls"],
)
def test_code_asks_under_landlock_in_a_folder_with_secrets_until_a_rule_allows_it(
    command: str, folder: Path, tmp_path: Path
) -> None:
    found = decide(folder, command, "reduced")
    assert isinstance(found, NeedsApproval) and ".env" in found.request.reason
    bare = tmp_path / "bare"
    bare.mkdir()
    assert isinstance(decide(bare, command, "reduced"), Allowed)
    assert isinstance(decide(folder, command, "verified"), Allowed)


def test_a_rule_allows_code_in_a_folder_with_secrets(folder: Path) -> None:
    assert isinstance(decide(folder, "pytest -q", "reduced", "auto", "pytest *"), Allowed)


def test_bubblewrap_asks_only_about_what_it_does_not_hide(folder: Path) -> None:
    asked = decide(folder, "grep -r X .", "verified")
    assert isinstance(asked, NeedsApproval) and asked.request.reason.startswith("It may show deploy/prod.tfvars, which")
    (folder / "deploy" / "prod.tfvars").unlink()
    assert isinstance(decide(folder, "grep -r X .", "verified"), Allowed)
    assert isinstance(decide(folder, "cat *", "verified"), Allowed)


@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize("search", ["rg X", "grep -r X", "git grep X"])
def test_a_search_in_a_folder_entered_by_a_link_asks(search: str, mode: Mode, folder: Path) -> None:
    (folder / "src" / "link").symlink_to("../deploy")
    decision = decide(folder, f"cd src/link && {search}", "verified", mode)
    assert isinstance(decision, NeedsApproval)


@pytest.mark.parametrize("backend", ["bubblewrap", "landlock"])
def test_what_a_sandbox_shows_is_what_the_policy_asks_about(backend: str, folder: Path) -> None:
    """The real sandbox runs `grep -r`; each file with secrets that it prints is one that the policy asks about."""
    (folder / "plain-name").unlink()
    with open_sandbox(backend) as sandbox:
        found = FolderScan(folder).scan_before()
        asked = CommandRequest("grep -r X .", folder, protected=found.protected, hidden=found.hidden)
        done = await_(sandbox.run(asked))
    shown = {line.split(":")[0].removeprefix("./") for line in done.output.splitlines() if SECRET in line}
    assert "src/app.py" in shown
    assert {name for name in shown if is_hidden_from_commands(name)} == (
        set() if backend == "bubblewrap" else {".env", "id_rsa", "conf/kubeconfig"}
    )
    decision = decide(folder, "grep -r X .", "verified" if backend == "bubblewrap" else "reduced")
    assert isinstance(decision, NeedsApproval)


def words(text: str) -> list[str]:
    return text.split()


NAMES = words("""
    .env~ .env.bak .env.local .env.swp ..env.swp .#.env .env-prod .env_local dev.env prod.env~ .secrets .secret
    sub/.secrets/a .vault_pass .vault_pass.txt .vault-password vault_pass.txt kubeconfig kubeconfig.yaml
    prod.kubeconfig kubeconfig~ .kube/config .dev.vars .terraformrc .mylogin.cnf id_rsa.bak id_ed25519~
    .id_rsa.swp .npmrc.old .databrickscfg .pgpass
""")
READ_PROTECTED = words("""
    prod.tfvars terraform.tfvars x.auto.tfvars prod.tfvars.json terraform.tfstate terraform.tfstate.backup
    a.keytab credentials.csv app_accessKeys.csv rootkey.csv kaggle.json secret.yaml x-firebase-adminsdk-1.json
    service_account.json .bash_history .psql_history rclone.conf .oci/config .config/glab-cli/config.yml
    .codex/auth.json server.key.bak
""")
HARMLESS = words("""
    .env.example .env-sample .env.template .env.example~ terraform.tfvars.example id_rsa.pub kubeconfig.go
    secrets.py env.py environment.ts .envrc-docs README.md tokens.css history.py
""")


@pytest.mark.parametrize("name", NAMES)
def test_names_hidden_from_commands(name: str) -> None:
    assert is_secret(name) and is_hidden_from_commands(name) and NOTEWORTHY.search(f"./{name}".encode())
    assert is_secret(f"a/{name}") and is_hidden_from_commands(f"a/{name}") and NOTEWORTHY.search(f"./a/{name}".encode())


@pytest.mark.parametrize("name", READ_PROTECTED)
def test_names_that_no_tool_reads(name: str) -> None:
    assert is_secret(name) and is_secret(f"a/{name}")


@pytest.mark.parametrize("name", HARMLESS)
def test_names_without_secrets(name: str) -> None:
    assert not is_secret(name) and not is_hidden_from_commands(name) and not names_secret(name)


@pytest.mark.parametrize("part", [".1", "~", "#", ".bak", "."])
def test_a_long_name_is_read_once(part: str) -> None:
    """Tried from each of its parts, this would take minutes."""
    assert not names_secret(f"{part * 200_000}x") and names_secret(f".env{part * 200_000}")


@pytest.mark.parametrize("word", ORDINARY_WORDS)
def test_a_command_with_an_ordinary_word_is_not_denied_but_showing_such_a_file_asks(word: str, folder: Path) -> None:
    assert not isinstance(decide(folder, f"grep -rn {word} src", "verified"), Denied)
    for path in (word, f"deploy/{word}"):
        (folder / path).write_text(SECRET)
        for command in ("cat", "base64", "cp -t src", "python3 show.py"):
            assert isinstance(decide(folder, f"{command} {path}", "reduced"), NeedsApproval), f"{command} {path}"
    assert names_secret("/etc/shadow") and names_secret("/etc/gshadow") and names_secret("~/.aws/credentials")


def test_the_word_kubeconfig_alone_names_no_file(folder: Path) -> None:
    assert isinstance(decide(folder, "grep -rn kubeconfig src", "verified"), Allowed)


@pytest.mark.parametrize("path", [".ssh/id_rsa.PUB", ".ssh/known.pub", "a/.SSH/id_rsa.pub", "\u200c.ssh/config"])
def test_a_file_in_a_secret_folder_is_hidden_if_it_is_secret(path: str) -> None:
    assert is_hidden_from_commands(path) == is_secret(path) == path.endswith("config")


def test_places_of_the_system_are_secret_but_no_sandbox_hides_them() -> None:
    for path in ("/etc/shadow", "proc/1/environ", "Library/Keychains/login"):
        assert is_secret(path) and not is_hidden_from_commands(path)


def test_a_scan_finds_the_names_that_the_sandbox_hides(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert set(FolderScan(tmp_path).scan_before().hidden) == set(NAMES) == set(secret_files(tmp_path))


def test_a_pattern_over_links_to_the_folder_itself_is_decided_at_once(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"l{number}").symlink_to(".")
    (tmp_path / ".env").write_text("A=b")
    found = matching_files(tmp_path, "*/" * 20 + "x")
    assert ".env" in found and len(found) >= MAX_MATCHES, "it may be any file"


def test_patterns_match_as_in_a_shell(tmp_path: Path) -> None:
    for name in ("a.py", ".hidden.py", "d/b.py", "d/.e.py", "d/f/c.py", "[x]"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    for pattern in (
        "*",
        "*.py",
        ".*.py",
        "*/*.py",
        "d/*",
        "d//*.py",
        "*/f/*.py",
        "*/",
        "**/*.py",
        "nothing*",
        "[[]x]",
        "d/[bc].py",
        "?.py",
    ):
        shell = subprocess.run(
            ["sh", "-c", f"for f in {pattern}; do [ -e $f ] && echo $f; done; true"],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        assert sorted(matching_files(tmp_path, pattern)) == sorted(name.replace("//", "/") for name in shell), pattern
    absolute = matching_files(tmp_path, f"{tmp_path}/*.py")
    assert list(absolute) == [f"{tmp_path}/a.py"]


@pytest.mark.parametrize("level", ["verified", "reduced"])
@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize(
    "options",
    [
        r"--include='prod.tf\vars'",
        "--include='prod.tfvar[[:alpha:]]'",
        "--exclude='[^p]rod.*' --exclude-dir=certs --exclude-dir=conf",
        "--exclude-dir='[^d]eploy' --exclude-dir=certs --exclude-dir=conf",
    ],
)
def test_a_pattern_that_grep_reads_in_its_own_way_leaves_no_file_out(
    options: str, mode: Mode, level: SandboxLevel, folder: Path
) -> None:
    command = f"grep -rh X {options} ."
    ran = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=True)
    assert SECRET in ran.stdout
    assert isinstance(decide(folder, command, level, mode), NeedsApproval)


@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize(
    "command",
    [
        "grep -rh X direct",
        "grep -rh X ./direct/.",
        "grep -rh X self/deploy",
        "grep -Rh X far",
        "grep -Rh --include='*.txt' X files",
        "diff -rN direct src",
        "diff -N far/near/direct src",
        "rg -L X far",
        "rg X direct",
        "rg --follow X files",
    ],
)
def test_a_folder_is_read_through_the_links_to_it(command: str, mode: Mode, folder: Path) -> None:
    (folder / "direct").symlink_to("deploy")
    (folder / "self").symlink_to(".")
    for name, target in (
        ("far/near", "../near"),
        ("near/direct", "../direct"),
        ("files/a.txt", "../deploy/prod.tfvars"),
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(target)
    assert isinstance(decide(folder, command, "verified", mode), NeedsApproval)
    assert isinstance(decide(folder, "grep -rh X src", "verified", mode), Allowed)
