"""Runs random commands that no mode asks about, and looks for secrets in what they print.

`python -m tests.core.engine.secret_fuzz --count 2000 --seed 1`: each command that the policy allows in a folder with
files that hold secrets is run in the real sandbox.
"""

import argparse
import asyncio
import random
import re
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from core.domain.command_tables import KnownCommand, known_programs
from core.domain.modes import Mode
from core.domain.permissions import Allowed, SandboxLevel
from core.domain.sensitive_paths import is_hidden_from_commands
from core.engine.policy.folder_inspection import (
    has_plain_git,
    leads_outside,
    matching_files,
    outside_links,
    secret_files,
)
from core.engine.policy.policy import PolicyContext, evaluate_call
from core.tools.run import RunArguments, run
from core.tools.tool_context import CallGrant, open_context
from core.workspace.broker import FileBroker
from core.workspace.sandbox import Sandbox
from tests.core.engine.policy_calls import FACTS, act
from tests.core.workspace.commands import open_sandbox

HIDDEN, PROTECTED = "CANARYSECRETWORD", "CANARYGUARDEDTXT"  # in files that sandboxes hide, and in other secrets
SECRETS = (".env", "id_rsa", "server.pem", "deploy/prod.tfvars", "conf/kubeconfig", "src/.env.local", "deploy/.netrc")
ORDINARY = ("a.txt", "README.md", "src/app.py", "src/b.txt", "deploy/main.tf", "conf/x.yml", "data.json")
LINKS = {"notes": ".env", "src/link": "../server.pem", "up": "..", "all": ".", "etc": "/etc/hostname"}
NAMES = (
    *SECRETS, *ORDINARY, *LINKS, ".", "..", "*", ".*", "src", "src/*", "conf/*", "deploy", "deploy/*", "?env", ".e*",
    "[.]env", "s*", "n*", "conf", "./conf/..", "src/../.env", "a.txt", "{.env,a.txt}", "src/.", "*.pem", "*/*", "id_*",
    "README*", "all/.env", "all/src", "up/work/.env", "-", "'*'", "$HOME", "~", "**", "X", "a", "1,9p", "'{print}'",
)  # fmt: skip
VALUES = ("1", "3", "X", "a", "*", "'*'", ".", "C", "'C*'", "!x", ".env", "'.env*'", "*.py", "src", "2k", "n", "all")
FRAMES = (
    "{0}", "{0}", "{0}", "{0} | {1}", "cd src && {0}", "cd deploy; {0}", "cd conf && {0} | {1}", "{0}; {1}",
    "{0} < a.txt", "{0} < notes", "find . -exec {0} {{}} +", "find . -type f -exec {0} {{}} \\;",
    "find . -name '*' | xargs {0}", "ls | xargs {0}", "git ls-files | xargs {0}", "timeout 5 {0}", "sh -c '{0}'",
    "env {0}", "{0} 2>&1 | {1}", "{0} && {1}",
)  # fmt: skip
MODES: tuple[Mode, ...] = ("ask", "accept-edits", "auto")


def create_folder(folder: Path) -> None:
    """Create a repository with secrets in it, of which git has none."""
    for name in (*SECRETS, *ORDINARY):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        word = HIDDEN if is_hidden_from_commands(name) else PROTECTED
        text = f"KEY={word}\n" * 3 if name in SECRETS else '{"X": "C"}\n'
        (folder / name).write_text(text)
    for name, target in LINKS.items():
        (folder / name).symlink_to(target)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "add", *ORDINARY], cwd=folder, check=True)


def random_command(source: random.Random) -> str:
    """Return a line of known commands with known options."""
    programs = sorted(known_programs())
    commands = [known for name in programs for known in known_programs()[name].commands if known.effect == "reads"]
    reading = [known for known in commands if known.contents != "none"]
    return source.choice(FRAMES).format(*(_random_part(source, source.choice((reading, commands))) for _ in range(2)))


def _random_part(source: random.Random, commands: Sequence[KnownCommand]) -> str:
    command = source.choice(commands)
    words = [word.replace("*", "x") for word in command.words]
    flags, values = sorted(command.flags), sorted((*command.values, *command.paths))
    for _ in range(source.choice((0, 0, 1, 1, 2, 3))):
        if flags and source.random() < 0.6:
            words.append(source.choice(flags))
        elif values:
            option, value = source.choice(values), source.choice(VALUES)
            words += [f"{option}={value}"] if option.startswith("--") and source.random() < 0.5 else [option, value]
    words += [source.choice(NAMES) for _ in range(source.choice((0, 1, 1, 2, 3)))]
    return " ".join(words)


def shows(word: str, output: str) -> bool:
    """Return whether an output contains a word, also in base64, as hexadecimal digits or with spaces between."""
    dense = re.sub(r"\s|\\n|\b[0-9a-f]{7,8}\b:?", "", output)
    encoded = [b64encode(f"{pad}{word}".encode()).decode()[4:16] for pad in ("", "x", "xy")]
    return any(form in dense for form in (word, word.encode().hex(), *encoded))


def leaks(folder: Path, sandbox: Sandbox, count: int, source: random.Random) -> Iterator[tuple[str, Mode, str]]:
    """Yield the commands that a mode allows and that print a secret. The last value counts those that were run.

    In the mode `auto`, commands may read secrets that programs often need, and bubblewrap hides the others from them.
    """
    level: SandboxLevel = sandbox.level
    (data := folder.parent / "data").mkdir()
    context = open_context(folder, data, None, lambda: sandbox)
    ran = 0
    with asyncio.Runner() as runner, FileBroker(folder) as broker:
        facts = _facts(folder, broker, level)
        for _ in range(count):
            command = random_command(source)
            for mode in MODES if level == "reduced" else MODES[:2]:
                found = evaluate_call(act("run", command=command), mode, (), (), facts)
                if not isinstance(found, Allowed):
                    continue
                ran += 1
                grant = CallGrant(found.argv, read_only=found.read_only)
                arguments = RunArguments(command, 3)
                done = runner.run(run(arguments, context.for_call("c", grant)))
                words = (HIDDEN,) if mode == "auto" else (HIDDEN, PROTECTED)
                if any(shows(word, done.output) for word in words):
                    yield command, mode, done.output[:300]
                break
        runner.run(context.close())
    yield "", "ask", str(ran)


def _facts(folder: Path, broker: FileBroker, level: SandboxLevel) -> PolicyContext:
    return replace(
        FACTS,
        workspace=str(folder),
        level=level,
        resolve=broker.resolve,
        expand=cache(partial(matching_files, folder)),
        secret_files=cache(partial(secret_files, folder)),
        leads_outside=partial(leads_outside, folder),
        outside_links=partial(outside_links, folder),
        plain_git=partial(has_plain_git, folder),
    )


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(words)
    bad = 0
    for backend in ("bubblewrap", "landlock"):
        with tempfile.TemporaryDirectory() as name, open_sandbox(backend) as sandbox:
            folder = Path(name) / "work"
            folder.mkdir()
            create_folder(folder)
            *found, last = leaks(folder, sandbox, args.count, random.Random(args.seed))
            for each in found:
                sys.stdout.write(f"{backend}: {each}\n")
            bad += len(found)
            sys.stdout.write(f"{backend}: {args.count:,} commands, {last[2]} run unasked, {len(found)} leaks\n")
            sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
