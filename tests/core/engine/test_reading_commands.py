"""In the modes that do not ask about reading, a command that only reads the folder needs no approval either."""

import shlex
import socket
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from core.domain.command_line import UnclearLine, read_line
from core.domain.command_tables import folder_reads, known_programs
from core.domain.events import ToolReturned
from core.domain.known_commands import only_reads
from core.domain.modes import Mode
from core.domain.permissions import Allowed, Denied, NeedsApproval, SandboxLevel
from core.engine.policy.command_reach import read_reach
from core.engine.policy.folder_inspection import (
    has_plain_git,
    leads_outside,
    matching_files,
    outside_links,
    searches_folder,
    secret_files,
)
from core.engine.policy.policy import evaluate_call
from core.workspace.broker import FileBroker
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies
from tests.core.engine.policy_calls import FACTS, act, rule, verdict
from tests.core.workspace.commands import open_sandbox

GIT = replace(FACTS, plain_git=lambda: True)
LEVELS: tuple[SandboxLevel, ...] = ("verified", "reduced")

READS = [
    "cat src/app.py", "head -20 README.md", "sed -n '10,40p' src/app.py", "grep -rn '^import' src",
    "cat src/app.py | grep -v '^#' | wc -l", "cd src && ls -la", "find . -name '*.py'", "tail -5 log.txt",
    "command -v node && ls src", "jq '.dependencies | keys' package.json", "git --no-pager log --oneline -5",
    "git branch -a", "git clean -nd", "date +%F", "git tag --list 'v1.*'", "git branch --contains main",
    "ls src/*.ts", "cat *.md | wc -l", "cat x*", "cat ?env", "tr a b < names.txt", "cat a b 2>/dev/null",
    "ls -la 2>&1 | head",
    "cat <<'E' | sort\nx\nE", "find . -name '*.py' -exec grep -l main {} +", "find . -name x -exec head -3 {} \\;",
    "# look\nls", "echo '--- files ---'; ls", "printf '%s\\n' a b", "yq .services compose.yml",
    "sqlite3 -readonly app.db .schema", "unzip -l x.zip", "tar tzf x.tgz",
    "grep -rn /api/users src", "rg '/v1/' src", "[ -f x ] && ls", "[ -d node_modules ] && echo yes || echo no",
    "env", "env | sort",
    "awk -F, 'NR>1 {s+=$3} END {print s}' sales.csv", "awk '{print $1, $NF}' a | sort",
    "awk '/^def / {n++} END {print n}' a",
    "awk 'length($0) > 120 {print FILENAME \": \" FNR}' a b", "awk '{if ($1 >= 3) print NR}' a",
]  # fmt: skip
# These may run code of the folder, so that they need no approval only where the sandbox enforces reading.
ENFORCED = [
    "git status", "git status -sb 2>&1 | head",
    "git config --get-all a.b",
    "git grep -n main", "git grep -n TODO -- '*.py' src", "find src -name '*.ts' | xargs wc -l",
    "git ls-files -z | xargs -0 grep -l asyncio", "find . -name '*.py' | xargs -n 1 -r head -5", "ls | xargs",
    "cargo tree -d", "go list ./...", "python3 -m json.tool x", "npm ls", "pip list",
    "cargo --version", "less README.md", "man -k git | head",
    "python3 -V", "node -v", "poetry show", "terraform validate", "ps -e", "ss -t",
]  # fmt: skip
# These only read, but from a network or a service, which no command reaches, whether it is approved or not.
CLIENTS = [
    "npm outdated", "npm view x", "docker ps -a", "docker images", "docker compose ps", "gh pr diff 1", "gh pr view 1",
    "aws s3 ls", "journalctl", "kubectl get pods", "terraform plan", "systemctl status x", "curl localhost:1",
    "curl -s http://127.0.0.1:3000/a | jq .", "curl -sS -o /dev/null http://localhost:8000/", "helm list -A",
    # The repository there may name programs; only a sandbox that shows no secret makes them harmless.
    "git -C sub log", "cd sub && git status", "git -C sub status -s",
]  # fmt: skip
MORE_THAN_READING = [
    # outside the folder, or a secret
    "cat ../x", "cat /etc/passwd", "ls ~", "cd .. && ls", "cd sub/../.. && cat x", "cat server.pem",
    "sort < server.key",
    "tr a b < ../x", "cat src/../../x", "head -n1 -- ../x", "grep -e x ../y", "jq . terraform.tfstate",
    # writes
    "cat a > b", "cat a >> b", "sort -o a b", "sort a --output=b", "uniq a b", "xxd a b", "sed -n 'w x' a", "tee x",
    "sed -i 's/a/b/' x", "find . -delete", "find . -fprint x", "tree -o x", "diff a b > c", "date -s 2020-01-01",
    "git branch new", "git tag v1", "git clean -f", "git remote add a b", "hostname evil",
    "git log --output=x", "git reflog expire --all", "git stash list; git stash drop",
    # runs something
    "./ls", "bin/cat x", "find . -exec ./x {} +", "fd -x ./x", "rg --pre ./x y", "sort --compress-program=./x a",
    "awk 'BEGIN{system(1)}' x", "awk '{print > \"x\"}' a", "awk '{print $1 > $2}' a", "awk '{print | \"sh\"}' a",
    "awk 'BEGIN {\"id\" | getline x; print x}'", "awk 'BEGIN {while ((getline x < \"a\") > 0) print x}'",
    "awk 'BEGIN {ARGV[1]=\"/etc/passwd\"; ARGC=2} {print}'", "awk '@load \"filefuncs\"; {print}' a",
    "awk '/\"/ {system(\"x\")} /\"/' a", "awk '{print \"a\\\"\" > \"b\"}' a",
    "awk 'BEGIN {f = \"sys\" \"tem\"; @f(\"x\")}'", "awk '/}/ {print > $1}' a", "awk 'BEGIN { # }\n print > $1 }' a",

    "awk '{printf \"%s\", $1 >> \"b\"}' a", "awk '{print}' x=1 a", "awk '{a = $1 >b}' c",
    "ls | xargs rm", "ls | xargs ./x", "ls | xargs sh -c x", "ls | xargs -a names cat", "ls | xargs -I {} cat {}",
    "ls | xargs sort -o x", "ls | xargs uniq", "ls | xargs sed -n 'w x'",
    "env X=1", "env -u A", "env -0", "[ -f /etc/passwd ]", "[ -v 'a[$(x)]' ]", "[ -f ../x ]", "[ x",
    "grep /etc/passwd /etc/passwd", "grep x /etc/passwd",
    "tar tf /x.tar", "sed -n 1p /etc/passwd",
    "git grep x -- ../y", "git grep x HEAD -- y", "git grep x -- ':!a'",
    "sed -n '1e' x", "git -c core.pager=./x log",
    "git -C ../sub log", "git -C sub log -p", "git -C sub -c core.pager=./x log", "cd ../sub && git status",
    "git --git-dir=x log", "LC_ALL=C ls", "PATH=. ls",
    "git --exec-path=. log", "ls | ./x", "cat a | sh",
    "which ls && ./x",
    "make -n",
    "cat a #; rm b", "ls $(./x)", "cat `x`", "jq -f x y",
    "jq 'import \"a\" as $a; .' x", "jq env x",
    "file -f x", "file -m x y", "wc --files0-from=x", "grep -f x y",
    # shows the contents of earlier versions, or looks into submodules
    "git log -p", "git log -Up", "git log --patch", "git log -c", "git stash list -p", "git show HEAD", "git diff",
    "git describe --dirty", "git cat-file -p HEAD",
    "git grep x HEAD", "git grep --cached x", "git grep -O./x y",
    # reaches a service or the network
    "git ls-remote", "docker pull x", "kubectl delete pod x", "gh pr create", "aws s3 rm s3://a/b", "curl example.org",
    "curl -d @x localhost:1", "curl -o x localhost:1", "terraform apply", "terraform plan -out=x", "less -o x y",
    "less '+!sh' x", "less ../x", "man -P ./x ls", "man -l ./x", "helm template ./chart --post-renderer ./x",
    "kubectl get pods --kubeconfig=x", "docker --config x ps", "gh pr view 1 --web", "aws s3 ls --endpoint-url x",
    # may write although it begins like a command that reads
    "find . -exec rm {} +", "find . -exec cat {} + -delete", "find . -execdir cat {} +", "find . -exec ./cat {} +",
    "find . -exec sh -c x {} +", "find . -fprint x -exec cat {} +", "tar xf x.tar", "tar tf x --to-command=./x",
    "tar tf host:x", "unzip x.zip", "printf -v PATH x", "npm run --version", "npx x --version", "git tag v1 2>&1",
    "cat d/**",
    "ls 2> err", "X=1 ls", "source .venv/bin/activate && ls",
    "find . -exec id {} +", "set -x; ls", "sqlite3 app.db .schema", "./x --version",
    "bin/cargo tree", "bin/docker ps", "git fetch", "git remote show origin",
]  # fmt: skip


