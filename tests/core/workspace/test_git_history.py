"""A command that deletes the history of a repository, such as a script, loses nothing."""

import os
import shlex
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.tools.tool_context import NO_GRANT, CallGrant
from core.workspace import git_history
from core.workspace.command_record import RECORDS_FOLDER
from core.workspace.git_history import GitHistory
from core.workspace.history_store import HISTORY_FOLDER
from core.workspace.sandbox import Sandbox
from tests.core.tools.test_run import open_harness
from tests.core.tools.test_trusted_guard import kill_during, run_next, running
from tests.core.workspace.commands import await_, open_sandbox
from tests.core.workspace.ground import CANARY, Ground, create_ground

GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "PATH": os.environ["PATH"], "HOME": "/nonexistent"}
APPROVED = CallGrant(irreversible=True)
SETTINGS = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0")
# What scripts do; none of these lines asks, as the first word is a program of the folder.
LOSSES = [
    "rm -rf ./.git/* ../work*",
    "rm -rf .git/objects",
    "rm -rf .git/refs .git/packed-refs .git/HEAD",
    "find .git -type f -delete",
    "rm -f .git/objects/pack/*",
    "rm -f .git/objects/??/*; chmod 0 .git/objects",
    "rm -rf .git/objects; ln -s ../../outside .git/objects",
    "rm -rf .git/refs .git/HEAD; ln -s ../../outside .git/refs",
    "mv .git/objects/pack .git/objects/gone; rm -rf .git/objects/gone; mkdir .git/objects/pack",
    "mv .git/objects .git/o; rm -rf .git/o; mkdir .git/objects",
    "mv .git elsewhere; rm -rf elsewhere",
    # Overwriting, also in place:
    "for f in .git/objects/??/* .git/objects/pack/*; do chmod u+w $f; echo x > $f; done",
    "for f in .git/objects/??/* .git/objects/pack/*; do chmod u+w $f; truncate -s 0 $f; done",
    "for f in .git/objects/??/*; do chmod u+w $f; printf zz | dd of=$f conv=notrunc; touch -d @1 $f; done",
    "for f in .git/objects/??/* .git/objects/pack/*; do mv $f $f.old; echo x > $f; rm -f $f.old; done",
    "for f in .git/objects/pack/*.pack; do cp $f copy; rm -f $f; head -c 40 copy > $f; done",
    "python3 -c 'import os,glob; [os.chmod(f, 0o644) or os.truncate(f, 9) for f in glob.glob(\".git/objects/*/*\")]'",
    ": > .git/packed-refs; : > .git/HEAD",
    "git pack-refs --all; echo junk > .git/packed-refs",
    "echo junk > .git/refs/heads/main; echo ref: ../x > .git/HEAD",
    "for f in .git/refs/heads/* .git/refs/tags/* .git/logs/HEAD .git/logs/refs/heads/*; do echo 0 > $f; done",
    "rm -rf .git/refs/heads/main; mkdir .git/refs/heads/main",
    # What git itself deletes:
    "git update-ref -d refs/heads/main",
    "git checkout -q --detach && git branch -D main side",
    "git branch -D side; git reflog expire --expire=now --all; git gc -q --prune=now",
    "git tag -d v1",
    "git for-each-ref --format='delete %(refname)' | git update-ref --stdin",
    "git symbolic-ref HEAD refs/heads/none; git update-ref -d refs/heads/main; git symbolic-ref HEAD refs/heads/main",
    "git stash clear; git reflog expire --expire-unreachable=now --all; git prune --expire=now",
    "git reflog expire --expire=now --all",
    "git repack -adq --keep-unreachable; git prune-packed; rm -rf .git/objects/pack",
]


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *SETTINGS, *words], cwd=folder, env=GIT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a workspace with a repository, which is copied for each test."""
    ground = create_ground(tmp_path_factory.mktemp("built"))
    build(ground.folder)
    return ground.folder


@pytest.fixture
def ground(built: Path, tmp_path: Path) -> Ground:
    """Create a repository with packed and loose objects, branches, a tag, a stash and a commit only in the reflog."""
    ground = create_ground(tmp_path)
    shutil.copytree(built, ground.folder, symlinks=True, dirs_exist_ok=True)
    git(ground.folder, "update-index", "-q", "--refresh")  # the index names the files of the original
    return ground


def build(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    for number in (1, 2, 3):
        (folder / "file").write_text(f"{number}\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", str(number))
        git(folder, *(("repack", "-adq") if number == 2 else ("branch", f"b{number}")))
    git(folder, "tag", "-m", "One", "v1", "b1")
    git(folder, "commit", "-q", "--allow-empty", "-m", "only in the reflog")
    git(folder, "reset", "-q", "--hard", "HEAD~1")
    git(folder, "checkout", "-q", "-b", "side")
    git(folder, "commit", "-q", "--allow-empty", "-m", "side")
    git(folder, "checkout", "-q", "main")
    (folder / "file").write_text("stashed\n")
    git(folder, "stash", "-q")


def state(folder: Path) -> tuple[str, ...]:
    """Return the references, what the reflogs name, the stashes, and every commit that can be reached."""
    return (
        git(folder, "show-ref", "--head"),
        git(folder, "symbolic-ref", "HEAD"),
        git(folder, "reflog", "--format=%H %gs", "HEAD"),
        git(folder, "stash", "list", "--format=%H %gs"),
        "\n".join(sorted(git(folder, "log", "--all", "--reflog", "--format=%H %s").splitlines())),
    )


def script(ground: Ground, text: str) -> str:
    """Write a script of the folder and return the command that runs it."""
    (ground.folder / "clean.sh").write_text(f"{text}\ntrue\n")
    return "sh clean.sh"


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_lost_history_is_restored(loss: str, rung: str, ground: Ground) -> None:
    before = state(ground.folder)
    assert "side" in before[4] and "only in the reflog" in before[4] and "refs/stash" in before[0] and before[3]
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        done = made.use(script(ground, loss))
        if "--detach" in loss:
            git(ground.folder, "checkout", "-q", "main")
        after = state(ground.folder)
        assert (after[0], after[1], after[3], after[4]) == (before[0], before[1], before[3], before[4]), done.output
        assert before[2] in after[2]
        prevented = "busy" in done.output or "Read-only" in done.output
        assert "which was restored" in done.output or "repack" in loss or prevented, done.output
        assert git(ground.folder, "show", "main:file") == "3"
        assert not git(ground.folder, "fsck", "--full", "--no-dangling")
        assert "restored" not in made.use("git status; true").output
    assert ground.intact() and not list(ground.folder.parent.glob("history-*"))


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("kind", ["a repository in a subfolder", "a submodule", "a worktree"])
def test_further_repositories_are_guarded(kind: str, rung: str, tmp_path: Path) -> None:
    ground = create_ground(tmp_path)
    folder, kept = ground.folder, ground.folder / "deep" / "inner"
    if kind == "a repository in a subfolder":
        kept.mkdir(parents=True)
        build(kept)
    elif kind == "a submodule":
        (other := tmp_path / "other").mkdir()
        build(other)
        git(folder, "init", "-q")
        git(folder, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(other), "sub")
        kept = folder / ".git" / "modules" / "sub"
    else:
        if rung == "landlock":
            pytest.skip("commands cannot write to the repository of a worktree")
        (other := tmp_path / "other").mkdir()
        build(other)
        folder, kept = tmp_path / "tree", other
        git(other, "worktree", "add", "-q", str(folder))
    place = kept / ".git" if (kept / ".git").exists() else kept
    before = git(kept, "log", "--all", "--reflog", "--format=%H"), git(kept, "show-ref")
    assert before[0]
    with open_sandbox(rung) as sandbox, open_harness(sandbox, folder) as made:
        (folder / "clean.sh").write_text(f"cd {shlex.quote(str(place))} && rm -rf objects refs packed-refs\n")
        done = made.use("sh clean.sh")
        assert "which was restored" in done.output, done.output
        assert (git(kept, "log", "--all", "--reflog", "--format=%H"), git(kept, "show-ref")) == before
        if kind == "a repository in a subfolder":
            (folder / "clean.sh").write_text("rm -rf deep\n")
            assert "which was restored" in made.use("sh clean.sh").output
            assert (git(kept, "log", "--all", "--reflog", "--format=%H"), git(kept, "show-ref")) == before
            approved = made.use("rm -rf deep", grant=APPROVED).output
            assert "restored" not in approved and kept.exists() is (rung == "bubblewrap"), "a mount there"


def test_what_the_user_deletes_between_commands_stays_deleted(ground: Ground) -> None:
    with open_sandbox("landlock") as sandbox, open_harness(sandbox, ground.folder) as made:
        assert not made.use("true").failed
        git(ground.folder, "branch", "-D", "side")
        git(ground.folder, "tag", "-d", "v1")
        git(ground.folder, "stash", "clear")
        git(ground.folder, "reflog", "expire", "--expire=now", "--all")
        git(ground.folder, "gc", "-q", "--prune=now")
        (ground.folder / "new").touch()
        git(ground.folder, "add", "new")
        git(ground.folder, "commit", "-qm", "by the user")
        before = state(ground.folder)
        assert "restored" not in made.use("true").output and state(ground.folder) == before
        assert "restored" in made.use(script(ground, "rm -rf .git/objects .git/refs .git/HEAD")).output
        assert state(ground.folder)[0] == before[0] and git(ground.folder, "log", "-1", "--format=%s") == "by the user"


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_a_command_in_the_background_cannot_hide_a_loss_behind_the_next_one(rung: str, ground: Ground) -> None:
    before = state(ground.folder)

    async def main(sandbox: Sandbox) -> None:
        async with running(sandbox, ground.folder) as scene:
            await scene.use("true", "c0")
            text = "rm -rf .git/objects .git/refs 2>/dev/null; echo up; sleep 600"
            await scene.use(script(ground, text), "c1", background=True)
            await scene.recorder.wait_for(b"up")
            await scene.use("true", "c2")
            after = state(ground.folder)
            assert (after[0], after[4]) == (before[0], before[4])

    with open_sandbox(rung) as sandbox:
        await_(main(sandbox))


def test_a_history_that_is_too_large_is_said(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_history, "MAX_COPIED", 100)
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, ground.folder) as made:
        assert "too much history to keep everything" in made.use("true").output


def test_repositories_of_commands_do_not_take_the_place_of_a_shared_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that could delete history which is not kept needs approval."""
    (main := tmp_path / "main").mkdir()
    build(main)
    git(main, "worktree", "add", "-q", str(folder := tmp_path / "tree"))
    before = git(main, "log", "--all", "--reflog", "--format=%H")
    for number in range(3):
        git(folder, "init", "-q", f"new{number}")
    (folder / "clean.sh").write_text(f"rm -rf {shlex.quote(str(main))}/.git/objects/*\n")
    monkeypatch.setattr(git_history, "max_open_files", lambda: 4)
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, folder) as made:
        with pytest.raises(Problem, match="too many repositories") as refused:
            made.use("sh clean.sh")
        assert "new0/.git" in str(refused.value) and str(main) not in str(refused.value)
        assert "new0/.git" in made.context.unsettled.described(), "every further call asks"
        done = made.use("sh clean.sh", grant=CallGrant(unsandboxed=True))
    assert "which was restored" in done.output and before
    assert git(main, "log", "--all", "--reflog", "--format=%H") == before


