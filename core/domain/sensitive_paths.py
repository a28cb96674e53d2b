"""Decides by name which paths hold secrets, and which are protected because other programs act on them."""

import re
import unicodedata
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate
from functools import cache, lru_cache

from core.domain.trusted_files import PROTECTED, READ_ONLY_PATHS

# Names from git-secrets, gitleaks 8.28, trufflehog 3.90 and the templates of github/gitignore, November 2026.
# Files that hold nothing but keys: the sandbox hides their contents from commands.
HIDDEN_NAMES = (
    ".env", ".env.*", ".env-*", ".env_*", "dev.env", "development.env", "prod.env", "production.env", "staging.env",
    "stage.env", "live.env", "local.env", "secrets.env", ".envrc.private", ".dev.vars", ".secret", ".secrets",
    ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".git-credentials", ".htpasswd",
    ".vault-token", ".vault_pass", ".vault_pass.*", ".vault-pass", ".vault_password", ".vault-password",
    ".vault_password_file", "vault_pass.txt", "vault_password.txt", "vault-password.txt", "kubeconfig", "*.kubeconfig",
    "kubeconfig.y*ml", "kube_config", "kube.config", ".terraformrc", "terraform.rc", ".passwd-s3fs", ".databrickscfg",
    ".dockerconfigjson", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "credentials.toml",
)  # fmt: skip
# Files that Journeyman's own tools do not read. Commands may, because tests and servers often need such files.
SECRET_NAMES = (
    *HIDDEN_NAMES, "*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.pkcs12", "*.jks", "*.keystore", "*.kdbx", "*.kdb",
    "*.psafe3", "*.ppk", "*.keytab", "*.keychain", "*.keychain-db", "*.keyring", "*.gpg-key", "*.agekey", "*.tfvars",
    "*.tfvars.json", "*.tfstate", "*.publishsettings", "*.ovpn", "secring.*", "credentials", "credentials.json",
    "credentials.y*ml", "credentials.xml", "credentials.csv", "*accesskeys.csv", "rootkey.csv", "client_secret*.json",
    "service-account*.json", "service_account*.json", "*-firebase-adminsdk-*.json", "gcp-credentials*.json",
    "application_default_credentials.json", "accesstokens.json", "msal_token_cache.json", "kaggle.json",
    "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", "secrets.ini", "secrets.properties", "secret.yml",
    "secret.yaml", "secret.json", "secret_token.rb", "htpasswd", ".dockercfg", ".s3cfg", ".boto", "rclone.conf",
    ".msmtprc", ".esmtprc", ".fetchmailrc", "sftp-config.json", "filezilla.xml", "recentservers.xml", "wallet.dat",
    "shadow", "gshadow", ".bash_history", ".zsh_history", ".sh_history", ".python_history", ".node_repl_history",
    ".psql_history", ".mysql_history", ".rediscli_history", ".irb_history",
)  # fmt: skip
# Endings that often belong to files, or to words of a program, that hold no secret.
AMBIGUOUS_ENDINGS = ("*.pem", "*.key", "*.p8", "*.keyring")
HARMLESS_NAMES = (
    "*.pub", ".env-example", ".env_example", ".env-sample", ".env_sample", ".env.example", ".env.sample",
    ".env.template", ".env.dist", ".env.defaults", ".env.test",
)  # fmt: skip
SECRET_FOLDERS: tuple[tuple[str, ...], ...] = (
    (".ssh",), (".gnupg",), (".aws",), (".azure",), (".kube",), (".password-store",), (".docker", "config.json"),
    (".secrets",), (".oci",), (".snowflake",), (".snowsql",), (".kaggle",), (".step",),
    (".config", "gcloud"), (".config", "gh"), (".config", "op"), (".config", "hub"), (".config", "rclone"),
    (".config", "glab-cli"), (".config", "doctl"), (".config", "ngrok"), (".config", "stripe"), (".config", "netlify"),
    (".config", "sops", "age"), (".config", "composer", "auth.json"), (".composer", "auth.json"),
    (".codex", "auth.json"), (".pulumi", "credentials.json"), (".mc", "config.json"), (".fly", "config.yml"),
    (".cache", "huggingface", "token"), (".huggingface", "token"),
    (".config", "google-chrome"), (".config", "chromium"), (".mozilla",), (".thunderbird",),
    (".local", "share", "keyrings"), (".local", "share", "kwalletd"), ("library", "keychains"),
    (".gem", "credentials"), (".cargo", "credentials"), (".cargo", "credentials.toml"),
    (".terraform.d", "credentials.tfrc.json"), ("etc", "shadow"), ("etc", "sudoers"),
    ("proc", "*", "environ"), ("proc", "*", "mem"), ("proc", "*", "root"), ("proc", "*", "fd"),
)  # fmt: skip
# What editors and people append to the name of a copy, such as `.env~`, `.env.bak` and `.id_rsa.swp`.
BACKUP_SUFFIX = re.compile(r"(?:~|#|\.(?:bak|backup|copy|old|orig|prev|rej|save|sw[a-p]|tmp|un~|\d{1,8}))$")
LONGEST_SUFFIX = 9  # characters
# The parts of .git that make git run programs. The rest has to stay writable, or git could not work.
READ_ONLY_IN_GIT: tuple[tuple[str, ...], ...] = (
    ("hooks",), ("config",), ("config.worktree",), ("info", "attributes"), ("commondir",), ("glab-cli",),
    ("remotes",), ("branches",),
)  # fmt: skip
# Folders in .git that can hold thousands of files, none of which makes git run a program.
LARGE_IN_GIT = frozenset({"objects", "refs", "logs", "lfs", "rr-cache", "annex", "reftable"})