CHANGES = [
    "uniq a b", "uniq -c a b", "xxd a b", "python3 -m json.tool a b", "hostname evil", "hostname -F x", "date 01010000",
    "git branch new", "git branch -v new", "git branch --abbrev new", "git branch --sort=x new main", "git tag v1",
    "git tag --sort=x v1", "git grep --textconv x", "git log --output=x", "sed -n 'w x' a", "sed -n '1e ./x' a",
    "awk 'BEGIN{system(\"./x\")}'", "awk '{print > \"x\"}' a", "awk -dx '{print $1}' a", "sort -T x a", "sort -ox a",
    "find . -fprint x", "find . -delete", "tree -o x", "yq --in-place . a", "uv tree", "uv version 2.0",
    "uv version --bump=major", "poetry version patch", "go list -mod=mod ./...", "terraform plan -out=x",
    "terraform providers mirror x",
    "rustc --print native-static-libs x.rs", "kubectl get pods --kubeconfig=x", "curl -w '%output{x}y' localhost",
    "sqlite3 -readonly app.db \"select data from fsdir('x')\"", "tee x",
    "lsof -D b", "npm audit fix", "git config a.b c",
]  # fmt: skip
CHANGES_NOTHING = [
    "uniq a", "xxd a", "python3 -m json.tool a", "hostname", "date +%F", "git branch --list 'v*'", "git branch -av",
    "git tag -l 'v*'", "git tag --contains main", "sed -n '1,5p' a b", "awk '{print $1}' a b", "sort a b",
    "uv tree --frozen", "poetry version", "terraform providers", "curl -w '%{http_code}' localhost",
    "git config --get user.name",
]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "asks"),
    [
        ("find . -exec cat {} +", True),
        ("find . -name 'h*' -exec cat {} +", True),
        ("find sub -type f -o -name x -exec cat {} +", True),
        ("find -L . -type f -exec cat {} +", True),
        ("find . ! -type f -exec cat {} +", True),
        ("find . -type f -exec cat {} +", False),
        ("find . -name '*.py' -exec cat {} +", False),
    ],
)
def test_find_follows_no_link_that_leads_outside(command: str, asks: bool, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "hosts").symlink_to("/etc/hosts")
    (tmp_path / "near").symlink_to("sub")
    facts = replace(FACTS, outside_links=partial(outside_links, tmp_path))
    assert isinstance(verdict(act("run", command=command), facts=facts), NeedsApproval if asks else Allowed)
    (tmp_path / "sub" / "hosts").unlink()
    assert outside_links(tmp_path) == ()


