"""Names that only a person may change, and names that hold secrets: lists, and questions anyone can ask of a path."""

import unicodedata
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

# A folder's names, from anywhere in it. What others run or trust later: an agent must not plant anything there unseen.
PROTECTED = (
    ".git",
    ".gitmodules",
    ".gitattributes",
    ".gitconfig",
    ".vscode",
    ".idea",
    ".mcp.json",
    ".envrc",
    ".ripgreprc",
    ".journeyman",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".config/fish",
)
# What git itself must be able to change while a command runs is not among these.
PROTECTED_IN_GIT = ("hooks", "config", "config.worktree")

SECRET_FOLDERS = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    "Library/Keychains",
    ".mozilla",
    ".thunderbird",
)
# Hidden from commands too; the second list is only asked about, since tests and servers keep such files by the dozen.
SECRET_NAMES = (
    ".env",
    ".env.*",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".htpasswd",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "credentials.toml",
)
SECRET_LOOKING = (
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.kdbx",
    "*.jks",
    "*.keystore",
    "credentials",
    "credentials.json",
)
HARMLESS = (".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", "*.pub")

_IGNORED = dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, *range(0x200E, 0x2010), *range(0x202A, 0x202F)])


def plain(part: str) -> str:
    """A name as file systems that fold case, accents, and invisible signs compare it."""
    folded = unicodedata.normalize("NFKC", part.translate(_IGNORED)).casefold()
    folded = folded.split(":", 1)[0].rstrip(". ") or folded  # Windows: streams, trailing dots
    return ".git" if folded == "git~1" else folded


def is_protected(path: str) -> bool:
    """Whether a path of the workspace is one that only a person may let change. Links must be resolved already."""
    return _holds(_parts(path), PROTECTED)


def touches_secret(path: str | Path, own: Path | None = None) -> bool:
    """Whether this path may hold a key or a password; `own` is our data folder, which holds the journal."""
    if own is not None and Path(path).is_absolute() and Path(path).is_relative_to(own):
        return True
    parts = _parts(str(path))
    return _holds(parts, SECRET_FOLDERS) or (bool(parts) and _matches(parts[-1], SECRET_NAMES + SECRET_LOOKING))


def is_hidden(path: str) -> bool:
    """Whether commands never see the contents of this file of the workspace."""
    parts = _parts(path)
    return bool(parts) and _matches(parts[-1], SECRET_NAMES)


def _parts(path: str) -> list[str]:
    return [plain(part) for part in PurePosixPath(path.replace("\\", "/")).parts if part not in ("/", ".")]


def _holds(parts: list[str], names: tuple[str, ...]) -> bool:
    whole = f"/{'/'.join(parts)}/"
    return any(f"/{name.casefold()}/" in whole for name in names)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    if any(fnmatchcase(name, pattern) for pattern in HARMLESS):
        return False
    return any(fnmatchcase(name, pattern) for pattern in patterns)
