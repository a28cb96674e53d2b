"""Decides by name which paths hold secrets, and which are protected because other programs act on them."""

import re
import unicodedata
from fnmatch import fnmatchcase, translate
from functools import lru_cache

# Files that hold nothing but keys: the sandbox hides their contents from commands.
HIDDEN_NAMES = (
    ".env", ".env.*", "prod.env", "production.env", "staging.env", "local.env", "secrets.env", ".envrc.private",
    ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd", ".vault-token",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "credentials.toml",
)  # fmt: skip
# Files that Journeyman's own tools do not read. Commands may, because tests and servers often need such files.
SECRET_NAMES = (
    *HIDDEN_NAMES, "*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.keychain",
    "*.keychain-db", "*.keyring", "*.gpg-key", "credentials", "credentials.json", "client_secret*.json",
    "service-account*.json", "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", ".dockercfg", ".s3cfg",
    ".boto", "*.ovpn", "wallet.dat", "shadow", "gshadow",
)  # fmt: skip
HARMLESS_NAMES = ("*.pub", ".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.test")
SECRET_FOLDERS: tuple[tuple[str, ...], ...] = (
    (".ssh",), (".gnupg",), (".aws",), (".azure",), (".kube",), (".password-store",), (".docker", "config.json"),
    (".config", "gcloud"), (".config", "gh"), (".config", "op"), (".config", "hub"), (".config", "rclone"),
    (".config", "google-chrome"), (".config", "chromium"), (".mozilla",), (".thunderbird",),
    (".local", "share", "keyrings"), (".local", "share", "kwalletd"), ("library", "keychains"),
    (".gem", "credentials"), (".cargo", "credentials"), (".cargo", "credentials.toml"),
    (".terraform.d", "credentials.tfrc.json"), ("etc", "shadow"), ("etc", "sudoers"),
    ("proc", "*", "environ"), ("proc", "*", "mem"), ("proc", "*", "root"), ("proc", "*", "fd"),
)  # fmt: skip
# The parts of .git that make git run programs. The rest has to stay writable, or git could not work.
READ_ONLY_IN_GIT: tuple[tuple[str, ...], ...] = (
    ("hooks",), ("config",), ("config.worktree",), ("info", "attributes"), ("commondir",),
)  # fmt: skip
# Folders in .git that can hold thousands of files, none of which makes git run a program.
LARGE_IN_GIT = frozenset({"objects", "refs", "logs", "lfs", "rr-cache", "annex", "reftable"})
# Files that local programs act on without asking: read-only inside the sandbox.
READ_ONLY_PATHS: tuple[tuple[str, ...], ...] = (
    (".git",), (".gitmodules",), (".gitattributes",), (".gitconfig",), (".husky",), (".githooks",), (".vscode",),
    (".idea",), (".devcontainer",), (".mcp.json",), (".envrc",), (".claude",), (".agents",), (".codex",), (".gemini",),
    (".cursor",), (".windsurf",), (".kiro",), (".opencode",), (".zed",), (".fleet",), (".nvim.lua",), (".nvimrc",),
    (".qwen",), (".roo",), (".amazonq",), (".factory",), (".junie",), (".continue",), (".trae",), (".crush.json",),
    ("crush.json",), ("opencode.json",), ("opencode.jsonc",), (".aider.conf.yml",),
    (".dir-locals.el",), (".gdbinit",), (".lldbinit",), (".pdbrc",), (".pdbrc.py",), (".irbrc",), (".pryrc",),
    (".rprofile",), (".renviron",), (".ghci",), (".ocamlinit",), (".hg", "hgrc"), (".jj", "repo", "config.toml"),
    (".journeyman",), (".bashrc",), (".bash_profile",), (".bash_login",), (".bash_logout",),
    (".bash_aliases",), (".profile",), (".zshrc",), (".zshenv",), (".zprofile",), (".zlogin",), (".kshrc",),
    (".inputrc",), (".vimrc",), (".exrc",), (".ripgreprc",), (".config", "fish"), (".config", "autostart"),
    (".config", "systemd"),
)  # fmt: skip
# Files that other programs act on, perhaps later or on another computer. Writing one needs approval; if a checkout or
# merge brings one, that is reported.
PROTECTED: tuple[tuple[str, ...], ...] = (
    *READ_ONLY_PATHS, (".npmrc",), (".yarnrc",), (".yarnrc.yml",), (".pip", "pip.conf"), (".pre-commit-config.yaml",),
    (".github", "workflows"), (".gitlab-ci.yml",), ("crontab",), ("sitecustomize.py",), ("usercustomize.py",),
)  # fmt: skip


