"""Knowledge about command-line programs: harmless options, irreversible commands, and files that control programs."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from core.domain.command_line import program_name


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOG = (
    "--oneline --stat --shortstat --numstat --name-only --name-status --graph --all --decorate --no-decorate -p -u"
    " --patch --reverse --merges --no-merges --follow --cached --staged"
    " -w -b --word-diff --no-color --color=never -n -s"
    " --summary --abbrev-commit --first-parent --no-ext-diff --no-textconv --no-pager -1 -2 -3 -5 -10 -20 -50 --"
)
_TEST = (
    "-q -v -vv -x -s -l -rA -ra -k -m --lf --ff --maxfail=1 --tb=short --tb=no --tb=line --co --collect-only"
    " --durations=10 -n --no-header --verbose --quiet --"
)
_LINT = "--check --diff --fix --quiet -q --verbose -v --statistics --no-cache --strict --show-error-codes --"
_BUILD = "--release --verbose -v --quiet -q --all --workspace --lib --bins --tests --offline --locked --frozen"

# By command prefix, the options that the `*` in a permission rule such as `git log *` may match.
HARMLESS_OPTIONS: Mapping[tuple[str, ...], frozenset[str]] = MappingProxyType(
    {
        ("git", "status"): _words("-s -sb -b --short --branch --porcelain --long -u -uno --ignored --"),
        ("git", "log"): _words(_LOG),
        ("git", "diff"): _words(_LOG),
        ("git", "show"): _words(_LOG),
        ("git", "blame"): _words("-w -L -s -e --"),
        ("git", "branch"): _words("-a -v -vv -r --list --show-current --all"),
        ("git", "ls-files"): _words("-o -m -d --others --exclude-standard --cached --modified --deleted --"),
        ("git", "rev-parse"): _words("--short --abbrev-ref --show-toplevel --verify HEAD"),
        ("git", "add"): _words("-A -u --all --update --"),
        ("git", "commit"): _words("-m -a -am --all --message"),
        ("git", "stash", "list"): frozenset(),
        ("ls",): _words("-l -a -la -al -lah -lh -1 -R -t -r -d -h -A -F --all --"),
        ("cat",): _words("-n -b -s -A -"),
        ("head",): _words("-n -c -q -v -1 -5 -10 -20 -50 -100 --"),
        ("tail",): _words("-n -c -q -v -1 -5 -10 -20 -50 -100 --"),
        ("wc",): _words("-l -w -c -m --"),
        ("grep",): _words(
            "-n -r -i -l -c -v -w -E -F -rn -in -rin -ri -nr -q -o -A -B -C -H -h --include --exclude -e --"
        ),
        ("rg",): _words("-n -i -l -c -v -w -F -A -B -C -t -g --files --hidden --no-ignore -e --"),
        ("diff",): _words("-u -r -q -w -b -N -ur -ru --brief --unified --"),
        ("sort",): _words("-n -r -u -k -t -h -nr -rn"),
        ("uniq",): _words("-c -d -u -i"),
        ("cut",): _words("-d -f -c"),
        ("tr",): _words("-d -s -c"),
        ("stat",): _words("-c -f -L"),
        ("file",): _words("-b -i --mime-type"),
        ("du",): _words("-s -h -sh -a -d"),
        ("df",): _words("-h"),
        ("find",): _words("-name -iname -type -maxdepth -mindepth -path -not -size -mtime -newer -empty -print -o -a"),
        ("pytest",): _words(_TEST),
        ("python", "-m", "pytest"): _words(_TEST),
        ("python", "-m", "unittest"): _words("-v -q -f -b discover"),
        ("ruff", "check"): _words(_LINT),
        ("ruff", "format"): _words(_LINT),
        ("mypy",): _words("--strict --no-incremental --pretty --show-error-codes"),
        ("black",): _words(_LINT),
        ("isort",): _words(_LINT),
        ("flake8",): _words("--statistics --count"),
        ("npm", "test"): _words("--silent --"),
        ("npm", "run"): _words("--silent --if-present"),
        ("npx", "tsc"): _words("--noEmit -p"),
        ("npx", "eslint"): _words("--fix --quiet --ext"),
        ("npx", "prettier"): _words("--check --write"),
        ("tsc",): _words("--noEmit -p"),
        ("eslint",): _words("--fix --quiet --ext"),
        ("prettier",): _words("--check --write"),
        ("cargo", "build"): _words(_BUILD),
        ("cargo", "test"): _words(_BUILD),
        ("cargo", "check"): _words(_BUILD),
        ("cargo", "clippy"): _words(_BUILD),
        ("cargo", "fmt"): _words("--all --check --"),
        ("go", "build"): _words("-v -race"),
        ("go", "test"): _words("-v -run -race -count -short -cover -bench"),
        ("go", "vet"): frozenset(),
        ("make",): _words("-j -j2 -j4 -j8 -k -n -s -B"),
        ("mkdir",): _words("-p -v"),
        ("touch",): frozenset(),
    }
)

# No rule may be one of these programs followed by `*`, because the words after it decide what the command does.
PREFIXES_TOO_BROAD_FOR_RULES = frozenset(
    (word,)
    for word in _words(
        "git python pypy perl ruby node deno bun php lua tclsh awk gawk mawk sed ed ex vi vim nvim"
        " emacs nano npm npx pnpm yarn pip pip3 pipx uv uvx"
        " poetry cargo go docker podman kubectl helm terraform gh glab aws"
        " gcloud az apt apt-get dnf yum pacman brew snap systemctl service"
        " curl wget rsync scp sftp ftp tar zip unzip 7z cpio"
        " dd gcc g++ cc clang java javac dotnet gradle mvn ant"
        " just task tox nox hatch jq yq sqlite3 psql mysql mongo redis-cli"
        " openssl gpg tee cp mv ln install chmod chown rm rmdir shred truncate kill pkill killall mount umount julia"
    )
)

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
    git push
    git clean
    git gc
    git prune
    git reset --hard
    git checkout -f
    git checkout --
    git checkout .
    git restore
    git branch -D
    git branch -d
    git tag -d
    git stash drop
    git stash clear
    git reflog expire
    git filter-branch
    git filter-repo
    git update-ref
    git remote remove
    git worktree remove
    git rebase
    git commit --amend
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
    docker rmi
    docker system
    docker volume
    podman push
    podman rm
    kubectl
    helm
    terraform
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
    for word in argv[1:]:
        for option in CODE_OPTIONS.get(program, ()):
            glued = len(option) == 2 and option[0] == "-" and option[1] != "-" and program not in ("find", "go")
            if (
                word == option
                or word.startswith(f"{option}=")
                or (glued and _contains_short_option(program, word, option))
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

    A word that is itself in `HARMLESS_OPTIONS` does not count.
    """
    if not word.startswith("-") or word.startswith("--") or len(word) < 3:
        return False
    known = any(word in options for words, options in HARMLESS_OPTIONS.items() if words[0] == program)
    return not known and option[1] in word[1:]


