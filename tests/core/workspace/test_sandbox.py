"""Commands in a sandbox: what they cannot reach, their limits, and that no process is left."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

import pytest

from core.domain.problems import Problem
from core.workspace import program_search, readable_system, seccomp_filter
from core.workspace.bubblewrap import MAX_MOUNTS, Bubblewrap
from core.workspace.git_branch import worktree_git_folders
from core.workspace.landlock import Landlock
from core.workspace.launcher import CommandLimits, CommandRequest, SandboxPermissions
from core.workspace.output_buffer import KEPT_BYTES
from core.workspace.public_git_config import public_config_lines
from core.workspace.running_command import FinishedCommand
from core.workspace.sandbox import Sandbox, choose_sandbox
from core.workspace.sandbox_selftest import ATTACK_DESCRIPTIONS, prove_sandbox
from core.workspace.unsandboxed import Unsandboxed
from tests.core.workspace.commands import LAUNCHERS, OutputRecorder, await_, open_sandbox, run, selftest_result
from tests.core.workspace.ground import Ground, create_ground

ROOT = Path(__file__).parents[3]
LEFT = [
    f"{60 + number}.{os.getpid()}" for number in range(5)
]  # unique durations for `sleep` processes that must not be left
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="launchers for Linux only")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return create_ground(tmp_path)


@pytest.fixture(params=LAUNCHERS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with open_sandbox(request.param) as made:
        yield made


@pytest.fixture
def wrapped() -> Iterator[Sandbox]:
    with open_sandbox("bubblewrap") as made:
        yield made


def test_the_rungs_pass_their_self_test() -> None:
    """None of the attacks works; Landlock does not prevent three by design, which its result says."""
    for name, known in (("bubblewrap", ()), ("landlock", ("names", "protected", "secret"))):
        proof = selftest_result(name)
        if proof is not None and proof.works:
            assert (proof.escapes, proof.known_gaps) == ((), known)


@pytest.mark.parametrize(
    ("weaken", "said"),
    [
        (lambda words: [word for word in words if word != "--unshare-net"], {"connect"}),
        (lambda words: [word for word in words if word != "--unshare-pid"], {"daemon"}),
        (lambda words: [*words, "--bind", gettempdir(), gettempdir()], {"read_outside", "write_outside", "protected"}),
    ],
    ids=["network", "processes", "files"],
)
def test_t21_a_weak_profile_disables_commands(
    weaken: Callable[[list[str]], list[str]], said: set[str], ground: Ground
) -> None:
    """The error names the attacks that worked."""
    with open_sandbox("bubblewrap"):
        made = choose_sandbox(launchers=[lambda: Bubblewrap(weaken=weaken)])
    with contextlib.closing(made):
        assert made.proof and set(made.proof.escapes) >= said
        with pytest.raises(Problem, match="Commands are disabled") as told:
            run(made, "true", ground.folder)
        assert all(ATTACK_DESCRIPTIONS[name] in str(told.value) for name in said)


def test_a_weak_second_rung_is_detected_too() -> None:
    with (
        open_sandbox("landlock"),
        contextlib.closing(choose_sandbox(launchers=[lambda: Landlock(weaken=lambda _: ["/"])])) as made,
    ):
        assert made.proof and "read_outside" in made.proof.escapes and made.disabled_reason(SandboxPermissions())


def test_t20_a_failing_rung_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ground: Ground) -> None:
    """A bubblewrap that fails, then none. The level shows it, and without a sandbox nothing runs unapproved."""
    stub = tmp_path / "bwrap"
    stub.write_text("#!/bin/sh\necho 'no permission' >&2\nexit 1\n")
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(program_search, "SYSTEM_PLACES", (str(tmp_path),))
    with contextlib.closing(choose_sandbox(launchers=[Bubblewrap, Landlock])) as made:
        assert made.level in ("reduced", "none") and made.name != "bubblewrap"
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with contextlib.closing(choose_sandbox(launchers=[Bubblewrap])) as made:
        assert made.level == "none"
        with pytest.raises(Problem, match="no sandbox"):
            run(made, "true", ground.folder)


def test_a_passed_self_test_is_cached(tmp_path: Path) -> None:
    cache = tmp_path / "proof"
    with open_sandbox("bubblewrap"), contextlib.closing(Bubblewrap()) as launcher:
        former = os.umask(0)
        try:
            first = prove_sandbox(launcher, cache)
        finally:
            os.umask(former)
        assert cache.stat().st_mode & 0o777 == 0o600
        began = time.monotonic()
        assert prove_sandbox(launcher, cache) == first and time.monotonic() - began < 0.1
        cache.write_text(json.dumps({**json.loads(cache.read_text()), "profile": "another"}))
        assert prove_sandbox(launcher, cache) == first
        cache.write_text("no proof")
        assert prove_sandbox(launcher, cache) == first


def test_environment_and_folders_of_a_command(
    wrapped: Sandbox, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No API key in any environment; the home folder and /tmp are its own."""
    monkeypatch.setenv("OPENAI_API_KEY", "canary-key")
    Path("/tmp/journeyman-visible").touch()
    command = "env; cat /proc/*/environ | tr '\\0' '\\n'; ls -a ~ /tmp /home; cat /proc/*/cmdline | tr '\\0' ' '"
    done = run(wrapped, command, ground.folder)
    assert "canary" not in done.output and "journeyman-visible" not in done.output and ".ssh" not in done.output
    Path("/tmp/journeyman-visible").unlink()