def test_the_history_of_any_number_of_repositories_is_kept(tmp_path: Path) -> None:
    (folder := tmp_path / "work").mkdir()
    for number in range(25):
        git(folder, "init", "-q", f"r{number:02}")
        git(folder / f"r{number:02}", "commit", "-q", "--allow-empty", "-m", "one")
    (folder / "clean.sh").write_text("rm -rf r*/.git/objects/* r*/.git/refs/heads/*\n")
    with open_sandbox("landlock") as sandbox, open_harness(sandbox, folder) as made:
        assert "which was restored" in made.use("sh clean.sh").output
    assert all(git(folder / f"r{number:02}", "log", "--format=%s").strip() == "one" for number in range(25))


def test_many_objects_are_kept(ground: Ground) -> None:
    """More than git leaves loose by itself, as in a repository without automatic garbage collection."""
    names = "\n".join(f"{number}" for number in range(9_000))
    subprocess.run(
        ["git", "hash-object", "-w", "--stdin-paths"], cwd=ground.folder, input="", text=True, check=True, env=GIT
    )
    blobs = ground.folder / "blobs"
    blobs.mkdir()
    for name in names.split():
        (blobs / name).write_text(name)
    git(ground.folder, "add", "blobs")
    git(ground.folder, "commit", "-qm", "many")
    with open_sandbox("landlock") as sandbox, open_harness(sandbox, ground.folder) as made:
        assert "which was restored" in made.use(script(ground, "rm -rf .git/objects")).output
    assert not git(ground.folder, "fsck", "--full", "--no-dangling")
    assert git(ground.folder, "ls-tree", "-r", "--name-only", "HEAD", "blobs").count("\n") == 8_999


