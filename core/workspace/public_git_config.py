"""The user's git configuration as commands in the sandbox see it: without credentials and includes."""

import re
from pathlib import Path

_PRIVATE = re.compile(r"^(credential|include|includeif|sendemail|imap|github|gitlab|hub)\b", re.IGNORECASE)
_PRIVATE_KEYS = re.compile(r"(extraheader|password|token|cookiefile|sshcommand|askpass|sslkey|proxy)$", re.IGNORECASE)
_USER_IN_URL = re.compile(r"://[^/\s]*@")


def public_git_config(home: Path) -> str:
    """Return the git configuration without credentials. Signing is turned off, as its keys are not available.

    So is automatic garbage collection, which would remove objects that `GitHistory` restores.
    """
    lines: list[str] = []
    for name in (".config/git/config", ".gitconfig"):
        try:
            lines += public_config_lines((home / name).read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
    own = ("[commit]", "\tgpgsign = false", "[tag]", "\tgpgsign = false", "[gc]", "\tauto = 0", "")
    return "\n".join([*lines, *own])


def public_config_lines(text: str) -> list[str]:
    """Return the lines of a git configuration without secrets and includes."""
    public_lines: list[str] = []
    section = ""
    for line in text.replace("\\\n", "").splitlines():
        if match := re.match(r"\s*\[([^\]]*)\]", line):
            section = match[1].strip()
        key = line.split("=", 1)[0].strip()
        if _PRIVATE.match(section) or _PRIVATE_KEYS.search(key) or _USER_IN_URL.search(section + line):
            continue
        public_lines.append(line)
    return public_lines