READ_ONLY_NAMES = (
    *("/".join(place) for place in READ_ONLY_PATHS),
    ".Rprofile",
    ".Renviron",
)  # with their usual spelling


def _any_of(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, names)))


_SECRET, _HIDDEN, _HARMLESS = map(_any_of, (SECRET_NAMES, HIDDEN_NAMES, HARMLESS_NAMES))
_KEPT_BY_GIT = tuple((".git", *inner) for inner in READ_ONLY_IN_GIT)
_NAMED = (*_KEPT_BY_GIT, *PROTECTED[1:])  # commands that name .git itself usually read it
_FIRST = {
    places: frozenset(place[0] for place in places) for places in (SECRET_FOLDERS, READ_ONLY_PATHS, PROTECTED, _NAMED)
}


def normalized_parts(path: str) -> list[str]:
    """Return the parts of a path in the form in which the most lenient file system would compare them."""
    folded = path.casefold()
    if not path.isascii():
        folded = unicodedata.normalize("NFKC", path).casefold()
        folded = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    parts = (re.sub(r"[ .]+$", "", part.split(":")[0]) or part for part in re.split(r"[/\\]", folded))
    return [".git" if part == "git~1" else part for part in parts if part not in ("", ".")]


def is_git(name: str) -> bool:
    """Return whether a name is `.git` in any spelling that a file system could accept."""
    return normalized_parts(name) == [".git"]


def is_secret(path: str) -> bool:
    """Return whether this file, or a folder it is in, holds keys or passwords."""
    parts = normalized_parts(path)
    if not parts:
        return False
    if _runs_through(parts, SECRET_FOLDERS):
        return not fnmatchcase(parts[-1], "*.pub")
    return bool(_SECRET.match(parts[-1])) and not _HARMLESS.match(parts[-1])


@lru_cache(maxsize=4096)
def names_secret(word: str) -> bool:
    """Return whether a word of a command names a secret beyond doubt.

    A matching file extension alone is not enough: a word such as `event.key` is usually not a file name.
    """
    if any(char.isspace() for char in word):
        return False
    tails = [word, *(part for part in re.split(r"[=:@,]", word) if part)]
    return any(is_secret(tail) and not _only_by_ending(tail) for tail in tails)


def _only_by_ending(path: str) -> bool:
    parts = normalized_parts(path)
    strong = any(fnmatchcase(parts[-1], name) for name in SECRET_NAMES if not name.startswith("*"))
    return not strong and not _runs_through(parts, SECRET_FOLDERS)


def is_hidden_from_commands(path: str) -> bool:
    """Return whether commands must never see the contents of this file."""
    if (path.startswith(".") or "/." in path) and _runs_through(normalized_parts(path), SECRET_FOLDERS):
        return not path.endswith(".pub")
    parts = normalized_parts(path.rpartition("/")[2])
    return bool(parts) and bool(_HIDDEN.match(parts[-1])) and not _HARMLESS.match(parts[-1])


def is_protected(path: str) -> bool:
    """Return whether another program, such as a shell, an editor or a git hook, would act on this file."""
    parts = normalized_parts(path)
    # A folder with a HEAD file can be a bare repository, whose configuration makes git run programs.
    return _runs_through(parts, PROTECTED) or parts[-1:] == ["head"]


def is_read_only(path: str) -> bool:
    """Return whether a path is in `READ_ONLY_PATHS` or below. Of .git, the sandbox only protects `READ_ONLY_IN_GIT`."""
    return _runs_through(normalized_parts(path), READ_ONLY_PATHS)


def protected_place(path: str) -> str:
    """Return the protected place that a path names or is inside of, spelled as in the path; empty if there is none."""
    parts = [part for part in re.split(r"[/\\]", path) if part not in ("", ".")]
    plain = normalized_parts(path)
    if len(parts) != len(plain) or ".." in parts or _FIRST[_NAMED].isdisjoint(plain):
        return ""
    ends = [at + len(place) for place in _NAMED for at in range(len(plain)) if _fits(plain[at:], place)]
    return "/".join(parts[: min(ends)]) if ends else ""


def _runs_through(parts: list[str], places: tuple[tuple[str, ...], ...]) -> bool:
    if _FIRST[places].isdisjoint(parts):
        return False
    return any(_fits(parts[at:], place) for place in places for at in range(len(parts) - len(place) + 1))


def _fits(parts: list[str], place: tuple[str, ...]) -> bool:
    return len(parts) >= len(place) and all(map(fnmatchcase, parts, place))
