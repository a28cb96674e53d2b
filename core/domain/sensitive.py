"""Which paths hold secrets, and which a later program would obey: judged by name, whatever case or form it is in."""

import re
import unicodedata
from fnmatch import fnmatchcase, translate
from functools import lru_cache

SECRET_NAMES = (
    ".env", ".env.*", "prod.env", "production.env", "staging.env", "local.env", "secrets.env",
    ".envrc.private", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".pypirc",
    ".git-credentials", ".htpasswd", ".vault-token", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem",
    "*.key", "*.p12", "*.pfx", "*.p8", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.keychain", "*.keychain-db",
    "*.keyring", "*.gpg-key", "credentials.json", "client_secret*.json", "service-account*.json", "secrets.yml",
    "secrets.yaml", "secrets.json", "secrets.toml", ".dockercfg", ".s3cfg", ".boto", "*.ovpn", "wallet.dat", "shadow",
    "gshadow",
)  # fmt: skip
HARMLESS_NAMES = ("*.pub", ".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.test")
SECRET_FOLDERS: tuple[tuple[str, ...], ...] = (
    (".ssh",), (".gnupg",), (".aws",), (".azure",), (".kube",), (".password-store",), (".docker", "config.json"),
    (".config", "gcloud"), (".config", "gh"), (".config", "op"), (".config", "hub"), (".config", "rclone"),
    (".config", "google-chrome"), (".config", "chromium"), (".mozilla",), (".thunderbird",),
    (".local", "share", "keyrings"), ("library", "keychains"), (".gem", "credentials"), (".cargo", "credentials"),
    (".cargo", "credentials.toml"), (".terraform.d", "credentials.tfrc.json"), ("etc", "shadow"), ("etc", "sudoers"),
    ("proc", "*", "environ"), ("proc", "*", "mem"), ("proc", "*", "root"), ("proc", "*", "fd"),
)  # fmt: skip
PROTECTED: tuple[tuple[str, ...], ...] = (
    (".git", "hooks"), (".git", "config"), (".git", "config.worktree"), (".git", "info", "attributes"),
    (".git", "modules"), (".gitmodules",), (".gitattributes",), (".gitconfig",), (".husky",), (".githooks",),
    (".vscode",), (".idea",), (".devcontainer",), (".mcp.json",), (".envrc",), (".claude",), (".agents",),
    (".codex",), (".gemini",), (".cursor",), (".journeyman",), (".bashrc",), (".bash_profile",), (".bash_login",),
    (".bash_logout",), (".bash_aliases",), (".profile",), (".zshrc",), (".zshenv",), (".zprofile",), (".zlogin",),
    (".kshrc",), (".inputrc",), (".vimrc",), (".exrc",), (".npmrc",), (".yarnrc",), (".yarnrc.yml",),
    (".pip", "pip.conf"), (".ripgreprc",), (".pre-commit-config.yaml",), (".github", "workflows"),
    (".gitlab-ci.yml",), (".config", "fish"), (".config", "autostart"), (".config", "systemd"), ("crontab",),
    ("sitecustomize.py",), ("usercustomize.py",),
)  # fmt: skip


def _any_of(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, names)))


_SECRET, _HARMLESS = _any_of(SECRET_NAMES), _any_of(HARMLESS_NAMES)
_FIRST = {places: frozenset(place[0] for place in places) for places in (SECRET_FOLDERS, PROTECTED)}


def plain_parts(path: str) -> list[str]:
    """The parts of a path as the most forgiving file system would compare them."""
    folded = path.casefold()
    if not path.isascii():
        folded = unicodedata.normalize("NFKC", path).casefold()
        folded = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    parts = (re.sub(r"[ .]+$", "", part.split(":")[0]) or part for part in re.split(r"[/\\]", folded))
    return [part for part in parts if part not in ("", ".")]


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


def is_protected(path: str) -> bool:
    """Would another program obey what is written here: a hook, a shell, an editor, an agent?"""
    return _runs_through(plain_parts(path), PROTECTED)


def _runs_through(parts: list[str], places: tuple[tuple[str, ...], ...]) -> bool:
    if _FIRST[places].isdisjoint(parts):
        return False
    return any(
        all(map(fnmatchcase, parts[at : at + len(place)], place))
        for place in places
        for at in range(len(parts) - len(place) + 1)
    )
