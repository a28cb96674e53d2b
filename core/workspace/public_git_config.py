"""The user's git configuration for commands in the sandbox, without credentials and includes."""

import re
from pathlib import Path

from core.domain.redact import Redactor

_PRIVATE = re.compile(r"^(credential|include|includeif|sendemail|imap|github|gitlab|hub)\b", re.IGNORECASE)
_PRIVATE_KEYS = re.compile(
    r"key|secret|passw|auth(?!or)|credential|token|(^|[-_\s])pat$|(extraheader|cookiefile|sshcommand|askpass|proxy)$",
    re.IGNORECASE,
)
# A public name of a key, kept so that commands can show who signs.
_SIGNING_KEY = re.compile(r"(^|\])\s*signingkey$", re.IGNORECASE)
_USER_IN_URL = re.compile(r"://[^/\s]*@")


def public_git_config(home: Path) -> str:
    """Return the user's git configuration without credentials.

    Signing is turned off, because its keys are unavailable, and so is automatic garbage collection, which would remove
    objects that `GitHistory` restores.
    """
    lines: list[str] = []
    for name in (".config/git/config", ".gitconfig"):
        try:
            lines += public_config_lines((home / name).read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
    overrides = ("[commit]", "\tgpgsign = false", "[tag]", "\tgpgsign = false", "[gc]", "\tauto = 0", "")
    return "\n".join([*lines, *overrides])


def public_config_lines(text: str) -> list[str]:
    """Return the lines of a git configuration that contain neither secrets nor includes."""
    public_lines: list[str] = []
    redactor = Redactor()
    section = ""
    for line in text.replace("\\\n", "").splitlines():
        if match := re.match(r"\s*\[([^\]]*)\]", line):
            section = match[1].strip()
        key = line.split("=", 1)[0].strip()
        is_signing_key = section.casefold() == "user" and _SIGNING_KEY.search(key)
        is_private = _PRIVATE.match(section) or (_PRIVATE_KEYS.search(key) and not is_signing_key)
        if not is_private and not _USER_IN_URL.search(section + line) and not redactor.findings(line):
            public_lines.append(line)
    return public_lines