@pytest.mark.parametrize("command", CHANGES)
def test_a_reading_verb_that_writes_or_runs_code_does_not_count_as_reading(command: str) -> None:
    assert not only_reads(shlex.split(command))
    line = read_line(f"find . -exec {command} {{}} +")
    assert isinstance(line, UnclearLine) or not read_reach(line, "/work", lambda _: (), str).is_understood


@pytest.mark.parametrize("command", CHANGES_NOTHING)
def test_a_reading_verb_counts_as_reading(command: str) -> None:
    assert only_reads(shlex.split(command))


@pytest.mark.parametrize("mode", ["ask", "accept-edits"])
@pytest.mark.parametrize("level", ["verified", "reduced"])
@pytest.mark.parametrize("command", READS)
def test_reading_needs_no_approval(command: str, level: SandboxLevel, mode: Mode) -> None:
    found = verdict(act("run", command=command), mode=mode, facts=replace(GIT, level=level))
    assert isinstance(found, Allowed) and found.read_only


@pytest.mark.parametrize("command", ENFORCED)
def test_what_may_run_code_of_the_folder_needs_a_sandbox_that_enforces_reading(command: str) -> None:
    call = act("run", command=command)
    found = verdict(call)
    assert isinstance(found, Allowed) and found.read_only
    assert isinstance(verdict(call, facts=replace(FACTS, level="reduced")), Allowed)
    secrets = replace(GIT, level="reduced", secret_files=lambda: (".env",))
    assert isinstance(verdict(call, facts=secrets), NeedsApproval), "Landlock does not hide the file from code"
    shown = replace(FACTS, secret_files=lambda: (".env", "credentials.json"))
    assert isinstance(verdict(call, facts=shown), NeedsApproval), "no sandbox hides every file with secrets"