def test_ordinary_work_is_not_undone(ground: Ground) -> None:
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, ground.folder) as made:
        for command in (
            "git commit -q --allow-empty -m 4 && git branch -D b3",
            "git gc -q --prune=now && git pack-refs --all",
            "git checkout -q -b new && git commit -q --allow-empty -m 5",
            "git repack -adq",
        ):
            done = made.use(
                f"export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a; {command}",
                grant=APPROVED,
            )
            assert not done.failed and "restored" not in done.output, done.output
        assert git(ground.folder, "log", "--format=%s") == "5\n4\n3\n2\n1"
        assert "b3" not in git(ground.folder, "branch", "--all")
        assert "busy" in made.use(script(ground, "rm -rf .git/objects")).output, "all objects are packed"
        assert git(ground.folder, "log", "--format=%s") == "5\n4\n3\n2\n1"


def test_a_deletion_that_the_user_approved_stays(ground: Ground) -> None:
    with open_sandbox("landlock") as sandbox, open_harness(sandbox, ground.folder) as made:
        assert "restored" not in made.use("rm -rf .git", grant=APPROVED).output
        assert "restored" not in made.use("true").output
    assert not (ground.folder / ".git" / "objects").exists()


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize(
    ("words", "grant"),
    [
        ("echo git gc", NO_GRANT),
        ("git gc", NO_GRANT),
        ("rm -f file", APPROVED),
    ],
)
def test_words_that_nobody_approved_as_a_deletion_of_history_change_nothing(
    words: str, grant: CallGrant, rung: str, ground: Ground
) -> None:
    before = git(ground.folder, "log", "--all", "--format=%H")
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        script(ground, "rm -rf .git/objects .git/refs .git/packed-refs")
        assert "which was restored" in made.use(f"{words}; sh clean.sh", grant=grant).output
    assert git(ground.folder, "log", "--all", "--format=%H") == before


