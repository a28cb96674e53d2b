"""Knowledge about programs: options that run code, irreversible commands, and files that control programs."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from core.domain.command_arguments import is_option
from core.domain.command_line import program_name, split_loosely
from core.domain.command_tables import known_programs, program_sets, words_of
from core.domain.known_commands import is_harmless, known_command

# Git's options before the subcommand, without and with a value.
GIT_GLOBAL_FLAGS = words_of(
    "-p -P --paginate --no-pager --bare --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice -v -h"
    " --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --exec-path --html-path --man-path"
    " --info-path --version --help --list-cmds"
)
GIT_GLOBAL_VALUES = words_of("-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source")
# Options after which find and similar programs take a command.
FIND_ACTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch", "-c", "--call"})
# Words after which a program such as `uv` or `docker` takes a command to run, and scripts that only look like one.
RUNNERS = frozenset({"run", "exec", "x", "dlx", "foreach", "--exec", "-x", "exec:exec"})
SCRIPT_RUNNERS = frozenset({("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run")})

# Options that make a program run other code or read instructions from elsewhere. No rule allows a command that has
# such an option.
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

# The first words of commands whose effect cannot be undone.
IRREVERSIBLE_COMMANDS: tuple[tuple[str, ...], ...] = tuple(
    tuple(line.split())
    for line in """
    rm
    rmdir
    unlink
    shred
    srm
    wipe
    truncate
    dd
    mkfs
    fdisk
    parted
    wipefs
    find -delete
    find -fprint
    find -fprint0
    find -fprintf
    find -fls
    fd --exec rm
    git push
    git clean
    git gc
    git prune
    git reset --hard
    git reset --merge
    git checkout -f
    git checkout --force
    git checkout -B
    git checkout --
    git checkout .
    git checkout :/
    git checkout HEAD
    git checkout-index -f
    git checkout-index --force
    git read-tree --reset
    git read-tree -u
    git restore
    git rm -f
    git rm --force
    git mv -f
    git mv --force
    git switch -f
    git switch --force
    git switch --discard-changes
    git switch -C
    git switch --force-create
    git branch -D
    git branch -d
    git branch --delete
    git branch -f
    git branch --force
    git branch -M
    git branch -C
    git tag -d
    git tag --delete
    git tag -f
    git tag --force
    git stash drop
    git stash clear
    git reflog expire
    git reflog delete
    git reflog drop
    git filter-branch
    git filter-repo
    git fast-import
    git replace
    git update-ref
    git symbolic-ref
    git remote remove
    git remote rm
    git remote prune
    git submodule deinit
    git worktree remove
    git worktree prune
    git rebase
    git commit --amend
    git notes remove
    git notes prune
    git lfs prune
    git send-email
    git maintenance
    hg strip
    hg purge
    hg revert
    svn revert
    jj abandon
    npm publish
    npm unpublish
    npm deprecate
    yarn publish
    pnpm publish
    cargo publish
    cargo yank
    gem push
    twine upload
    poetry publish
    uv publish
    hatch publish
    flit publish
    docker push
    docker rm
    docker kill
    docker compose down
    docker container rm
    docker container prune
    docker image rm
    docker image prune
    docker network rm
    docker builder prune
    docker buildx prune
    docker rmi
    docker system
    docker volume
    podman push
    podman rm
    kubectl
    helm
    terraform
    tofu
    pulumi
    ansible
    ansible-playbook
    aws
    gcloud
    az
    heroku
    fly
    vercel
    netlify
    gh
    glab
    hub
    ssh
    scp
    sftp
    rsync
    curl
    wget
    mail
    sendmail
    mutt
    dropdb
    mysql
    psql
    mongo
    redis-cli
    sqlite3
    kill
    pkill
    killall
    shutdown
    reboot
    halt
    poweroff
    systemctl
    launchctl
    passwd
    useradd
    userdel
    chown
    crontab
    """.strip().splitlines()
)

_IRREVERSIBLE_BY_PROGRAM: Mapping[str, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        first: tuple(line for line in IRREVERSIBLE_COMMANDS if line[0] == first)
        for first in {line[0] for line in IRREVERSIBLE_COMMANDS}
    }
)

# Files that determine what a program does. After the agent has written such a file, running the program needs approval
# even if a rule would allow it.
CONTROL_FILES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "make": ("Makefile", "makefile", "GNUmakefile", "*.mk"),
        "npm": ("package.json", ".npmrc"), "npx": ("package.json", ".npmrc"), "yarn": ("package.json", ".yarnrc*"),
        "pnpm": ("package.json", ".npmrc"), "cargo": ("build.rs", "Cargo.toml", ".cargo/*"), "go": ("go.mod",),
        "just": ("justfile", "Justfile"), "task": ("Taskfile*",), "tox": ("tox.ini",), "nox": ("noxfile.py",),
        "pre-commit": (".pre-commit-config.yaml",), "gradle": ("*.gradle", "*.gradle.kts"), "mvn": ("pom.xml",),
        "cmake": ("CMakeLists.txt", "*.cmake"), "eslint": ("eslint.config.*", ".eslintrc*"), "rake": ("Rakefile",),
        "prettier": ("prettier.config.*", ".prettierrc*"), "git": (".gitattributes", ".gitmodules"),
    }
)  # fmt: skip


def unsafe_option_reason(argv: Sequence[str]) -> str:
    """Return why no rule may allow this command, or an empty string.

    The reason is an option or argument that runs other code, or that overwrites or deletes files.
    """
    program = program_name(argv[0])
    command = known_command(argv)
    for word in argv[1:]:
        if command and len(command.words) > 1 and word in command.flags | command.values:
            continue
        for option in CODE_OPTIONS.get(program, ()):
            takes_attached_value = (
                len(option) == 2 and option[0] == "-" and option[1] != "-" and program not in ("find", "go")
            )
            if (
                word == option
                or word.startswith(f"{option}=")
                or (takes_attached_value and _contains_short_option(program, word, option))
            ):
                return f"{program} {option} runs code or reads instructions from elsewhere"
    if program == "git" and any(word.startswith(("ext::", "fd::")) for word in argv):
        return "git ext:: runs a command"
    if program == "uniq" and sum(not word.startswith("-") for word in argv[1:]) > 1:
        return "uniq overwrites the second file it is given"
    if program == "find" and any(word.startswith(("-exec", "-ok", "-fprint", "-delete")) for word in argv):
        return "find runs a command on, or deletes, what it finds"
    return ""


def _contains_short_option(program: str, word: str, option: str) -> bool:
    """Return whether a word contains a short option, with its value attached (`-cfoo`) or among others (`-xc`).

    A word that is itself a harmless option does not count.
    """
    if not word.startswith("-") or word.startswith("--") or len(word) < 3:
        return False
    known_program = known_programs().get(program)
    is_flag = known_program is not None and any(word in command.flags for command in known_program.commands)
    return option[1] in word[1:] and not is_flag


def irreversible_reason(argv: Sequence[str], *, own_environment: bool = False) -> str:
    """Return why the effect of this command cannot be undone, or an empty string.

    `own_environment` means that the line sets variables, which can change what an otherwise harmless command does.
    """
    program = program_name(argv[0])
    if program.startswith("mkfs."):
        return "`mkfs` cannot be undone"
    if not is_harmless(argv) or (own_environment and program != "git"):
        for line in _IRREVERSIBLE_BY_PROGRAM.get(program, ()):
            if _begins_like(line, argv):
                return f"`{' '.join(line)}` cannot be undone"
    return _irreversible_inside(program, argv)


def _irreversible_inside(program: str, argv: Sequence[str]) -> str:
    """Return why the command that a program runs for its caller cannot be undone, or an empty string."""
    sets = program_sets()
    words = list(argv[1:])
    if program in ("find", "fd", "npx"):
        starts = [index for index, word in enumerate(words) if word in FIND_ACTIONS]
        words = words[starts[0] + 1 :] if starts else []
    elif program == "git":
        if _overwrites_files(words):
            return "`git checkout` of files cannot be undone"
        words = [
            re.sub(r"^alias\.[^=]*=(?!!)", "git ", word)
            for word in words
            if word.startswith("alias.") or RUNNERS.intersection(words)
        ]
    elif (
        RUNNERS.intersection(words[:3])
        and (program, words[0]) not in SCRIPT_RUNNERS
        and program not in known_programs().keys() - {name for (name,) in sets.too_broad}
    ):
        words = words[next(index for index, word in enumerate(words) if word in RUNNERS) + 1 :]
    elif (
        program in known_programs()
        or (program,) in sets.too_broad
        or program in _IRREVERSIBLE_BY_PROGRAM
        or "/" in argv[0]
    ):
        return ""
    commands = [command for word in words for command in split_loosely(re.sub(r"[=!]", " ", word))]
    all_words = [word for command in commands for word in command]
    return possibly_irreversible_reason(all_words)


def _overwrites_files(words: Sequence[str]) -> bool:
    """Return whether this is `git checkout` of files of another revision, such as `git checkout HEAD~1 src`."""
    arguments = _after_global_options(words) or []
    if arguments[:1] != ["checkout"] or any(word in ("-b", "-t", "--track", "--orphan") for word in arguments):
        return False
    return sum(not word.startswith("-") for word in arguments[1:]) > 1


def _begins_like(line: Sequence[str], argv: Sequence[str]) -> bool:
    """Return whether a command begins with the words of `line`, disregarding options of the program before them."""
    if line[0] != "git" or len(line) == 1:
        return _contains_in_order(line[1:], argv[1:])
    arguments = _after_global_options(argv[1:])
    if arguments is None:
        return _contains_in_order(line[1:], argv[1:])
    return arguments[:1] == [line[1]] and _contains_in_order(line[2:], arguments[1:])


def _after_global_options(words: Sequence[str]) -> list[str] | None:
    """Return the words from git's subcommand on, or None if there is an unknown option before it."""
    remaining = list(words)
    while remaining and remaining[0].startswith("-"):
        name = remaining[0].split("=")[0]
        if remaining[0] in GIT_GLOBAL_VALUES:
            del remaining[:2]
        elif name in GIT_GLOBAL_FLAGS or name in GIT_GLOBAL_VALUES:
            remaining.pop(0)
        else:
            return None
    return remaining


def _contains_in_order(expected: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether the words `expected` occur in `words` in this order; options may be abbreviated or combined."""
    remaining = iter(words)
    return all(any(is_option(item, word) for word in remaining) for item in expected)


def possibly_irreversible_reason(words: Sequence[str]) -> str:
    """Return why a command line that could not be parsed may be irreversible, or an empty string.

    Every word is tried as the start of a command.
    """
    for index, word in enumerate(words):
        program = program_name(word.rpartition("=")[2])
        if (program in _IRREVERSIBLE_BY_PROGRAM or program.startswith("mkfs.")) and (
            reason := irreversible_reason((program, *words[index + 1 : index + 50]))
        ):
            return reason
    return ""


def control_files(argv: Sequence[str]) -> tuple[str, ...]:
    """Return patterns of the files that determine what this command does, such as a Makefile."""
    name = argv[0]
    files = CONTROL_FILES.get(program_name(name), ())
    return (*files, name.removeprefix("./")) if "/" in name and not name.startswith("/") else files