@pytest.mark.parametrize("command", CLIENTS)
def test_a_client_that_only_reads_needs_no_approval_where_it_can_reach_nothing(command: str) -> None:
    call = act("run", command=command)
    unhidden = replace(FACTS, secret_files=lambda: ("server.pem",))
    for level in LEVELS:
        found = verdict(call, facts=replace(FACTS, level=level))
        assert isinstance(found, Allowed) and found.read_only
        shown = verdict(call, facts=replace(unhidden, level=level))
        assert isinstance(shown, NeedsApproval), "its plugins or settings could show the file"
    hidden = replace(FACTS, secret_files=lambda: (".env",))
    assert isinstance(verdict(call, facts=hidden), Allowed)
    assert isinstance(verdict(call, facts=replace(hidden, level="reduced")), NeedsApproval)
    online = verdict(call, facts=replace(FACTS, hosts=("example.org",)))
    assert isinstance(online, NeedsApproval) or "git" in command, "it could reach that"
    assert isinstance(verdict(call, facts=replace(FACTS, level="none")), NeedsApproval)
    assert isinstance(verdict(call, mode="ask-all"), NeedsApproval)


@pytest.mark.parametrize("command", MORE_THAN_READING)
def test_anything_more_needs_approval(command: str) -> None:
    modes: tuple[Mode, ...] = ("ask", "accept-edits")
    levels: tuple[SandboxLevel, ...] = ("verified", "reduced")
    for mode in modes:
        for level in levels:
            facts = replace(GIT, level=level)
            assert not isinstance(verdict(act("run", command=command), mode=mode, facts=facts), Allowed)


def test_other_modes_and_ask_rules_decide_as_before() -> None:
    call = act("run", command="cat src/app.py")
    assert isinstance(verdict(call, mode="ask-all", facts=GIT), NeedsApproval)
    assert isinstance(verdict(call, mode="plan", facts=GIT), Denied)
    assert isinstance(verdict(call, rule("cat *", "ask"), facts=GIT), NeedsApproval)
    assert isinstance(verdict(call, rule("cat *", "deny"), facts=GIT), Denied)
    assert isinstance(verdict(call, facts=replace(GIT, level="none")), NeedsApproval)
    assert isinstance(verdict(call, facts=replace(GIT, unsettled=("x",))), NeedsApproval)
    assert isinstance(verdict(call, facts=replace(GIT, hosts=("example.org",)), taint=["example.org"]), NeedsApproval)
    assert isinstance(evaluate_call(call, "ask", None, (), GIT), NeedsApproval)


