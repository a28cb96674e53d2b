"""Recognizes commands whose effect cannot be undone, even if another command runs them."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from core.domain.command_arguments import is_option
from core.domain.command_line import program_name, split_loosely
from core.domain.command_tables import known_programs, program_sets, words_of
from core.domain.known_commands import has_only_known_arguments

# Options of git before the subcommand, without a value and with one.
GIT_GLOBAL_FLAGS = words_of(
    "-p -P --paginate --no-pager --bare --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice -v -h"
    " --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --exec-path --html-path --man-path"
    " --info-path --version --help --list-cmds"
)
GIT_GLOBAL_VALUES = words_of("-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source")
# Options of find and similar programs that are followed by a command to run.
FIND_ACTIONS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch", "-c", "--call"})
# Words of programs such as `uv` or `docker` that are followed by a command to run, and the programs whose `run` is
# followed by the name of a script instead.
RUNNERS = frozenset({"run", "exec", "x", "dlx", "foreach", "--exec", "-x", "exec:exec"})
SCRIPT_RUNNERS = frozenset({("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run")})

# Commands whose effect cannot be undone: the program, and words that must follow it in this order.
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


# The programs that are tried as inner commands of one line. Commands nest, so trying all of a long line takes minutes.
MAX_TRIES = 300
TOO_MANY = "The command names too many programs to check whether it can be undone"


def irreversible_reason(
    argv: Sequence[str], *, own_environment: bool = False, tries: Iterator[int] | None = None
) -> str:
    """Return why the effect of a command cannot be undone; "" if it can.

    `own_environment`: the command line sets environment variables, which can make a harmless command do something else.
    `tries` has an item for each program that may still be tried as an inner command.
    """
    program = program_name(argv[0])
    if program.startswith("mkfs."):
        return "“mkfs” cannot be undone"
    if not has_only_known_arguments(argv) or (own_environment and program != "git"):
        for line in _IRREVERSIBLE_BY_PROGRAM.get(program, ()):
            if _begins_like(line, argv):
                return f"“{' '.join(line)}” cannot be undone"
    return _irreversible_inside(program, argv, iter(range(MAX_TRIES)) if tries is None else tries)


def _irreversible_inside(program: str, argv: Sequence[str], tries: Iterator[int]) -> str:
    """Return why a command that `argv` runs in turn, as `find -exec` does, cannot be undone; "" if it can."""
    if program == "git" and _overwrites_files(argv[1:]):
        return "“git checkout” of files cannot be undone"
    commands = [
        command for word in _possible_commands(program, argv) for command in split_loosely(re.sub(r"[=!]", " ", word))
    ]
    return possibly_irreversible_reason([word for command in commands for word in command], tries)


def _possible_commands(program: str, argv: Sequence[str]) -> Sequence[str]:
    """Return the words of a command that may form another command to run; for an unknown program, all its words."""
    words = argv[1:]
    if program in ("find", "fd", "npx"):
        return _after_first(words, FIND_ACTIONS)
    if program == "git":
        is_runner = not RUNNERS.isdisjoint(words)
        aliases = [word for word in words if is_runner or word.startswith("alias.")]
        # An alias with `!` is a shell command, otherwise a git subcommand.
        return [re.sub(r"^alias\.[^=]*=(?!!)", "git ", alias) for alias in aliases]
    is_known = program in known_programs()
    is_broad = (program,) in program_sets().too_broad
    if (is_broad or not is_known) and RUNNERS.intersection(words[:3]) and (program, words[0]) not in SCRIPT_RUNNERS:
        return _after_first(words, RUNNERS)
    if is_known or is_broad or program in _IRREVERSIBLE_BY_PROGRAM or "/" in argv[0]:
        return ()
    return words


def _after_first(words: Sequence[str], marks: Collection[str]) -> Sequence[str]:
    """Return the words after the first one in `marks`."""
    return next((words[index + 1 :] for index, word in enumerate(words) if word in marks), ())


def _overwrites_files(words: Sequence[str]) -> bool:
    """Return whether git arguments check out files of another revision over changes, such as `checkout HEAD~1 src`."""
    arguments = _after_global_options(words) or []
    if arguments[:1] != ["checkout"] or any(word in ("-b", "-t", "--track", "--orphan") for word in arguments):
        return False
    return sum(not word.startswith("-") for word in arguments[1:]) > 1


def _begins_like(line: Sequence[str], argv: Sequence[str]) -> bool:
    """Return whether `argv` is the command `line`, whose words may be mixed with options and other arguments.

    For git, the first word after global options must be the subcommand.
    """
    if line[0] != "git" or len(line) == 1:
        return _contains_in_order(line[1:], argv[1:])
    arguments = _after_global_options(argv[1:])
    if arguments is None:
        return _contains_in_order(line[1:], argv[1:])
    return arguments[:1] == [line[1]] and _contains_in_order(line[2:], arguments[1:])


def _after_global_options(words: Sequence[str]) -> list[str] | None:
    """Return git's arguments from the subcommand on; None if an unknown option precedes it."""
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


def possibly_irreversible_reason(words: Sequence[str], tries: Iterator[int] | None = None) -> str:
    """Return why a command line that could not be parsed may be irreversible; "" if nothing suggests that.

    Every word is tried as the start of a command. `tries` is as in `irreversible_reason`.
    """
    tries = iter(range(MAX_TRIES)) if tries is None else tries
    for index, word in enumerate(words):
        program = program_name(word.rpartition("=")[2])
        if program not in _IRREVERSIBLE_BY_PROGRAM and not program.startswith("mkfs."):
            continue
        if next(tries, None) is None:
            return TOO_MANY
        if reason := irreversible_reason((program, *words[index + 1 : index + 50]), tries=tries):
            return reason
    return ""
