"""Decides by name which paths hold secrets, and which are protected because other programs act on them.

| question | names | who asks, and what follows |
|---|---|---|
| `is_secret` | `SECRET_NAMES`, `SECRET_FOLDERS` | Journeyman's own tools: they refuse to read the file |
| `is_hidden_from_commands` | `HIDDEN_NAMES`, `SECRET_FOLDERS` | the sandbox: it hides the file of a workspace |
| `names_secret` | secret names except `ORDINARY_WORDS` and endings | the policy: a command with such a word is denied |
| `shows_secrets` | secret names without `AMBIGUOUS_ENDINGS` | the policy: a command that reads a whole folder asks |
| `is_protected` | `PROTECTED` | file tools: a change needs approval |
| `is_read_only` | `READ_ONLY_PATHS`, a part of `PROTECTED` | the sandbox: commands cannot change the file |

A path in `SECRET_FOLDERS` counts for the first four questions. `HIDDEN_NAMES` are a part of `SECRET_NAMES`.
"""

import re
import unicodedata
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate
from functools import cache, lru_cache

from core.domain.trusted_files import PROTECTED, READ_ONLY_PATHS


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _paths(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the components of each path in a text."""
    return tuple(tuple(path.split("/")) for path in text.split())


# Names from git-secrets, gitleaks 8.28, trufflehog 3.90 and the templates of github/gitignore, November 2026. Files
# that contain nothing but secrets: the sandbox hides their contents from commands.
HIDDEN_NAMES = _names(
    """
    .env .env.* .env-* .env_* dev.env development.env prod.env production.env staging.env stage.env live.env
    local.env secrets.env .envrc.private .dev.vars .secret .secrets .netrc _netrc .npmrc .pypirc .pgpass .my.cnf
    .mylogin.cnf .git-credentials .htpasswd .vault-token .vault_pass .vault_pass.* .vault-pass .vault_password
    .vault-password .vault_password_file vault_pass.txt vault_password.txt vault-password.txt kubeconfig
    *.kubeconfig kubeconfig.y*ml kube_config kube.config .terraformrc terraform.rc .passwd-s3fs .databrickscfg
    .dockerconfigjson id_rsa* id_dsa* id_ecdsa* id_ed25519* credentials.toml
    """
)
# Files that Journeyman's own tools refuse to read. Commands may read them, because tests and servers often need to.
SECRET_NAMES = (
    *HIDDEN_NAMES,
    *_names(
        """
        *.pem *.key *.p12 *.pfx *.p8 *.pkcs12 *.jks *.keystore *.kdbx *.kdb *.psafe3 *.ppk *.keytab *.keychain
        *.keychain-db *.keyring *.gpg-key *.agekey *.tfvars *.tfvars.json *.tfstate *.publishsettings *.ovpn secring.*
        credentials credentials.json credentials.y*ml credentials.xml credentials.csv *accesskeys.csv rootkey.csv
        client_secret*.json service-account*.json service_account*.json *-firebase-adminsdk-*.json gcp-credentials*.json
        application_default_credentials.json accesstokens.json msal_token_cache.json kaggle.json secrets.yml
        secrets.yaml secrets.json secrets.toml secrets.ini secrets.properties secret.yml secret.yaml secret.json
        secret_token.rb htpasswd .dockercfg .s3cfg .boto rclone.conf .msmtprc .esmtprc .fetchmailrc sftp-config.json
        filezilla.xml recentservers.xml wallet.dat shadow gshadow .bash_history .zsh_history .sh_history .python_history
        .node_repl_history .psql_history .mysql_history .rediscli_history .irb_history
        """
    ),
)
# Extensions of files that often contain no secret, and that also look like attributes in program text.
AMBIGUOUS_ENDINGS = ("*.pem", "*.key", "*.p8", "*.keyring")
# Names that are also ordinary words: a command such as `grep -rn credentials src` rarely means the file.
ORDINARY_WORDS = ("credentials", "shadow", "gshadow", "htpasswd", "kubeconfig")
HARMLESS_NAMES = _names(
    """
    *.pub .env-example .env_example .env-sample .env_sample .env.example .env.sample .env.template .env.dist
    .env.defaults .env.test
    """
)
SECRET_FOLDERS = _paths(
    """
    .ssh .gnupg .aws .azure .kube .password-store .docker/config.json .secrets .oci .snowflake .snowsql .kaggle
    .step .config/gcloud .config/gh .config/op .config/hub .config/rclone .config/glab-cli .config/doctl
    .config/ngrok .config/stripe .config/netlify .config/sops/age .config/composer/auth.json .composer/auth.json
    .codex/auth.json .pulumi/credentials.json .mc/config.json .fly/config.yml .cache/huggingface/token
    .huggingface/token .config/google-chrome .config/chromium .mozilla .thunderbird .local/share/keyrings
    .local/share/kwalletd library/keychains .gem/credentials .cargo/credentials .cargo/credentials.toml
    .terraform.d/credentials.tfrc.json etc/shadow etc/gshadow etc/sudoers proc/*/environ proc/*/mem proc/*/root
    proc/*/fd
    """
)
# Suffixes that editors and people append to the names of copies, such as `.env~`, `.env.bak` and `.id_rsa.swp`.
BACKUP_SUFFIX = re.compile(r"(?:~|#|\.(?:bak|backup|copy|old|orig|prev|rej|save|sw[a-p]|tmp|un~|\d{1,8}))$")
LONGEST_SUFFIX = 9  # characters of the longest match of BACKUP_SUFFIX
# The paths in .git that make git or a shell run programs. The rest must stay writable for git to work.
READ_ONLY_IN_GIT = _paths(
    "hooks config config.worktree info/attributes commondir glab-cli lazygit.yml remotes branches safe"
)
# Folders in .git that can hold thousands of files, none of which makes git run a program.
LARGE_IN_GIT = frozenset({"objects", "refs", "logs", "lfs", "rr-cache", "annex", "reftable"})


def _any_of(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, names)))


def _any_path(paths: Iterable[tuple[str, ...]]) -> re.Pattern[str]:
    """Return a pattern that matches these paths and all paths inside them, at any depth."""
    names = (re.escape("/".join(parts)).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") for parts in paths)
    return re.compile(f"(?:^|/)(?:{'|'.join(names)})(?:/|$)")


# Protected paths that a command is assumed to change if it names one; not `.git` itself, which commands usually read.
_KEPT_BY_GIT = tuple((".git", *inner) for inner in READ_ONLY_IN_GIT)
_NOTED_IN_COMMANDS = (*_KEPT_BY_GIT, *(path for path in PROTECTED if path != (".git",)))


# The patterns are compiled on first use, to keep the start fast.
@cache
def _secret_names() -> re.Pattern[str]:
    return _any_of(SECRET_NAMES)


@cache
def _hidden_names() -> re.Pattern[str]:
    return _any_of(HIDDEN_NAMES)


@cache
def _harmless_names() -> re.Pattern[str]:
    return _any_of(HARMLESS_NAMES)


@cache
def _ambiguous_endings() -> re.Pattern[str]:
    return _any_of(AMBIGUOUS_ENDINGS)


@cache
def _unmistakable_names() -> re.Pattern[str]:
    """Return the pattern of file names that mean a secret in any command, without ordinary words and extensions."""
    return _any_of(tuple(name for name in SECRET_NAMES if name[0] != "*" and name not in ORDINARY_WORDS))


@cache
def _secret_folders() -> re.Pattern[str]:
    return _any_path(SECRET_FOLDERS)


@cache
def _read_only_paths() -> re.Pattern[str]:
    return _any_path(READ_ONLY_PATHS)


@cache
def _protected_paths() -> re.Pattern[str]:
    return _any_path(PROTECTED)


@cache
def _paths_noted_in_commands() -> re.Pattern[str]:
    return _any_path(_NOTED_IN_COMMANDS)


def normalized_parts(path: str) -> list[str]:
    """Return the components of a path, normalized so that any spelling that some file system treats as equal is equal.

    That covers case, Unicode forms, invisible characters, backslashes, trailing dots and the short name of `.git`.
    """
    folded = path.casefold()
    if not path.isascii():
        folded = unicodedata.normalize("NFKC", path).casefold()
        folded = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    parts = (part.split(":")[0].rstrip(" .") or part for part in re.split(r"[/\\]", folded))
    return [".git" if part == "git~1" else part for part in parts if part not in ("", ".")]


def is_git(name: str) -> bool:
    """Return whether a name is `.git` in any spelling that some file system accepts."""
    return normalized_parts(name) == [".git"]


def path_in_git(path: str) -> str:
    """Return a path relative to the innermost `.git` folder that contains it; "" if there is none."""
    return f"/{path}".rpartition("/.git/")[2] if "/.git/" in f"/{path}" else ""


def is_secret(path: str) -> bool:
    """Return whether the name of a file, or of a folder that contains it, indicates keys or passwords."""
    parts = normalized_parts(path)
    if not parts:
        return False
    if _runs_through(parts, _secret_folders()):
        return not _is_public_key(parts)
    return _is_named(_secret_names(), parts[-1])


def _is_public_key(parts: list[str]) -> bool:
    return parts[-1].endswith(".pub")


def _is_named(names: re.Pattern[str], name: str) -> bool:
    """Return whether a file name, or the name of the original of a backup copy, matches; harmless names never do."""
    original = _without_backup_suffixes(name)
    if _harmless_names().match(name) or _harmless_names().match(original):
        return False
    spellings = [name]
    if original != name or name.startswith(("#", ".#")):
        spellings += [original, re.sub(r"^(#|\.#|\.)", "", original)]
    return any(map(names.match, spellings))


def _without_backup_suffixes(name: str) -> str:
    """Return the name without suffixes of backup copies, searching only its end, because names can be long."""
    end = len(name)
    while match := BACKUP_SUFFIX.search(name, max(0, end - LONGEST_SUFFIX), end):
        end = match.start()
    return name[:end]


def shows_secrets(path: str) -> bool:
    """Return whether a file certainly contains secrets, so that reading its whole folder requires approval."""
    parts = normalized_parts(path)
    return is_secret(path) and not _ambiguous_endings().match(parts[-1])


@lru_cache(maxsize=4096)
def names_secret(word: str) -> bool:
    """Return whether a word of a command certainly names a secret.

    Outside `SECRET_FOLDERS`, neither an ordinary word nor a matching extension is enough: words such as `credentials`
    and `event.key` are usually not file names. The policy asks about a command that could show such a file.
    """
    if any(char.isspace() for char in word):
        return False
    candidates = [word, *(part for part in re.split(r"[=:@,]", word) if part)]
    return any(is_secret(tail) and _is_unmistakable(tail) for tail in candidates)


def _is_unmistakable(path: str) -> bool:
    parts = normalized_parts(path)
    return _is_named(_unmistakable_names(), parts[-1]) or _runs_through(parts, _secret_folders())


def is_hidden_from_commands(path: str) -> bool:
    """Return whether the sandbox hides the contents of a file in the workspace from commands.

    `path` is relative to the workspace and uses `/`. Every scan calls this for many paths, so `SECRET_FOLDERS` are only
    searched if a component may begin with a dot. Entries without a dot, such as `etc/shadow`, are system paths; they
    must not count as hidden, because the policy does not ask about hidden files.
    """
    may_be_in_folder = path.startswith(".") or "/." in path or not path.isascii()
    if may_be_in_folder and _runs_through(parts := normalized_parts(path), _secret_folders()):
        return not _is_public_key(parts)
    parts = normalized_parts(path.rpartition("/")[2])
    return bool(parts) and _is_named(_hidden_names(), parts[-1])


def is_protected(path: str) -> bool:
    """Return whether a program outside the sandbox, such as a shell, an editor or git, acts on this file unasked."""
    parts = normalized_parts(path)
    # A folder with a HEAD file may be a bare repository, whose configuration can make git run programs.
    return _runs_through(parts, _protected_paths()) or parts[-1:] == ["head"]


def is_read_only(path: str) -> bool:
    """Return whether commands must not change this path, because other programs trust it or a folder above it.

    In a `.git` folder, the sandbox protects only `READ_ONLY_IN_GIT`.
    """
    return _runs_through(normalized_parts(path), _read_only_paths())


def protected_path(path: str) -> str:
    """Return the protected path that is this path or contains it, in the spelling of this path; "" if there is none."""
    parts = [part for part in re.split(r"[/\\]", path) if part not in ("", ".")]
    normalized = normalized_parts(path)
    if len(parts) != len(normalized) or ".." in parts or not _runs_through(normalized, _paths_noted_in_commands()):
        return ""
    ends = [
        index + len(protected)
        for protected in _NOTED_IN_COMMANDS
        for index in range(len(normalized))
        if _starts_with(normalized[index:], protected)
    ]
    return "/".join(parts[: min(ends)]) if ends else ""


def _runs_through(parts: list[str], pattern: re.Pattern[str]) -> bool:
    return bool(pattern.search("/".join(parts)))


def _starts_with(parts: list[str], pattern: tuple[str, ...]) -> bool:
    return len(parts) >= len(pattern) and all(map(fnmatchcase, parts, pattern))