def test_the_folder_is_writable(sandbox: Sandbox, ground: Ground) -> None:
    done = run(sandbox, "echo hello > new && cat new real/file && pwd", ground.folder)
    assert (done.exit_code, done.killed_because) == (0, "")
    assert done.output == f"hello\ninside{ground.folder}\n" and (ground.folder / "new").exists()


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
def test_no_path_leads_outside(name: str, ground: Ground) -> None:
    """P1–P7 with commands."""
    (ground.folder / "away").symlink_to(ground.outside)
    tries = [f"{ground.canary}", "../outside/canary", "away/canary", f"/proc/self/root{ground.canary}"]
    with open_sandbox(name) as sandbox:
        for path in tries:
            assert "canary-" not in run(sandbox, f"cat '{path}'; echo mine > '{path}'", ground.folder).output
        run(sandbox, f"ln '{ground.canary}' hard; mv real/file '{ground.outside}/'; rm -rf away/*", ground.folder)
    assert ground.intact()


def test_protected_paths(wrapped: Sandbox, ground: Ground) -> None:
    """P12–P14, I11: neither changed nor moved away and replaced, also in subfolders; the user can allow a path."""
    for place in ("", "sub/"):
        subprocess.run(["git", "init", "-q", ground.folder / place], check=True)
    for name in (".mcp.json", ".envrc"):
        (ground.folder / name).write_text("mine")
    config = (ground.folder / ".git/config").read_text()
    for command in (
        *("echo x > .git/hooks/pre-commit", "echo x >> .git/config", "git config core.pager evil", "mv .git old"),
        *("rm -rf .git/hooks", "echo x > .mcp.json", "rm -f .envrc", "echo x > e && mv e .envrc", "mv sub/.git s"),
        "echo x > sub/.git/hooks/post-checkout",
    ):
        asked = CommandRequest(command, ground.folder, protected=("sub/.git",))
        assert await_(wrapped.run(asked)).exit_code != 0, command
    assert (ground.folder / ".git/config").read_text() == config
    assert (ground.folder / ".mcp.json").read_text() == (ground.folder / ".envrc").read_text() == "mine"
    allowed = CommandRequest("echo x > .envrc", ground.folder, permit=SandboxPermissions(protected_paths=(".envrc",)))
    assert await_(wrapped.run(allowed)).exit_code == 0


def test_a_git_folder_that_is_a_link(wrapped: Sandbox, ground: Ground) -> None:
    """P13."""
    (ground.folder / ".git").symlink_to("real")
    with pytest.raises(Problem, match="is a link"):
        run(wrapped, "true", ground.folder)


