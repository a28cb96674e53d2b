"""Which paths hold secrets, and which a later program would obey: judged by name, whatever case or form it is in."""

import re
import unicodedata
from fnmatch import fnmatchcase, translate
from functools import lru_cache

# Files that hold nothing but keys: commands never see what is in them.
HIDDEN_NAMES = (
    ".env", ".env.*", "prod.env", "production.env", "staging.env", "local.env", "secrets.env", ".envrc.private",
    ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd", ".vault-token",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "credentials.toml",
)  # fmt: skip
# No tool reads these, but commands may: tests and servers keep such files by the dozen.
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
# What git obeys in its folder. The rest of it commands must change, or git could not work.
WALLED_IN_GIT: tuple[tuple[str, ...], ...] = (
    ("hooks",), ("config",), ("config.worktree",), ("info", "attributes"), ("commondir",),
)  # fmt: skip
# Of these there can be thousands of files, and git obeys none.
LARGE_IN_GIT = frozenset({"objects", "refs", "logs", "lfs", "rr-cache", "annex", "reftable"})
# What programs here obey without being asked again: commands find it read-only.
WALLED: tuple[tuple[str, ...], ...] = (
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
# What is obeyed later, or elsewhere. Tools ask before they write it; a checkout or a merge may bring it, and is told.
PROTECTED: tuple[tuple[str, ...], ...] = (
    *WALLED, (".npmrc",), (".yarnrc",), (".yarnrc.yml",), (".pip", "pip.conf"), (".pre-commit-config.yaml",),
    (".github", "workflows"), (".gitlab-ci.yml",), ("crontab",), ("sitecustomize.py",), ("usercustomize.py",),
)  # fmt: skip


WALLED_NAMES = (*("/".join(place) for place in WALLED), ".Rprofile", ".Renviron")  # as they are spelled


def _any_of(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, names)))


_SECRET, _HIDDEN, _HARMLESS = map(_any_of, (SECRET_NAMES, HIDDEN_NAMES, HARMLESS_NAMES))
_KEPT_BY_GIT = tuple((".git", *inner) for inner in WALLED_IN_GIT)
_NAMED = (*_KEPT_BY_GIT, *PROTECTED[1:])  # a command that names .git itself reads it, as a rule
_FIRST = {places: frozenset(place[0] for place in places) for places in (SECRET_FOLDERS, WALLED, PROTECTED, _NAMED)}


def plain_parts(path: str) -> list[str]:
    """The parts of a path as the most forgiving file system would compare them."""
    folded = path.casefold()
    if not path.isascii():
        folded = unicodedata.normalize("NFKC", path).casefold()
        folded = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    parts = (re.sub(r"[ .]+$", "", part.split(":")[0]) or part for part in re.split(r"[/\\]", folded))
    return [".git" if part == "git~1" else part for part in parts if part not in ("", ".")]


def is_git(name: str) -> bool:
    """Is this what git keeps its own in, in whatever spelling?"""
    return plain_parts(name) == [".git"]


def is_secret(path: str) -> bool:
    """Does this file, or the folder it lies in, hold keys or passwords?"""
    parts = plain_parts(path)
    if not parts:
        return False
    if _runs_through(parts, SECRET_FOLDERS):
        return not fnmatchcase(parts[-1], "*.pub")
    return bool(_SECRET.match(parts[-1])) and not _HARMLESS.match(parts[-1])


@lru_cache(maxsize=4096)
def names_secret(word: str) -> bool:
    """Does a word of a command name a secret beyond doubt? `event.key` may be a file, and mostly is none."""
    if any(sign.isspace() for sign in word):
        return False
    tails = [word, *(part for part in re.split(r"[=:@,]", word) if part)]
    return any(is_secret(tail) and not _only_by_ending(tail) for tail in tails)


def _only_by_ending(path: str) -> bool:
    parts = plain_parts(path)
    strong = any(fnmatchcase(parts[-1], name) for name in SECRET_NAMES if not name.startswith("*"))
    return not strong and not _runs_through(parts, SECRET_FOLDERS)


def is_hidden(path: str) -> bool:
    """Do commands never see the contents of this file?"""
    if (path.startswith(".") or "/." in path) and _runs_through(plain_parts(path), SECRET_FOLDERS):
        return not path.endswith(".pub")
    parts = plain_parts(path.rpartition("/")[2])
    return bool(parts) and bool(_HIDDEN.match(parts[-1])) and not _HARMLESS.match(parts[-1])


def is_protected(path: str) -> bool:
    """Would another program obey what is written here: a hook, a shell, an editor, an agent?"""
    parts = plain_parts(path)
    # A folder with a HEAD in it can be a repository, with orders beside it.
    return _runs_through(parts, PROTECTED) or parts[-1:] == ["head"]


def is_walled(path: str) -> bool:
    """Is this read-only to commands, but for git's own folder, where only some of it is?"""
    return _runs_through(plain_parts(path), WALLED)


def protected_in(path: str) -> str:
    """The protected place that a path of a command lies in or is, as it is spelled; empty where there is none."""
    parts = [part for part in re.split(r"[/\\]", path) if part not in ("", ".")]
    plain = plain_parts(path)
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