def test_no_file_outside_is_kept_while_folders_are_swapped_for_links(ground: Ground) -> None:
    """What is kept is written into the folder when a command deletes it."""
    outside, git_folder = ground.outside, ground.folder / ".git"
    name = next((git_folder / "objects").glob("??/*"))
    places = [git_folder / "refs" / "heads", name.parent, git_folder / "objects", git_folder / "logs"]
    # Each with a folder of its own, because a folder of objects can have the name of a branch, such as b1.
    targets = {place: outside / str(number) for number, place in enumerate(places)}
    for place, target in targets.items():
        for path in place.rglob("*"):
            inside = target / path.relative_to(place)
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.write_bytes(CANARY) if path.is_file() else inside.mkdir(exist_ok=True)
    stopped = threading.Event()

    def flip() -> None:
        while not stopped.is_set():
            for place, target in targets.items():
                place.rename(f"{place}-moved")
                place.symlink_to(target)
                stopped.wait(0.0002)  # so that both states last for a few calls of the reader
                place.unlink()
                Path(f"{place}-moved").rename(place)
                stopped.wait(0.0005)

    thread = threading.Thread(target=flip)
    thread.start()
    kept: list[bytes] = []
    try:
        while len(kept) < 1_500:
            history = GitHistory(ground.folder, ground.folder.parent)
            history.keep([".git"])
            for repository in history._repositories.values():
                kept += [file.body for file in repository._references.values()]
                repository._copies.seek(0)
                kept.append(repository._copies.read())
            history.drop()
    finally:
        stopped.set()
        thread.join()
    assert kept and not any(CANARY in body for body in kept)