def test_a_linked_worktree_works(wrapped: Sandbox, tmp_path: Path) -> None:
    """The git folder is elsewhere; accessible only if it points back to the worktree; its hooks stay protected."""
    main, tree = tmp_path / "main", tmp_path / "tree"
    name = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "init", "-q", main], check=True)
    subprocess.run(["git", *name, "-C", main, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    subprocess.run(["git", "-C", main, "worktree", "add", "-q", tree], check=True, capture_output=True)
    done = run(wrapped, f"echo a > a && git add a && git {' '.join(name)} commit -qm two && git log --oneline", tree)
    assert done.exit_code == 0 and "two" in done.output, done.output
    assert run(wrapped, f"echo x > {main}/.git/hooks/pre-commit", tree).exit_code != 0
    (tree / ".git").write_text(f"gitdir: {tmp_path}\n")
    assert worktree_git_folders(tree) is None


def test_a_folder_does_not_open_its_parents_by_naming_them_a_repository(tmp_path: Path) -> None:
    folder = tmp_path / "brought"
    (folder / "own").mkdir(parents=True)
    (tmp_path / "objects").mkdir()
    (folder / ".git").write_text("gitdir: own\n")
    (folder / "own" / "gitdir").write_text(f"{folder / '.git'}\n")
    (folder / "own" / "commondir").write_text("../..\n")
    assert worktree_git_folders(folder) is None


def test_secrets_are_unreadable(wrapped: Sandbox, ground: Ground) -> None:
    (ground.folder / ".env").write_text("KEY=canary-key")
    assert "canary" not in run(wrapped, "cat .env; cp .env x; cat x; git add .env", ground.folder).output
    asked = CommandRequest("cat .env", ground.folder, permit=SandboxPermissions(secrets=True))
    assert await_(wrapped.run(asked)).output == "KEY=canary-key"


def test_too_many_secrets_are_reported(wrapped: Sandbox, ground: Ground) -> None:
    names = tuple(f".env.{number}" for number in range(MAX_MOUNTS + 1))
    for name in names:
        (ground.folder / name).touch()
    with pytest.raises(Problem, match="secrets"):
        await_(wrapped.run(CommandRequest("true", ground.folder, hidden=names)))


def test_memory_file_systems_have_a_size_limit(wrapped: Sandbox, ground: Ground) -> None:
    """Neither the root nor /dev can be filled; shared memory has the same limit as /tmp."""
    tries = "for f in /x /run/x /dev/x /var/x; do echo x > $f; done 2>/dev/null; ls -d /x /run/x /dev/x /var/x"
    done = run(
        wrapped,
        f"{tries} 2>/dev/null; head -c 3M /dev/zero > /dev/shm/x",
        ground.folder,
        CommandLimits(scratch=1 << 20),
    )
    assert done.exit_code != 0 and "No space left" in done.output and "/x\n" not in done.output


def test_kernel_settings_are_read_only(ground: Ground) -> None:
    """Root owns /proc/sys, and bubblewrap leaves it writable for an owner without capabilities."""
    for name in ("bubblewrap", "landlock"):
        with open_sandbox(name) as sandbox:
            for place in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger"):
                assert "open" not in run(sandbox, f": >> {place} && echo open", ground.folder).output


def test_the_home_is_not_a_workspace(wrapped: Sandbox) -> None:
    home = readable_system.home_folder()
    assert home
    with pytest.raises(Problem, match="home"):
        run(wrapped, "true", home)


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
def test_programs_in_the_home_are_available_without_their_keys(
    name: str, ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "ada"
    keys = (
        *(".local/share/gem/credentials", ".local/share/uv/credentials/credentials.toml"),
        *(".dotnet/corefx/cryptography/x509stores/my/a.pfx", ".gem/credentials", ".cargo/credentials.toml"),
    )
    parts = (".local/share/gem/ruby/a", ".local/share/uv/python/a", ".dotnet/tools/a", ".cargo/bin/a")
    for place in (*keys, *parts):
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_text("canary-key" if place in keys else "part\n")
    monkeypatch.setenv("HOME", str(home))
    with open_sandbox(name) as sandbox:
        places = " ".join(f"'{home / place}'" for place in (*keys, *parts))
        done = run(sandbox, f"cat {places} 2>/dev/null", ground.folder)
    assert done.output == "part\n" * len(parts)


@pytest.mark.parametrize("key", ["a.key", "inner/private/a", "inner/b.key"])
def test_system_settings_are_available_without_keys(key: str, tmp_path: Path) -> None:
    """A large folder is mounted, unless it contains a private key at any depth."""
    etc = tmp_path / "etc"
    plain = {
        "alternatives/inner/c",
        "ssl/cert",
        *(f"alternatives/{number}" for number in range(readable_system.MANY_FILES)),
    }
    for name in (*plain, "ssl/private/d", "shadow"):
        (etc / name).parent.mkdir(parents=True, exist_ok=True)
        (etc / name).touch()
    (etc / "alternatives" / "link").symlink_to("inner/c")
    assert readable_system.copy_etc(tmp_path / "seen", etc) == [etc / "alternatives"]
    assert _files(tmp_path / "seen") == {"ssl/cert"}
    (etc / "alternatives" / key).parent.mkdir(parents=True, exist_ok=True)
    (etc / "alternatives" / key).touch()
    assert readable_system.copy_etc(tmp_path / "copied", etc) == []
    assert _files(tmp_path / "copied") == {*plain, "alternatives/link"}
    assert (tmp_path / "copied/alternatives/link").is_symlink()


def _files(folder: Path) -> set[str]:
    return {str(place.relative_to(folder)) for place in folder.rglob("*") if not place.is_dir()}


def test_git_settings_without_secrets() -> None:
    text = """[user]\n\tname = Ada\n[credential]\n\thelper = store\n[url "https://t0ken@host/"]\n\tinsteadOf = x
[http]\n\textraHeader = AUTHORIZATION: t0ken\n\tpostBuffer = 1\n[alias]\n\tst = status\n[include]\n\tpath = t0ken\n"""
    kept = "\n".join(public_config_lines(text))
    assert "Ada" in kept and "st = status" in kept and "postBuffer" in kept
    assert "t0ken" not in kept and "store" not in kept


@pytest.mark.parametrize(
    "line",
    ["apikey = c4nary", "pat = c4nary", "access-pat = c4nary", "secret = c4nary", "passwd = c4nary", "auth = c4nary",
     "clientSecretValue = c4nary", "credentials = c4nary", "sslKey = c4nary", "key = c4nary",
     "plain = ghp_c4nary0123456789abcdefghijABCDEFGHIJ"],
)  # fmt: skip
def test_a_git_setting_is_private_by_its_name_or_value(line: str) -> None:
    text = f"[azure]\n\t{line}\n\tpath = kept\n[user]\n\tsigningKey = ABCD\n\tname = author"
    assert public_config_lines(text) == ["[azure]", "\tpath = kept", "[user]", "\tsigningKey = ABCD", "\tname = author"]


@pytest.mark.parametrize("machine", seccomp_filter.MACHINES)
def test_the_filter_is_well_formed(machine: str) -> None:
    """Every jump stays in the program, and the last instruction allows."""
    for program in (
        seccomp_filter.bubblewrap_filter(machine),
        *(seccomp_filter.landlock_filter(machine, version) for version in range(1, 8)),
    ):
        lines = [program[start : start + 8] for start in range(0, len(program), 8)]
        assert len(program) % 8 == 0 and len(lines) < 4096 and lines[-1] == seccomp_filter._line(6, 0x7FFF0000)
        for number, line in enumerate(lines):
            if line[0] & 7 == 5:
                assert number + 1 + max(line[2], line[3]) < len(lines)


def test_a_flood_of_output(sandbox: Sandbox, ground: Ground) -> None:
    """T1."""
    done = run(sandbox, "yes", ground.folder, CommandLimits(output=8 << 20))
    assert done.killed_because == "stopped after 8 MB of output" and len(done.output) < 3 * KEPT_BYTES


def test_a_long_line_and_bytes(sandbox: Sandbox, ground: Ground) -> None:
    """Start and end are kept, and the omitted bytes are counted."""
    done = run(sandbox, "printf start; head -c 20000000 /dev/zero | tr '\\0' x; printf '\\377end'", ground.folder)
    assert done.output.startswith("startxxx") and done.output.endswith("x\ufffdend")
    assert "bytes omitted" in done.output and len(done.output) < 3 * KEPT_BYTES


@pytest.mark.parametrize(
    "command",
    ["exec >&- 2>&-; sleep 60", "trap '' TERM INT HUP; sleep 60 & sleep 60", "sleep 60 | cat"],
    ids=["T3", "T6", "pipe"],
)
def test_a_time_limit(command: str, sandbox: Sandbox, ground: Ground) -> None:
    assert run(sandbox, command, ground.folder, CommandLimits(time_s=0.3)).killed_because == "stopped after 0.3 s"


@pytest.mark.parametrize(
    "leaving",
    [
        f"sleep {LEFT[0]} & exit 0",
        f"setsid sleep {LEFT[0]} & exit 0",
        f"(setsid sh -c 'sleep {LEFT[0]} & sleep {LEFT[0]}' &); exit 0",
    ],
    ids=["T4", "T5", "twice"],
)
def test_no_process_is_left(leaving: str, sandbox: Sandbox, ground: Ground) -> None:
    """The call does not wait for remaining processes either."""
    began = time.monotonic()
    done = run(sandbox, leaving, ground.folder)
    assert done.exit_code == 0 and time.monotonic() - began < 10
    assert_nobody(LEFT[0])


def assert_nobody(*words: str) -> None:
    """Assert that soon no process has these words in its command line: the last ones may not be reaped yet."""
    until_ = time.monotonic() + 5
    while found := [
        place for place in Path("/proc").glob("[0-9]*/cmdline") if all(word in command_line_of(place) for word in words)
    ]:
        assert time.monotonic() < until_, [command_line_of(place) for place in found]


def command_line_of(place: Path) -> str:
    with contextlib.suppress(OSError):
        return place.read_text(errors="replace").replace("\0", " ")
    return ""


def test_too_many_processes(sandbox: Sandbox, ground: Ground) -> None:
    """T7, with a limited fork bomb."""
    bomb = f"i=0; while [ $i -lt 200 ]; do sleep {LEFT[1]} & i=$((i+1)); done; wait"
    done = run(sandbox, bomb, ground.folder, CommandLimits(time_s=20, processes=40))
    assert done.exit_code != 0 or "processes" in done.killed_because or "fork" in done.output.lower(), done
    assert_nobody(LEFT[1])


def test_t8_too_much_memory(sandbox: Sandbox, ground: Ground) -> None:
    """Used memory counts, memory that is only reserved does not."""
    python = "/usr/bin/python3"
    if not Path(python).exists():
        pytest.skip("no Python of the system here")
    reserve = "import mmap; m = mmap.mmap(-1, 4 << 30); print('reserved')"
    assert run(sandbox, f'{python} -c "{reserve}"', ground.folder, CommandLimits(memory=256 << 20)).exit_code == 0
    fill = "import time; b = [bytearray(b'x' * (16 << 20)) for _ in range(64)]; time.sleep(30)"
    done = run(sandbox, f'{python} -c "{fill}"', ground.folder, CommandLimits(memory=256 << 20, time_s=20))
    assert "the limit is 256 MB" in done.killed_because


def test_files_too_large(sandbox: Sandbox, ground: Ground) -> None:
    """A sparse file and a filled one."""
    limits = CommandLimits(file_size=1 << 20)
    assert run(sandbox, "truncate -s 10G sparse", ground.folder, limits).exit_code != 0
    assert run(sandbox, "head -c 5000000 /dev/zero > big", ground.folder, limits).exit_code != 0
    assert (ground.folder / "big").stat().st_size <= 1 << 20


def test_no_input_and_no_terminal(sandbox: Sandbox, ground: Ground) -> None:
    """T10, T11."""
    done = run(sandbox, "cat; (read x < /dev/tty) 2>/dev/null || echo no terminal", ground.folder)
    assert done.output == "no terminal\n" and done.killed_because == ""


def test_ends_by_a_signal(sandbox: Sandbox, ground: Ground) -> None:
    """T12."""
    assert run(sandbox, "kill -SEGV $$", ground.folder).exit_code in (139, -11)
    assert run(sandbox, "exit 7", ground.folder).exit_code == 7


def test_a_command_that_spoils_its_folder(sandbox: Sandbox, ground: Ground) -> None:
    """T14, T15, T18."""
    sub = ground.folder / "sub"
    sub.mkdir()
    run(sandbox, "rmdir ../sub 2>/dev/null; rm -rf ./*; cd /; echo still here", sub)
    done = run(sandbox, "mkdir shut; touch shut/x; chmod 000 shut; ln -s self self; cat self; echo on", ground.folder)
    assert done.output.endswith("on\n")
    (ground.folder / "shut").chmod(0o755)


def test_a_stop_ends_all_processes(sandbox: Sandbox, ground: Ground) -> None:
    """A canceled wait returns when no process is left."""

    async def stop() -> None:
        recorder, asked = (
            OutputRecorder(),
            CommandRequest(f"sleep {LEFT[2]} & setsid sleep {LEFT[2]} & echo up; wait", ground.folder),
        )
        work = asyncio.ensure_future(sandbox.run(asked, recorder))
        await recorder.wait_for(b"up")
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work

    await_(stop())
    assert_nobody(LEFT[2])


def test_a_stop_at_any_moment(wrapped: Sandbox, ground: Ground) -> None:
    """Also before bubblewrap has set the parent-death signal of its child."""

    async def stop(after: int) -> None:
        work = asyncio.ensure_future(wrapped.run(CommandRequest(f"setsid sleep {LEFT[2]} & wait", ground.folder)))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(after / 1000):
                await asyncio.shield(work)
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work

    for after in range(0, 50):
        await_(stop(after))
    assert_nobody(LEFT[2])
    assert_nobody("--die-with-parent", str(ground.folder))


def test_a_background_command(sandbox: Sandbox, ground: Ground) -> None:
    """A background command is started, checked and ended, and its output is received."""
    recorder = OutputRecorder()

    async def watch() -> FinishedCommand | None:
        asked = CommandRequest(f"echo one; read x < fifo; echo two; sleep {LEFT[3]}", ground.folder)
        running = await sandbox.start(asked, recorder)
        await recorder.wait_for(b"one")
        assert running.finished is None and running.output() == "one\n"
        with (ground.folder / "fifo").open("w") as fifo:
            fifo.write("on\n")
        await recorder.wait_for(b"two")
        await running.kill_and_wait()
        return running.finished

    os.mkfifo(ground.folder / "fifo")
    done = await_(watch())
    assert done and done.killed_because == "stopped" and recorder.output == b"one\ntwo\n"
    assert_nobody(LEFT[3])


KILLED = """
import asyncio, sys
from pathlib import Path
from core.workspace.sandbox import Sandbox
from core.workspace.launcher import CommandRequest
from tests.core.workspace.commands import LAUNCHERS
async def go():
    sandbox = Sandbox(LAUNCHERS[sys.argv[1]](), None, allow_unsandboxed=True)
    await sandbox.run(CommandRequest("echo up; sleep LEFT & setsid sleep LEFT & sleep LEFT", Path(sys.argv[2])),
                      lambda text: print(text, flush=True))
asyncio.run(go())
"""


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
def test_our_own_death_ends_all_processes(name: str, ground: Ground) -> None:
    """Our process is killed by SIGKILL."""
    with open_sandbox(name):
        pass
    words = [sys.executable, "-c", KILLED.replace("LEFT", LEFT[4]), name, str(ground.folder)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE) as ours:
        assert ours.stdout and ours.stdout.readline()
        ours.send_signal(signal.SIGKILL)
    assert_nobody(LEFT[4])


def test_without_a_sandbox_the_process_group_dies_with_us(ground: Ground) -> None:
    words = [sys.executable, "-c", KILLED.replace("setsid ", "").replace("LEFT", LEFT[4]), "none", str(ground.folder)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE) as ours:
        assert ours.stdout and ours.stdout.readline()
        ours.send_signal(signal.SIGKILL)
    assert_nobody(LEFT[4])
    assert Unsandboxed().level == "none"


ORDINARY = """
import os, sys
sys.path.insert(0, sys.argv[1])
from core.workspace.bubblewrap import MAX_MOUNTS, Bubblewrap
from core.workspace.landlock import Landlock
from core.workspace.sandbox_selftest import prove_sandbox
proofs = map(prove_sandbox, (Bubblewrap(), Landlock()))
print(os.getuid(), *[(proof.launcher, proof.works, proof.escapes) for proof in proofs])
"""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can switch users")
def test_the_self_test_passes_for_an_ordinary_user_too() -> None:
    """The same self-test with the Python of the system, as an unprivileged user."""
    python = "/usr/bin/python3"
    ready = Path(python).exists() and subprocess.run([python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"])
    if not ready or ready.returncode:
        pytest.skip("no Python of the system here that is new enough")
    # Not below tmp_path, which pytest makes inaccessible to other users.
    with TemporaryDirectory(prefix="journeyman-ada-") as base:
        Path(base).chmod(0o755)
        for name in ("core", "resources"):
            shutil.copytree(
                ROOT / name, Path(base, name), ignore=shutil.ignore_patterns("__pycache__", "help", "fonts")
            )
        home = Path(base, "ada")
        home.mkdir()
        os.chown(home, 4321, 4321)
        words = ["setpriv", "--reuid=4321", "--regid=4321", "--clear-groups", python, "-c", ORDINARY, base]
        mine = {"PATH": "/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
        answer = subprocess.run(words, env=mine, cwd="/", capture_output=True, text=True, check=False)
        bare = [*words[:4], "bwrap", "--ro-bind", "/", "/", "true"]
        has_bubblewrap = subprocess.run(bare, env=mine, cwd="/", capture_output=True, check=False).returncode == 0
    # In a chroot the kernel denies user namespaces to ordinary users; the self-test must then report it.
    assert answer.stdout.strip() == f"4321 ('bubblewrap', {has_bubblewrap}, ()) ('landlock', True, ())", answer


def test_a_command_that_may_only_read_changes_nothing_in_its_folder(wrapped: Sandbox, ground: Ground) -> None:
    _changes_nothing(wrapped, ground)
    with open_sandbox("landlock") as landlock:
        _changes_nothing(landlock, ground)


def _changes_nothing(sandbox: Sandbox, ground: Ground) -> None:
    work = ground.folder
    subprocess.run(["git", "init", "-q", "."], cwd=work, check=True)
    (work / "kept").write_text("kept")
    (work / ".env").write_text("canary")
    before = {path: path.stat().st_mtime_ns for path in sorted(work.rglob("*"))}
    attempts = (
        "touch new", "echo x > kept", "echo x >> kept", "rm -f kept", "mv kept other", "mkdir d", "chmod 777 kept",
        "touch kept", "ln -s kept link", "truncate -s 0 kept", "git config core.fsmonitor ./x", "git add -A",
        "echo x > .git/HEAD", "rm -rf .git",
    )  # fmt: skip
    command = "; ".join(
        [*(f"({attempt}) 2>/dev/null" for attempt in attempts), "cat kept .env; git status -s | head -1"]
    )
    permit = SandboxPermissions(read_only=True)
    finished = await_(sandbox.run(CommandRequest(command, work, CommandLimits(time_s=30), permit)))
    assert "kept" in finished.output and "?? .env" in finished.output, finished.output
    assert ("canary" in finished.output) == (sandbox.name == "landlock")  # which cannot hide files
    assert {path: path.stat().st_mtime_ns for path in sorted(work.rglob("*"))} == before