def harmless_options(prefix: Sequence[str]) -> frozenset[str]:
    """Return the options that the `*` of a rule pattern matches after the words `prefix`."""
    words = (program_name(prefix[0]), *prefix[1:])
    return next(
        (HARMLESS_OPTIONS[words[:n]] for n in range(len(words), 0, -1) if words[:n] in HARMLESS_OPTIONS), frozenset()
    )


def irreversible_reason(argv: Sequence[str]) -> str:
    """Return why the effect of this command cannot be undone, or an empty string.

    A subcommand is also recognized if options precede it.
    """
    program = program_name(argv[0])
    for line in _IRREVERSIBLE_BY_PROGRAM.get(program, ()):
        if _in_order(line[1:], argv[1:]):
            return f"`{' '.join(line)}` cannot be undone"
    return "`mkfs` cannot be undone" if program.startswith("mkfs.") else ""


def _in_order(expected: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether the words `expected` occur in `words` in this order; `--option=value` counts as `--option`."""
    rest = iter(words)
    return all(any(word == item or word.startswith(f"{item}=") for word in rest) for item in expected)


def possibly_irreversible_reason(words: Sequence[str]) -> str:
    """Return why a command line that could not be parsed may be irreversible, or an empty string.

    Every word is tried as the start of a command.
    """
    for at, word in enumerate(words):
        program = program_name(word)
        if (program in _IRREVERSIBLE_BY_PROGRAM or program.startswith("mkfs.")) and (
            reason := irreversible_reason(words[at : at + 50])
        ):
            return reason
    return ""


def control_files(argv: Sequence[str]) -> tuple[str, ...]:
    """Return patterns of the files that determine what this command does, such as a Makefile."""
    name = argv[0]
    files = CONTROL_FILES.get(program_name(name), ())
    return (*files, name.removeprefix("./")) if "/" in name and not name.startswith("/") else files
