"""Git for the user: status, stage, commit, branch, push and pull requests, without running a repository's programs."""

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.workspace import git_commands, git_repository
from core.workspace.git_repository import GitFile, GitRepository
from core.workspace.launcher import CommandRequest
from core.workspace.sandbox import Sandbox
from core.workspace.worktrees import create_worktree
from tests.core.workspace.commands import await_, open_sandbox
from tests.core.workspace.ground import names


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, encoding="utf-8"
    ).stdout.strip()


@pytest.fixture(autouse=True)
def identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use settings of git that belong to this test."""
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = A. Berg\n\temail = berg@example.org\n[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    config.rename(tmp_path / ".gitconfig")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.py").write_text("x = 1\n")
    git(folder, "add", "a.py")
    git(folder, "commit", "-q", "-m", "Start\n\nThe first commit.")
    return folder


def spy(tmp_path: Path) -> tuple[Path, Path]:
    """Return a program that leaves a mark, and the mark."""
    program, mark = tmp_path / "spy", tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat\n")
    program.chmod(0o755)
    return program, mark


def add_hook(repository: Path, name: str, program: Path) -> None:
    hook = repository / ".git" / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(program.read_text())
    hook.chmod(0o755)


def bare_remote(repository: Path, tmp_path: Path) -> Path:
    remote = tmp_path / "remote.git"
    remote.mkdir()
    git(remote, "init", "-q", "--bare")
    git(repository, "remote", "add", "origin", str(remote))
    return remote


def commit(work: GitRepository, message: str) -> str:
    return work.commit(message, work.status())


def push(work: GitRepository) -> str:
    return work.push(work.status())


def open_pull_request(work: GitRepository, title: str, body: str) -> str:
    return work.open_pull_request(title, body, work.status())


def test_changes_are_staged_committed_and_branched(repository: Path) -> None:
    (repository / "a.py").write_text("x = 2\n")
    (repository / "new file.py").write_text("")
    (repository / "ümläut.py").write_text("")
    work = GitRepository(repository)
    status = work.status()
    assert status.branch == "main" and status.last_message == "Start\n\nThe first commit." and not status.programs
    assert status.files == (
        GitFile("a.py", "", "M"),
        GitFile("new file.py", "", "?"),
        GitFile("ümläut.py", "", "?"),
    )
    work.stage(["a.py", "ümläut.py"], True)
    assert [file.path for file in work.status().staged] == ["a.py", "ümläut.py"]
    work.stage(["ümläut.py"], False)
    assert [file.path for file in work.status().staged] == ["a.py"]
    work.create_branch("fix/x")
    name = commit(work, "Change x\n\n# not a comment")
    assert git(repository, "log", "-1", "--format=%h %D %B") == f"{name} HEAD -> fix/x Change x\n\n# not a comment"
    assert [file.path for file in work.status().files] == ["new file.py", "ümläut.py"]


def index_of(repository: Path) -> str:
    return git(repository, "diff", "--cached", "--name-only")


@pytest.mark.parametrize(
    "interference",
    [
        ["sh", "-c", "echo evil > evil.py; git add evil.py"],
        ["sh", "-c", "echo evil > a.py; git add a.py"],
        ["git", "reset", "-q"],
        ["git", "rm", "-q", "--cached", "b.py"],
        ["git", "commit", "-q", "--allow-empty", "-m", "Theirs"],
        ["git", "checkout", "-q", "-b", "theirs"],
        ["git", "checkout", "-q", "--detach"],
    ],
)
def test_only_what_was_shown_is_committed(repository: Path, interference: list[str]) -> None:
    (repository / "a.py").write_text("x = 2\n")
    (repository / "b.py").write_text("")
    work = GitRepository(repository)
    work.stage(["a.py", "b.py"], True)
    shown = work.status()
    subprocess.run(interference, cwd=repository, check=True)
    before, staged = git(repository, "rev-parse", "HEAD"), index_of(repository)
    with pytest.raises(Problem, match="not what was shown"):
        work.commit("Change x", shown)
    assert git(repository, "rev-parse", "HEAD") == before and index_of(repository) == staged
    if staged:
        assert work.commit("Change x", work.status()) in git(repository, "rev-parse", "HEAD")


def test_what_is_staged_while_the_commit_runs_stays_staged(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "a.py").write_text("x = 2\n")
    work = GitRepository(repository)
    work.stage(["a.py"], True)
    shown = work.status()
    slow = tmp_path / "bin" / "git"  # stages more, or commits, just before git commits
    slow.parent.mkdir()
    for act, error in (("git add evil.py", ""), ("git commit -q --allow-empty --only -m Theirs", "not what was shown")):
        (repository / "evil.py").write_text("evil")
        slow.write_text(
            f'#!/bin/sh\nif [ "$1" = commit ]; then (unset GIT_INDEX_FILE; PATH=/usr/bin:/bin; {act}); fi\n'
            'exec /usr/bin/git "$@"\n'
        )
        slow.chmod(0o755)
        with monkeypatch.context() as patch:
            patch.setattr(git_commands, "require_git", lambda *_: str(slow))
            if error:
                (repository / "a.py").write_text("x = 3\n")
                work.stage(["a.py"], True)
                with pytest.raises(Problem, match=error):
                    work.commit("Change x again", work.status())
                assert git(repository, "log", "--format=%s") == "Theirs\nChange x\nStart"
            else:
                work.commit("Change x", shown)
                assert git(repository, "show", "--format=", "--name-only", "HEAD") == "a.py"
        assert index_of(repository) == ("a.py\nevil.py" if error else "evil.py")


def test_what_a_hook_stages_is_committed_and_does_not_stay_staged(repository: Path, tmp_path: Path) -> None:
    hook = tmp_path / "format"
    hook.write_text("#!/bin/sh\necho 'x = 5' > a.py; git add a.py\n")
    add_hook(repository, "pre-commit", hook)
    (repository / "a.py").write_text("x=5\n")
    work = GitRepository(repository, run_programs=True)
    work.stage(["a.py"], True)
    commit(work, "Change x")
    assert git(repository, "show", "HEAD:a.py") == "x = 5" and not git(repository, "status", "--porcelain")


def test_a_commit_writes_through_no_link(repository: Path, tmp_path: Path) -> None:
    """A command could put one where the index is written before it replaces the former one."""
    outside = tmp_path / "notes"
    outside.write_text("mine\n")
    add_hook(repository, "post-commit", spy(tmp_path)[0])
    for name in ("index.journeyman", "index.lock.journeyman"):
        (repository / ".git" / name).symlink_to(outside)
    (repository / "a.py").write_text("x = 5\n")
    work = GitRepository(repository, run_programs=True)
    work.stage(["a.py"], True)
    before = names(repository / ".git")
    commit(work, "Change x")
    assert outside.read_text() == "mine\n"
    assert not (repository / ".git" / "index").is_symlink() and not git(repository, "status", "--porcelain")
    assert set(names(repository / ".git")) <= {*before, "COMMIT_EDITMSG", "ORIG_HEAD"}


def test_only_commits_that_were_shown_are_pushed_and_only_there(repository: Path, tmp_path: Path) -> None:
    remote, other = bare_remote(repository, tmp_path), tmp_path / "elsewhere.git"
    git(tmp_path, "clone", "-q", "--bare", str(remote), str(other))
    work = GitRepository(repository, run_programs=True)
    shown = work.status()
    git(repository, "commit", "-q", "--allow-empty", "-m", "Not shown")
    assert work.push(shown) == "origin/main"
    assert git(remote, "log", "--format=%s", "main") == "Start" and work.status().ahead == 1
    shown = work.status()
    git(repository, "config", "remote.origin.pushurl", str(other))
    with pytest.raises(Problem, match=r"would run programs|not what was shown"):
        work.push(shown)
    with pytest.raises(Problem, match=r"would run programs|not what was shown|No program for pull"):
        work.open_pull_request("Title", "", shown)
    assert not git(other, "branch", "--list")


def test_programs_that_were_not_shown_do_not_run(repository: Path, tmp_path: Path) -> None:
    program, mark = spy(tmp_path)
    (repository / "a.py").write_text("x = 2\n")
    work = GitRepository(repository, run_programs=True)
    work.stage(["a.py"], True)
    shown = work.status()
    add_hook(repository, "pre-commit", program)
    with pytest.raises(Problem, match="would run programs"):
        work.commit("Change", shown)
    assert not mark.exists()
    work.commit("Change", work.status())
    assert mark.exists()


def test_a_first_commit_a_renamed_and_a_deleted_file(tmp_path: Path, repository: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    (empty / "b.txt").write_text("b\n" * 20)
    fresh = GitRepository(empty)
    fresh.stage(["b.txt"], True)
    fresh.stage(["b.txt"], False)
    fresh.stage(["b.txt"], True)
    commit(fresh, "Begin")
    (empty / "b.txt").rename(empty / "c.txt")
    fresh.stage(["b.txt", "c.txt"], True)
    assert fresh.status().files == (GitFile("c.txt", "R", ""),)
    (repository / "a.py").unlink()
    work = GitRepository(repository)
    work.stage(["a.py"], True)
    assert work.status().files == (GitFile("a.py", "D", ""),)


def test_names_of_files_are_not_options_or_patterns(repository: Path) -> None:
    for name in ("-A", "*.py", ":!x", "a\nb"):
        (repository / name).write_text("")
    work = GitRepository(repository)
    work.stage(["*.py", ":!x"], True)
    assert sorted(file.path for file in work.status().staged) == ["*.py", ":!x"]
    work.stage(["-A", "a\nb"], True)
    assert len(work.status().staged) == 4


def test_a_subfolder_works_on_its_whole_repository(repository: Path) -> None:
    (repository / "sub").mkdir()
    (repository / "sub" / "b.py").write_text("")
    work = GitRepository(repository / "sub")
    assert [file.path for file in work.status().files] == ["sub/b.py"]
    work.stage(["sub/b.py"], True)
    assert commit(work, "Add b")


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda work: commit(work, "Nothing"), "Nothing is staged"),
        (lambda work: commit(work, "  "), "There is no message"),
        (lambda work: work.create_branch("main"), "exists already"),
        (lambda work: work.create_branch("--force"), "not a valid branch name"),
        (lambda work: work.create_branch("a..b"), "not a valid branch name"),
        (lambda work: push(work), "no remote"),
        (lambda work: open_pull_request(work, "T", ""), "No program for pull requests"),
    ],
)
def test_errors_are_said_in_words(repository: Path, act: object, words: str) -> None:
    assert callable(act)
    with pytest.raises(Problem, match=words):
        act(GitRepository(repository))


def test_a_missing_identity_and_a_missing_repository_are_said(tmp_path: Path, repository: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    (repository / "a.py").write_text("x = 2\n")
    work = GitRepository(repository)
    work.stage(["a.py"], True)
    with pytest.raises(Problem, match="does not know your name"):
        commit(work, "Change")
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(Problem, match="not in a git repository"):
        GitRepository(plain).status()


def test_a_push_reports_where_to_and_what_the_remote_refuses(repository: Path, tmp_path: Path) -> None:
    remote = bare_remote(repository, tmp_path)
    work = GitRepository(repository, run_programs=True)
    assert push(work) == "origin/main"
    assert work.status().upstream == "origin/main" and git(remote, "log", "--format=%s", "main") == "Start"
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(remote), str(other))
    (other / "b").write_text("")
    git(other, "add", "b")
    git(other, "commit", "-q", "-m", "Theirs")
    git(other, "push", "-q")
    (repository / "a.py").write_text("x = 2\n")
    work.stage(["a.py"], True)
    commit(work, "Ours")
    assert work.status().ahead == 1
    with pytest.raises(Problem, match="commits that you do not have"):
        push(work)


@pytest.mark.parametrize("hook", ["pre-commit", "commit-msg", "post-commit", "post-checkout", "reference-transaction"])
def test_hooks_run_only_if_the_user_allows_them(repository: Path, tmp_path: Path, hook: str) -> None:
    program, mark = spy(tmp_path)
    add_hook(repository, hook, program)
    (repository / "a.py").write_text("x = 2\n")
    work = GitRepository(repository)
    assert work.status().programs == (f"hook {hook}",) and not work.status().blocked
    work.stage(["a.py"], True)
    work.create_branch("other")
    commit(work, "Change")
    assert not mark.exists()
    allowed = GitRepository(repository, run_programs=True)
    (repository / "a.py").write_text("x = 3\n")
    allowed.stage(["a.py"], True)
    allowed.create_branch("third")
    commit(allowed, "Change again")
    assert mark.exists()


@pytest.mark.parametrize(
    "settings",
    [
        [("core.fsmonitor", "{spy}")],
        [("core.hooksPath", "{hooks}")],
        [("filter.x.clean", "{spy}")],
        [("filter.x.process", "{spy}")],
        [("core.sshCommand", "{spy}")],
        [("gpg.program", "{spy}"), ("commit.gpgSign", "true")],
        [("diff.external", "{spy}")],
        [("core.pager", "{spy}"), ("pager.status", "true")],
        [("core.editor", "{spy}")],
        [("alias.status", "!{spy}")],
        [("credential.helper", "!{spy}")],
        [("include.path", "{included}")],
        [("remote.origin.url", "ext::{spy}")],
    ],
)
def test_settings_of_a_hostile_repository_run_nothing(
    repository: Path, tmp_path: Path, settings: list[tuple[str, str]]
) -> None:
    program, mark = spy(tmp_path)
    add_hook(repository, "pre-commit", program)
    included = tmp_path / "included"
    included.write_text(f'[filter "x"]\n\tclean = {program}\n')
    places = {"spy": str(program), "hooks": str(repository / ".git" / "hooks"), "included": str(included)}
    for key, value in settings:
        git(repository, "config", key, value.format(**places))
    (repository / ".gitattributes").write_text("* filter=x diff=x\n")
    (repository / "a.py").write_text("x = 2\n")
    status = GitRepository(repository).status()
    work = GitRepository(repository)
    assert status.blocked and status.files == () and settings[0][0].casefold() in " ".join(status.programs).casefold()
    with pytest.raises(Problem, match="would run programs"):
        work.stage(["a.py"], True)
    with pytest.raises(Problem, match="would run programs"):
        commit(work, "Change")
    with pytest.raises(Problem, match="would run programs"):
        push(work)
    with pytest.raises(Problem, match="would run programs"):
        open_pull_request(work, "Title", "")
    assert not mark.exists()


def test_settings_that_name_another_folder_are_refused(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "core.worktree", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(Problem, match="name another folder"):
        GitRepository(repository).status()


def test_a_filter_runs_if_the_user_allows_it(repository: Path, tmp_path: Path) -> None:
    program, mark = spy(tmp_path)
    git(repository, "config", "filter.x.clean", str(program))
    (repository / ".gitattributes").write_text("* filter=x\n")
    allowed = GitRepository(repository, run_programs=True)
    assert not allowed.status().blocked
    allowed.stage([".gitattributes"], True)
    assert mark.exists()


def test_a_push_to_a_local_repository_asks_because_of_its_hooks(repository: Path, tmp_path: Path) -> None:
    program, mark = spy(tmp_path)
    evil = repository / "evil.git"
    evil.mkdir()
    git(evil, "init", "-q", "--bare")
    hook = evil / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(program.read_text())
    hook.chmod(0o755)
    for url in ("./evil.git", f"file://{evil}", str(evil)):
        git(repository, "config", "remote.origin.url", url)
        status = GitRepository(repository).status()
        assert any("local repository" in name for name in status.programs), url
        with pytest.raises(Problem, match="would run programs"):
            push(GitRepository(repository))
    for settings in (["url", "./evil.git"], ["pushurl", "./evil.git"], ["pushurl", "./evil.git", "https://host/a"]):
        git(repository, "config", "--unset-all", "remote.origin.url")
        git(repository, "config", "remote.origin.url", "https://github.com/a/b")
        for url in settings[1:]:  # git pushes to all of them
            git(repository, "config", "--add", f"remote.origin.{settings[0]}", url)
        status = GitRepository(repository).status()
        assert "./evil.git" in status.remote_url and any("local repository" in name for name in status.programs)
        with pytest.raises(Problem, match="would run programs"):
            push(GitRepository(repository))
    git(repository, "config", "--unset-all", "remote.origin.pushurl")
    git(repository, "config", "--unset-all", "remote.origin.url")
    assert not mark.exists()
    for url in ("git@github.com:a/b.git", "https://github.com/a/b", "ssh://git@host/a"):
        git(repository, "config", "remote.origin.url", url)
        assert GitRepository(repository).status().programs == ()


def test_a_submodule_cannot_run_programs_either(repository: Path, tmp_path: Path) -> None:
    program, mark = spy(tmp_path)
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "commit", "-q", "--allow-empty", "-m", "Inner")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    git(repository, "commit", "-q", "-m", "Add a submodule")
    git(repository / "sub", "config", "core.fsmonitor", str(program))
    (repository / "sub" / "x").write_text("")
    status = GitRepository(repository).status()
    assert not mark.exists() and not status.blocked


@pytest.mark.parametrize(
    ("program", "url", "words"),
    [
        ("gh", "git@github.com:a/b.git", ["pr", "create", "--title=Fix -x", "--body=Why", "--head=main"]),
        (
            "glab",
            "https://gitlab.com/a/b",
            ["mr", "create", "--title=Fix -x", "--description=Why", "--source-branch=main", "--yes"],
        ),
    ],
)
def test_a_pull_request_is_opened_by_the_program_of_the_host(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, url: str, words: list[str]
) -> None:
    programs, record = tmp_path / "bin", tmp_path / "record"
    programs.mkdir()
    for name in ("gh", "glab"):
        fake = programs / name
        fake.write_text(
            f'#!/bin/sh\nfor w in "$@"; do echo "$w"; done > {record}\nenv | grep GIT_CONFIG_VALUE >> {record}.env\n'
            "echo Creating; echo https://host.example/pull/7\n"
        )
        fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    git(repository, "remote", "add", "origin", url)
    work = GitRepository(repository)
    assert work.status().pull_request_program == program
    assert open_pull_request(work, "Fix -x", "Why") == "https://host.example/pull/7"
    assert record.read_text().splitlines() == words
    assert f"={os.devnull}" in Path(f"{record}.env").read_text(), "hooks stay disabled in the git that it runs"
    (programs / program).write_text("#!/bin/sh\necho 'You are not logged in' >&2; exit 4\n")
    with pytest.raises(Problem, match=f"You are not logged in.*{program} auth login"):
        open_pull_request(work, "Fix", "")


def test_git_of_the_folder_is_not_run(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, mark = spy(tmp_path)
    evil = repository / "bin" / "git"
    evil.parent.mkdir()
    evil.write_text(program.read_text())
    evil.chmod(0o755)
    monkeypatch.setenv("PATH", f"{evil.parent}{os.pathsep}{os.environ['PATH']}")
    assert GitRepository(repository).status().root == repository
    monkeypatch.setenv("PATH", str(evil.parent))
    with pytest.raises(Problem, match="Git is not installed"):
        GitRepository(repository).status()
    assert not mark.exists()


def test_a_nested_repository_runs_no_program(repository: Path, tmp_path: Path) -> None:
    program, mark = spy(tmp_path)
    nested = repository / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    (nested / ".gitattributes").write_text("* filter=e\n")
    (nested / "x").write_text("x\n")
    git(nested, "add", "-A")
    git(nested, "commit", "-qm", "x")
    git(repository, "add", "nested")
    git(repository, "commit", "-qm", "nested")
    for key in ("filter.e.clean", "filter.e.smudge", "core.fsmonitor"):
        git(nested, "config", key, str(program))
    git(nested, "config", "filter.e.required", "true")
    os.utime(nested / "x", (1, 1))
    remote = bare_remote(repository, tmp_path)
    git(repository, "config", "remote.origin.url", f"file://{remote}")
    work = GitRepository(repository)
    work.status()
    with pytest.raises(Problem):
        work.commit("Nothing", work.status())
    (repository / "a.py").write_text("x = 3\n")
    work.stage(["a.py", "nested"], True)
    work.stage(["nested"], False)
    work.stage(["nested"], True)
    work.commit("Change x", work.status())
    work.create_branch("other")
    with contextlib.suppress(Problem):  # the hooks of a local remote are programs
        work.push(work.status())
    assert not mark.exists()


def test_deleted_files_replaced_files_and_new_repositories_are_staged(repository: Path) -> None:
    (repository / "a.py").unlink()
    (repository / "b").write_text("")
    git(repository, "add", "b")
    git(repository, "commit", "-qm", "b")
    (repository / "b").unlink()
    (repository / "b").mkdir()
    (repository / "b" / "c").write_text("")
    git(repository, "init", "-q", "new")
    git(repository / "new", "commit", "-q", "--allow-empty", "-m", "new")
    work = GitRepository(repository)
    work.stage([file.path for file in work.status().files], True)
    assert git(repository, "diff", "--cached", "--no-renames", "--name-status") == "D\ta.py\nD\tb\nA\tb/c\nA\tnew"


def redirect(repository: Path, program: Path) -> None:
    """Let `commondir` name a git folder in which a filter is set, as a command of an agent could."""
    common = repository / ".build" / "c"
    (common / "info").mkdir(parents=True)
    (common / "config").write_text(f'[core]\n\tbare = false\n[filter "x"]\n\tclean = {program}\n')
    (common / "info" / "attributes").write_text("* filter=x\n")
    for name in ("objects", "refs", "HEAD"):
        (common / name).symlink_to(repository / ".git" / name)
    (repository / ".git" / "commondir").write_text("../.build/c\n")


def test_git_reads_the_settings_of_the_repository_itself(repository: Path, tmp_path: Path) -> None:
    """A command can create `commondir` between the check of the settings and the call of git that uses them."""
    program, mark = spy(tmp_path)
    redirect(repository, program)
    (repository / "a.py").write_text("x = 2\n")
    git(repository, "status", "--porcelain")
    assert mark.exists(), "plain git runs the filter"
    mark.unlink()
    (repository / "a.py").write_text("x = 3\n")
    assert "M a.py" in git_commands.run_git(repository, "status", "--porcelain")
    work = GitRepository(repository)
    assert not work.status().blocked
    work.stage(["a.py"], True)
    commit(work, "Three")
    (repository / "a.py").write_text("x = 4\n")
    with pytest.raises(Problem, match="uncommitted changes"):
        create_worktree(repository, "one")
    assert not mark.exists() and git(repository, "--git-dir=.git", "log", "-1", "--format=%s") == "Three"


def test_git_is_not_run_while_a_command_can_change_its_settings(repository: Path) -> None:
    """Landlock does not prevent that; under bubblewrap, the settings are read-only."""

    async def status_during(sandbox: Sandbox) -> None:
        running = await sandbox.start(CommandRequest("sleep 60", repository))
        try:
            if sandbox.name == "landlock":
                with pytest.raises(Problem, match="was not run"):
                    GitRepository(repository).status()
                with pytest.raises(Problem, match="was not run"):
                    create_worktree(repository, "one")
            else:
                GitRepository(repository).status()
        finally:
            await running.kill_and_wait()
        GitRepository(repository).status()

    for name in ("landlock", "bubblewrap"):
        with open_sandbox(name) as sandbox:
            await_(status_during(sandbox))


@pytest.mark.parametrize("kind", ["endless", "waiting", "secret"])
def test_only_a_real_index_is_copied(kind: str, repository: Path) -> None:
    index = repository / ".git" / "index"
    index.unlink()
    if kind == "endless":
        index.symlink_to("/dev/zero")
    elif kind == "secret":
        (repository.parent / "secret").write_text("key")
        index.symlink_to(repository.parent / "secret")
    else:
        os.mkfifo(index)
    with pytest.raises(Problem, match="cannot be read"):
        git_repository._read_index(index)