@pytest.mark.parametrize(
    ("setup", "command"),
    [
        ("ln -s .env notes.txt; echo x > .env", "cat notes.txt"),
        ("ln -s /etc/hostname notes.txt", "cat notes.txt"),
        ("ln -s / top", "ls top"),
        ("mkdir .ssh; echo x > .ssh/k; ln -s .ssh notes", "cd notes && cat k"),
        ("echo x > ./--output=y", "sort *"),
        ("mkdir d; echo x > d/-o; echo x > d/z", "cd d && sort *"),
        ("echo x > server.pem", "grep -r x ."),
        ("echo x > server.pem", "grep x *"),
        ("mkdir d; echo x > d/server.key", "rg x d"),
        ("echo x > server.pem", "find . -name '*.py' -exec cat {} +"),
        ("ln -s .env notes.txt; echo x > .env", "sort < notes.txt"),
        ("echo x > .env; ln -s .env notes.txt", "cat n*"),
        ("ln -s /etc/hostname notes.txt", "cat n*"),
        ("mkdir d; cd d; seq 2000 | sed 's/^/x/' | xargs touch", "cat d/*"),
        # Landlock would not hide the file from programs that these configurations make git run.
        ("touch .env; git init -q; git config core.fsmonitor ./x", "git log"),
        ("touch .env; git init -q; git config log.showSignature true", "git log"),
        ("touch .env; git init -q; git init -q sub", "cd sub && git log"),
        ("touch .env; git init -q sub; git -C sub config core.pager ./x", "git log"),
        ("touch .env; git init -q --bare .", "git log"),
        ("touch .env; git init -q; mv .git g; ln -s g .git", "git log"),
        ("touch .env; git init -q; mv .git g; echo 'gitdir: g' > .git", "git log"),
        ("touch .env; git init -q; echo g > .git/commondir", "git log"),
    ],
)
def test_the_files_of_the_folder_are_looked_at(tmp_path: Path, setup: str, command: str) -> None:
    subprocess.run(["sh", "-ec", setup], cwd=tmp_path, check=True)
    with FileBroker(tmp_path) as broker:
        facts = replace(
            FACTS,
            workspace=str(tmp_path),
            level="reduced",
            resolve=broker.resolve,
            expand=lambda pattern: matching_files(tmp_path, pattern),
            secret_files=lambda: secret_files(tmp_path),
            leads_outside=lambda path: leads_outside(tmp_path, path),
            plain_git=lambda: has_plain_git(tmp_path),
        )
        assert not isinstance(verdict(act("run", command=command), facts=facts), Allowed)


def test_an_ordinary_repository_has_a_plain_configuration(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    assert has_plain_git(tmp_path)


def test_every_reading_command_is_in_the_table_of_tools() -> None:
    known = {command.words for program in known_programs().values() for command in program.commands}
    reads = folder_reads()
    assert (reads.paths | reads.pattern_first | reads.no_operands) <= known


@pytest.mark.parametrize("entry", ["", ".", "bin", "{folder}/bin", "{folder}"])
def test_programs_of_the_folder_do_not_count_as_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert not searches_folder(tmp_path)
    monkeypatch.setenv("PATH", f"/usr/bin:{entry.format(folder=tmp_path)}:/bin")
    assert searches_folder(tmp_path)
    facts = replace(GIT, searches_folder=lambda: searches_folder(tmp_path))
    assert isinstance(verdict(act("run", command="ls"), facts=facts), NeedsApproval)


def test_a_client_that_runs_unasked_reaches_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path / "home", tmp_path / "work") as scene:
            with socket.create_server(("127.0.0.1", 0)) as listener:
                listener.setblocking(False)
                port = listener.getsockname()[1]
                call = call_reply("run", command=f"curl -s http://127.0.0.1:{port}/a")
                session = await scene.start(scripted_replies(call, {"text": "done"}), mode="ask")
                await scene.engine.wait_idle(session)
                (returned,) = [event for event in await scene.events(session) if isinstance(event, ToolReturned)]
                assert returned.failed
                with pytest.raises(BlockingIOError):
                    listener.accept()

    with open_sandbox("bubblewrap"):
        run_bounded(test())


@pytest.mark.parametrize(
    ("sub", "command"),
    [(".", "git status --short"), ("sub", "git -C sub status --short"), ("sub", "cd sub && git status --short")],
)
def test_code_that_a_reading_command_runs_changes_nothing(sub: str, command: str, tmp_path: Path) -> None:
    """Git runs the program that the repository configures, in a folder that it cannot change."""

    folder = tmp_path / "work"
    (folder / sub).mkdir(parents=True)
    setup = "git init -q; printf '#!/bin/sh\\necho x > ran; echo ran >&2' > x; chmod +x x; touch y"
    subprocess.run(["sh", "-ec", f"{setup}; git config core.fsmonitor ./x"], cwd=folder / sub, check=True)

    async def test() -> None:
        async with open_engine(tmp_path / "home", folder) as scene:
            calls = scripted_replies(call_reply("run", command=command), {"text": "done"})
            session = await scene.start(calls, mode="ask")
            await scene.engine.wait_idle(session)
            (returned,) = [event for event in await scene.events(session) if isinstance(event, ToolReturned)]
            assert "?? y" in returned.output.head and "ran" in returned.output.head and not returned.failed
            assert not list(folder.rglob("ran"))

    with open_sandbox("bubblewrap"):
        run_bounded(test())