KILLED_LOSSES = [
    "rm -rf .git/objects .git/refs .git/packed-refs .git/HEAD .git/logs",
    "git checkout -q --detach; git stash clear; git branch -D main b2 side; git tag -d v1; rm -rf .git/logs; "
    "git gc -q --prune=now",
    "for f in .git/objects/??/* .git/refs/heads/*; do chmod u+w $f; echo x > $f; done",
]


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("loss", KILLED_LOSSES)
def test_history_lost_before_journeyman_was_killed_is_restored(loss: str, rung: str, ground: Ground) -> None:
    folder, data = ground.folder, ground.folder.parent / "data"
    before = state(folder)
    kill_during(f"{script(ground, loss)} >&2; echo planted; sleep 60", folder, data, rung)
    assert state(folder) != before
    done = run_next(folder, data, rung)
    assert "interrupted was restored" in done.output
    if "--detach" in loss:
        git(folder, "checkout", "-q", "main")
    after = state(folder)
    assert (after[0], after[1], after[3], after[4]) == (before[0], before[1], before[3], before[4]), done.output
    assert not git(folder, "fsck", "--full", "--no-dangling")
    assert "restored" not in run_next(folder, data, rung).output
    assert not list((data / HISTORY_FOLDER).iterdir())


INDEX_LOSSES = ["rm .git/index", "echo junk > .git/index", "rm -rf .git/index; mkdir .git/index"]


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("killed", [False, True], ids=["ended", "killed"])
@pytest.mark.parametrize("loss", INDEX_LOSSES)
def test_a_lost_index_is_restored(loss: str, killed: bool, rung: str, ground: Ground) -> None:
    folder, data = ground.folder, ground.folder.parent / "data"
    (folder / "file").write_text("staged\n")
    git(folder, "add", "-A")
    before = git(folder, "diff", "--cached")
    if killed:
        kill_during(f"{script(ground, loss)} >&2; echo planted; sleep 60", folder, data, rung)
        assert git(folder, "diff", "--cached") != before
        assert "interrupted was restored" in run_next(folder, data, rung).output
    else:
        with open_sandbox(rung) as sandbox, open_harness(sandbox, folder) as made:
            assert "index" in made.use(script(ground, loss)).output
            assert "restored" not in made.use("git add clean.sh; git reset -q clean.sh").output
    assert git(folder, "diff", "--cached") == before and "staged" in before


def test_references_are_restored_with_other_names_if_the_user_may_have_deleted_them(ground: Ground) -> None:
    """The user has worked in the repository since."""
    folder, data = ground.folder, ground.folder.parent / "data"
    tip = git(folder, "rev-parse", "side")
    kill_during(f"{script(ground, 'git branch -D side')} >&2; echo planted; sleep 60", folder, data, "bubblewrap")
    (record,) = (data / RECORDS_FOLDER).iterdir()
    os.utime(record, (1, 1))  # as if the user's next commit came long after that
    git(folder, "commit", "-q", "--allow-empty", "-m", "mine")
    assert "refs/restored/heads/side" in run_next(folder, data, "bubblewrap").output
    assert git(folder, "rev-parse", "restored/heads/side") == tip and git(folder, "branch", "--list", "side") == ""


def test_history_whose_deletion_was_approved_is_not_restored_after_a_kill(ground: Ground) -> None:
    folder, data = ground.folder, ground.folder.parent / "data"
    kill_during("git branch -D side >&2; echo planted; sleep 60", folder, data, "bubblewrap")
    run_next(folder, data, "bubblewrap")
    assert git(folder, "branch", "--list", "side") == ""
