"""Compares the parser of command lines with shells: `python -m tests.core.domain.shell_fuzz --count 9000 --shell zsh`.

Each random line that the parser understands is run by the shells. The programs in it are functions of the shell that
print the words they are given, so a difference shows which words a shell would really run.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

from core.domain.command_line import ReadLine, read_line
from core.domain.shell_words import GlobPattern

SHELLS = ("dash", "bash", "zsh")
PROGRAMS = ("prog", "tool", "other")
FILES = ("a.txt", "b.txt", "c d.txt", ".hidden", "x")
PIECES = (
    *(" ", " ", " ", " ", " ", "\t", "\n", ";", ";", "&&", "||", "|", "&", ";;", "|&"),
    *("prog", "prog", "tool", "tool", "other", "a", "bc", "-x", "--long", "--opt=v", "--opt=*.t", "1", "2", "12", "x"),
    *(
        "'",
        '"',
        "\\",
        "'a b'",
        '"a b"',
        "''",
        '""',
        "'$x'",
        '"$x"',
        "\\;",
        "\\ ",
        '"\\""',
        "\\'",
        "'\\'",
        '"\\x"',
        "\\n",
    ),
    *(
        "*",
        "?",
        "*.txt",
        "a*",
        "[",
        "]",
        "[ab]",
        "{}",
        "{",
        "}",
        "{a,b}",
        "@{1}",
        "@{u}",
        "~",
        "~/x",
        "a~b",
        "^",
        "%",
        "!",
    ),
    *(
        "#",
        "# c",
        "a#b",
        "=",
        "a=b",
        "CI=1",
        "TZ=U ",
        "X=1",
        "=a",
        "=prog",
        "$x",
        "$(prog)",
        "`prog`",
        "(",
        ")",
        "$",
        "`",
    ),
    *(">", ">x", "> x", ">>x", "2>x", "2>&1", ">&2", "<x", "< a.txt", "<<E", "<<'E'", "<<-E", "\nE\n", "E", "\n\tE\n"),
    *(
        "12>x",
        ">&",
        "&>x",
        ">|x",
        "<>x",
        "<<<x",
        "<(prog)",
        "\u00e9",
        "\u0456",
        "\u00a0",
        "\u200b",
        "\x01",
        "\r",
        ".",
        "/",
        ",",
    ),
    *(
        "sh -c 'prog a'",
        "timeout 5 ",
        "env ",
        "nice ",
        "cd x;",
        "[ a ]",
        "set -e;",
        "export CI=1;",
        "command -v prog",
        ":",
        "exit 0;",
    ),
)
STARTS = ("prog ", "tool a ", "other 'b c' ", "CI=1 prog ", "prog <<E\n", "prog a | tool ", "")
HEADER = """
{options}
record() {{ printf '%s\\036' "$@" "$end" >&9; return $result; }}
prog() {{ record prog "$@"; }}
tool() {{ record tool "$@"; }}
other() {{ record other "$@"; }}
sh() {{ case $1 in -c) eval "$2";; esac; }}
timeout() {{ shift; "$@"; }}
nice() {{ "$@"; }}
env() {{ "$@"; }}
"""
END = "\035"
ENVIRONMENT = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"}
OPTIONS = {"zsh": "setopt no_bg_nice 2>/dev/null"}

Words = tuple[str, ...]


def random_line(source: random.Random) -> str:
    """Return a line that is made of pieces of shell syntax."""
    return source.choice(STARTS) + "".join(source.choice(PIECES) for _ in range(source.randint(1, 8)))


def understood(line: str) -> Counter[Words] | None:
    """Return how often each command would run, as the parser reads the line; None if it is unclear."""
    found = read_line(line)
    if not isinstance(found, ReadLine) or (">" in line and _has_pattern(found)):
        return None  # the files that a pattern matches depend on those that the line creates
    words = [word for part in found.parts for word in part if isinstance(word, GlobPattern)]
    if any(name.startswith("/") or ".." in name for name in (*found.outputs, *words)):
        return None  # nothing outside the folder is written, or depends on what is there
    return Counter(tuple(_expanded(part)) for part in found.parts if part[0] in PROGRAMS)


def _has_pattern(line: ReadLine) -> bool:
    return any(isinstance(word, GlobPattern) for part in line.parts for word in part)


def _expanded(part: Words) -> Iterator[str]:
    for word in part:
        folder, slash, pattern = word.rpartition("/")  # of the folders that a pattern names, only `.` exists
        here = set(folder.split("/")) <= {"", "."}
        names = [name for name in FILES if here and fnmatchcase(name, pattern)]
        visible = sorted(folder + slash + name for name in names if name[0] != "." or pattern[0] == ".")
        yield from visible if isinstance(word, GlobPattern) and visible else [str(word)]


def run(shell: str, lines: Sequence[str], status: int) -> list[Counter[Words]]:
    """Run lines with a shell in which every program returns `status`, and return the commands that each line ran."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = folder / "work"
        script = [HEADER.format(options=OPTIONS.get(shell, "")), f"result={status}", f"end='{END}'"]
        for number, line in enumerate(lines):
            quoted = line.replace("'", "'\\''")
            script.append(f"( eval '{quoted}' ) 9>>{folder}/{number} </dev/null >/dev/null 2>&1")
        work.mkdir()
        for file in FILES:
            (work / file).touch()
        (folder / "script").write_bytes("\n".join(script).encode("utf-8", "surrogateescape"))
        subprocess.run(
            [shell, str(folder / "script")], cwd=work, env=ENVIRONMENT, capture_output=True, check=False, timeout=600
        )
        return [_recorded(folder / str(number)) for number in range(len(lines))]


def _recorded(file: Path) -> Counter[Words]:
    text = file.read_bytes().decode("utf-8", "replace") if file.exists() else ""
    return Counter(tuple(record.split("\036")[:-1]) for record in text.split(f"{END}\036")[:-1])


def divergences(lines: Iterable[str], shells: Sequence[str]) -> list[tuple[str, str, Counter[Words], Counter[Words]]]:
    """Return the understood lines of which a shell runs a command that the parser did not find."""
    known = [(line, commands) for line in dict.fromkeys(lines) if (commands := understood(line)) is not None]
    writing = [each for each in known if ">" in each[0]]
    reading = [each for each in known if ">" not in each[0]]
    found = []
    for some, shell, status in product((writing, reading), shells, (0, 1)):
        if status:  # a command that fails makes more commands run only before `||`
            some = [each for each in some if "||" in each[0]]
        ran = run(shell, [line for line, _ in some], status)
        found += [(shell, *each, real) for each, real in zip(some, ran, strict=True) if real - each[1]]
    return found


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.core.domain.shell_fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="how many lines to make")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--shell", action="append", choices=SHELLS, help="a shell to compare with; default all installed"
    )
    args = parser.parse_args(words)
    shells = [shell for shell in args.shell or SHELLS if shutil.which(shell)]
    source = random.Random(args.seed)
    clear, wrong = 0, []
    for start in range(0, args.count, 2_000):
        lines = [random_line(source) for _ in range(min(2_000, args.count - start))]
        kept = [line for line in lines if understood(line) is not None]
        clear += len(kept)
        wrong += divergences(kept, shells)
    for shell, line, commands, real in wrong[:20]:
        say(f"{shell}: {line!r}\n  parser: {dict(commands)}\n  shell:  {dict(real)}")
    say(f"{args.count:,} lines, {clear:,} of them understood, in {', '.join(shells)}: {len(wrong)} divergences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
