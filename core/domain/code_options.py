"""Options by which programs run other code or read instructions from files, so that no saved rule may allow them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from core.domain.command_line import program_name
from core.domain.command_tables import known_programs
from core.domain.known_commands import known_command


def _options(text: str) -> tuple[str, ...]:
    return tuple(text.split())


CODE_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "git": _options(
            "-c -C --config-env --exec-path --ext-diff --textconv --upload-pack --receive-pack"
            " --open-files-in-pager -O --exec -x --output --git-dir --work-tree --namespace --super-prefix"
            " --paginate --template --hook --editor --ext --extcmd --tool"
        ),
        "python": _options("-c -i -"),
        "perl": _options("-e -E -M -I -i -"),
        "ruby": _options("-e -r -I -"),
        "node": _options("-e -p -r --eval --print --require --import -i -"),
        "php": _options("-r -B -R -d"),
        "awk": _options("-f -e"),
        "sed": _options("-e -f -s --expression"),
        "find": _options("-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from"),
        "tar": _options("--to-command --checkpoint-action -I --use-compress-program --rsh-command -F"),
        "rg": _options("--pre --hostname-bin --search-zip"),
        "sort": _options("-o --output --compress-program -T"),
        "grep": _options("-f --file"),
        "pytest": _options("-p -c -o --rootdir --confcutdir --override-ini --pdbcls"),
        "make": _options("-f -C -I -e --eval --file --makefile --directory --include-dir"),
        "npm": _options("--prefix -C --script-shell --node-options --userconfig --globalconfig"),
        "cargo": _options("--config -Z --manifest-path -C"),
        "go": _options("-exec -toolexec -overlay -C -o -vettool"),
        "rsync": _options("-e --rsh --rsync-path"),
        "vim": _options("-c --cmd -S -u"),
        "mypy": _options("--config-file"),
        "eslint": _options("-c --config --rulesdir --plugin -o --resolve-plugins-relative-to"),
        "prettier": _options("--config --plugin"),
        "black": _options("--config"),
        "ruff": _options("--config"),
        "man": _options("-P -H --pager --html"),
        "less": _options("-o -O +"),
        "cat": (),
        "diff": _options("--output --to-file"),
        "gcc": _options("-wrapper -fplugin -B -specs"),
        "curl": _options("-K -o -O --config"),
        "zip": _options("-T -TT"),
        "file": _options("-m -C -f"),
        "date": _options("-s --set -f"),
        "uniq": (),
        "touch": _options("-r"),
        "wc": _options("--files0-from"),
        "du": _options("--files0-from -X"),
        "tsc": _options("--build -b"),
        "isort": _options("--settings-path --settings-file"),
    }
)
WITHOUT_SHORT_OPTIONS = frozenset({"find", "go"})  # programs whose long options have one hyphen


def unsafe_option_reason(argv: Sequence[str]) -> str:
    """Return why no permission rule may allow this command; "" if one may.

    The reason is an option or argument that runs other code, or that overwrites or deletes files.
    """
    program = program_name(argv[0])
    command = known_command(argv)
    for word in argv[1:]:
        if command and len(command.words) > 1 and word in command.flags | command.values:
            continue
        for option in CODE_OPTIONS.get(program, ()):
            if word == option or word.startswith(f"{option}=") or _contains_short_option(program, word, option):
                return f"{program} {option} runs code or reads instructions from elsewhere"
    if program == "git" and any(word.startswith(("ext::", "fd::")) for word in argv):
        return "git ext:: runs a command"
    if program == "uniq" and sum(not word.startswith("-") for word in argv[1:]) > 1:
        return "uniq overwrites the second file it is given"
    if program == "find" and any(word.startswith(("-exec", "-ok", "-fprint", "-delete")) for word in argv):
        return "find runs a command on, or deletes, what it finds"
    return ""


def _contains_short_option(program: str, word: str, option: str) -> bool:
    """Return whether a word contains a short option with an attached value (`-cfoo`) or among others (`-xc`).

    A word that is itself a known harmless option does not count.
    """
    if len(option) != 2 or option == "--" or program in WITHOUT_SHORT_OPTIONS:
        return False
    if not word.startswith("-") or word.startswith("--") or len(word) < 3:
        return False
    known_program = known_programs().get(program)
    is_flag = known_program is not None and any(word in command.flags for command in known_program.commands)
    return option[1] in word[1:] and not is_flag