def _any_of(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, names)))


def _any_path(paths: Iterable[tuple[str, ...]]) -> re.Pattern[str]:
    """Return a pattern that finds a path that is one of these places, or below one."""
    names = (re.escape("/".join(parts)).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") for parts in paths)
    return re.compile(f"(?:^|/)(?:{'|'.join(names)})(?:/|$)")


_KEPT_BY_GIT = tuple((".git", *inner) for inner in READ_ONLY_IN_GIT)
_NAMED = (*_KEPT_BY_GIT, *(path for path in PROTECTED if path != (".git",)))  # commands that name .git usually read


# Each pattern is compiled when it is first used.
@cache
def _secret() -> re.Pattern[str]:
    return _any_of(SECRET_NAMES)


@cache
def _hidden() -> re.Pattern[str]:
    return _any_of(HIDDEN_NAMES)


@cache
def _harmless() -> re.Pattern[str]:
    return _any_of(HARMLESS_NAMES)


@cache
def _ambiguous() -> re.Pattern[str]:
    return _any_of(AMBIGUOUS_ENDINGS)


@cache
def _certain() -> re.Pattern[str]:
    """Match names that are not ordinary words, so that a command that contains one certainly means the file."""
    return _any_of(tuple(name for name in SECRET_NAMES if name[0] != "*" and name not in ("kubeconfig", "htpasswd")))


@cache
def _in_secret_folders() -> re.Pattern[str]:
    return _any_path(SECRET_FOLDERS)


@cache
def _read_only() -> re.Pattern[str]:
    return _any_path(READ_ONLY_PATHS)


@cache
def _protected() -> re.Pattern[str]:
    return _any_path(PROTECTED)


@cache
def _in_named() -> re.Pattern[str]:
    return _any_path(_NAMED)


def normalized_parts(path: str) -> list[str]:
    """Return the parts of a path in the form in which the most lenient file system would compare them."""
    folded = path.casefold()
    if not path.isascii():
        folded = unicodedata.normalize("NFKC", path).casefold()
        folded = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    parts = (part.split(":")[0].rstrip(" .") or part for part in re.split(r"[/\\]", folded))
    return [".git" if part == "git~1" else part for part in parts if part not in ("", ".")]


def is_git(name: str) -> bool:
    """Return whether a name is `.git` in any spelling that a file system could accept."""
    return normalized_parts(name) == [".git"]


def path_in_git(path: str) -> str:
    """Return the path within the innermost git folder that a path is in; empty if it is in none."""
    return f"/{path}".rpartition("/.git/")[2] if "/.git/" in f"/{path}" else ""


def is_secret(path: str) -> bool:
    """Return whether this file, or a folder it is in, holds keys or passwords."""
    parts = normalized_parts(path)
    if not parts:
        return False
    if _runs_through(parts, _in_secret_folders()):
        return not fnmatchcase(parts[-1], "*.pub")
    return _is_named(_secret(), parts[-1])


def _is_named(names: re.Pattern[str], name: str) -> bool:
    """Return whether a file has one of these names, or is a copy of a file that has."""
    original = _without_backup_suffixes(name)
    if _harmless().match(name) or _harmless().match(original):
        return False
    spellings = [name]
    if original != name or name.startswith(("#", ".#")):
        spellings += [original, re.sub(r"^(#|\.#|\.)", "", original)]
    return any(map(names.match, spellings))


def _without_backup_suffixes(name: str) -> str:
    """Return the name of the original of a copy. One suffix is searched at a time, at the end: a name can be long."""
    end = len(name)
    while match := BACKUP_SUFFIX.search(name, max(0, end - LONGEST_SUFFIX), end):
        end = match.start()
    return name[:end]


def shows_secrets(path: str) -> bool:
    """Return whether a file that is read along with others holds secrets beyond doubt."""
    parts = normalized_parts(path)
    return is_secret(path) and not _ambiguous().match(parts[-1])


@lru_cache(maxsize=4096)
def names_secret(word: str) -> bool:
    """Return whether a word of a command names a secret beyond doubt.

    A matching file extension alone is not enough: a word such as `event.key` is usually not a file name.
    """
    if any(char.isspace() for char in word):
        return False
    candidates = [word, *(part for part in re.split(r"[=:@,]", word) if part)]
    return any(is_secret(tail) and not _only_by_ending(tail) for tail in candidates)


def _only_by_ending(path: str) -> bool:
    parts = normalized_parts(path)
    return not _is_named(_certain(), parts[-1]) and not _runs_through(parts, _in_secret_folders())


def is_hidden_from_commands(path: str) -> bool:
    """Return whether commands must never see the contents of this file."""
    if (path.startswith(".") or "/." in path) and _runs_through(normalized_parts(path), _in_secret_folders()):
        return not path.endswith(".pub")
    parts = normalized_parts(path.rpartition("/")[2])
    return bool(parts) and _is_named(_hidden(), parts[-1])


def is_protected(path: str) -> bool:
    """Return whether another program, such as a shell, an editor or a git hook, would act on this file."""
    parts = normalized_parts(path)
    # A folder with a HEAD file can be a bare repository, whose configuration makes git run programs.
    return _runs_through(parts, _protected()) or parts[-1:] == ["head"]


def is_read_only(path: str) -> bool:
    """Return whether other programs trust this path or a folder above it.

    Of .git, the sandbox only protects `READ_ONLY_IN_GIT`.
    """
    return _runs_through(normalized_parts(path), _read_only())


def protected_path(path: str) -> str:
    """Return the protected path that a path names or is inside of, spelled as there; empty if there is none."""
    parts = [part for part in re.split(r"[/\\]", path) if part not in ("", ".")]
    normalized = normalized_parts(path)
    if len(parts) != len(normalized) or ".." in parts or not _runs_through(normalized, _in_named()):
        return ""
    ends = [
        index + len(protected)
        for protected in _NAMED
        for index in range(len(normalized))
        if _starts_with(normalized[index:], protected)
    ]
    return "/".join(parts[: min(ends)]) if ends else ""


def _runs_through(parts: list[str], pattern: re.Pattern[str]) -> bool:
    return bool(pattern.search("/".join(parts)))


def _starts_with(parts: list[str], pattern: tuple[str, ...]) -> bool:
    return len(parts) >= len(pattern) and all(map(fnmatchcase, parts, pattern))
