"""Options by which programs run other code or read instructions from files, so that no saved rule may allow them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from core.domain.command_line import program_name
from core.domain.command_tables import known_programs
from core.domain.known_commands import known_command

CODE_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "git": (
            "-c", "-C", "--config-env", "--exec-path", "--ext-diff", "--textconv", "--upload-pack", "--receive-pack",
            "--open-files-in-pager", "-O", "--exec", "-x", "--output", "--git-dir", "--work-tree", "--namespace",
            "--super-prefix", "--paginate", "--template", "--hook", "--editor", "--ext", "--extcmd", "--tool",
        ),
        "python": ("-c", "-i", "-"), "perl": ("-e", "-E", "-M", "-I", "-i", "-"),
        "ruby": ("-e", "-r", "-I", "-"),
        "node": ("-e", "-p", "-r", "--eval", "--print", "--require", "--import", "-i", "-"),
        "php": ("-r", "-B", "-R", "-d"), "awk": ("-f", "-e"), "sed": ("-e", "-f", "-s", "--expression"),
        "find": (
            "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from",
        ),
        "tar": ("--to-command", "--checkpoint-action", "-I", "--use-compress-program", "--rsh-command", "-F"),
        "rg": ("--pre", "--hostname-bin", "--search-zip"), "sort": ("-o", "--output", "--compress-program", "-T"),
        "grep": ("-f", "--file"),
        "pytest": ("-p", "-c", "-o", "--rootdir", "--confcutdir", "--override-ini", "--pdbcls"),
        "make": ("-f", "-C", "-I", "-e", "--eval", "--file", "--makefile", "--directory", "--include-dir"),
        "npm": ("--prefix", "-C", "--script-shell", "--node-options", "--userconfig", "--globalconfig"),
        "cargo": ("--config", "-Z", "--manifest-path", "-C"),
        "go": ("-exec", "-toolexec", "-overlay", "-C", "-o", "-vettool"),
        "rsync": ("-e", "--rsh", "--rsync-path"), "vim": ("-c", "--cmd", "-S", "-u"), "mypy": ("--config-file",),
        "eslint": ("-c", "--config", "--rulesdir", "--plugin", "-o", "--resolve-plugins-relative-to"),
        "prettier": ("--config", "--plugin"), "black": ("--config",), "ruff": ("--config",),
        "man": ("-P", "-H", "--pager", "--html"),
        "less": ("-o", "-O", "+"),
        "cat": (),
        "diff": ("--output", "--to-file"),
        "gcc": ("-wrapper", "-fplugin", "-B", "-specs"), "curl": ("-K", "-o", "-O", "--config"), "zip": ("-T", "-TT"),
        "file": ("-m", "-C", "-f"),
        "date": ("-s", "--set", "-f"),
        "uniq": (),
        "touch": ("-r",),
        "wc": ("--files0-from",),
        "du": ("--files0-from", "-X"), "tsc": ("--build", "-b"), "isort": ("--settings-path", "--settings-file"),
    }
)  # fmt: skip
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
