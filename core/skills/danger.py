"""What in a skill a person should look at before they trust it: hidden signs, orders to deceive, secrets let out."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from core.domain.skill import Finding

HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e0fff]"
)


class Sign(NamedTuple):
    """A pattern, and what it may mean."""

    pattern: re.Pattern[str]
    what: str
    why: str


def _sign(pattern: str, what: str, why: str) -> Sign:
    return Sign(re.compile(pattern, re.IGNORECASE), what, why)


SIGNS: Final = (
    _sign(
        r"\b(curl|wget|iwr|invoke-webrequest)\b[^\n|;]*\|\s*(sudo\s+)?(ba|z|da)?sh\b|\biex\s*\(",
        "A download is run at once.",
        "Whoever owns the address decides what runs here.",
    ),
    _sign(
        r"base64\s+(-d|--decode|-D)\b[^\n]*\|\s*\w*sh\b|\bexec\s*\(\s*(base64|codecs|zlib)\b|\beval\s+\"?\$\(",
        "Hidden code is run.",
        "What it does cannot be read here.",
    ),
    _sign(
        r"(\$|%)\{?(\w*_)?(API_?KEY|TOKEN|SECRET|PASSWORD)\w*\}?[^\n]*https?://|"
        r"(\b(curl|wget)\b|\b(fetch|post)\()[^\n]*((?<!\w)\.env\b|id_rsa|\.ssh/|\.aws/|credentials|\$\(\s*env\b|printenv)",
        "Keys or secret files are sent somewhere.",
        "A key that has left this computer is lost.",
    ),
    _sign(
        r"\b(do not|don't|never|without)\s+(tell|telling|inform|informing|mention|mentioning|show|reveal|notify|asking)"
        r"[^.\n]{0,30}\b(user|person|human|owner|them)\b",
        "The agent is told to keep something from you.",
        "You could not see what it does.",
    ),
    _sign(
        r"\b(ignore|disregard|override|forget)\s+(all\s+|any\s+)?(of\s+)?(the\s+|your\s+)?(previous|prior|above|earlier|system)"
        r"\s+(instruction|prompt|message|rule|direction)s?",
        "The agent is told to forget its orders.",
        "That is how a text takes over an agent.",
    ),
    _sign(
        r"\b(disable|bypass|turn off|skip)\w*\s+[^.\n]{0,20}"
        r"\b(sandbox|approval|consent|permission|confirmation|safety (check|guard|prompt)s?)\b|"
        r"--dangerously-skip-permissions|--no-sandbox\b|--yolo\b",
        "Protection is to be switched off.",
        "What the skill does then is not held back.",
    ),
    _sign(
        r"\brm\s+-(rf|fr)\s+(/|~/?|\$HOME/?)(\s|$|\*)|\bmkfs\b|\bdd\s+[^\n]*of=/dev/",
        "Files outside the folder would be deleted.",
        "It cannot be undone.",
    ),
)


# One of these stands in every line that a sign above fits, in small letters: most lines are done with quickly.
WORDS: Final = (
    "curl", "wget", "iwr", "invoke-webrequest", "iex", "base64", "exec", "eval", "key", "token", "secret", "password",
    ".env", "id_rsa", ".ssh", ".aws", "credential", "printenv", "tell", "inform", "mention", "show", "reveal", "notify",
    "asking", "ignore", "disregard", "override", "forget", "disabl", "bypass", "turn off", "skip", "--no-sandbox",
    "--yolo", "rm", "mkfs", "dd ",
)  # fmt: skip


# What a script does that is not wrong by itself, but that a person should know.
ABILITIES: Final = (
    _sign(
        r"\b(requests|httpx|aiohttp|urllib|urllib3|socket)\b[.\w]*\.?(get|post|put|request|urlopen|socket|connect)?\(|"
        r"\b(import|from)\s+(requests|httpx|aiohttp|urllib|socket|http\.client)\b|\bfetch\(|^\s*(curl|wget|nc|ssh|scp)\s",
        "It can reach the network.",
        "Commands have no network here unless you allow it.",
    ),
    _sign(
        r"\bos\.environ\b|\bgetenv\(|\bprocess\.env\b|^\s*(printenv|env)\b",
        "It reads the environment.",
        "Elsewhere keys are kept there; commands here see none of yours.",
    ),
    _sign(
        r"(?<![\w.])(eval|exec|compile|__import__)\(|shell\s*=\s*True|\bos\.(system|popen)\(|\bchild_process\b|"
        r"\bpickle\.loads?\(|\bmarshal\.loads\(|^\s*eval\s",
        "It runs text as code or in a shell.",
        "What that is can depend on what it is given.",
    ),
    _sign(
        r"\.ssh/|\bid_(rsa|ed25519)\b|\.aws/|\.netrc\b|\.git-credentials|(?<![\w])\.env\b|/etc/(passwd|shadow)|\bkeychain\b",
        "It names files that hold keys or accounts.",
        "No tool reads these without your word.",
    ),
    _sign(
        r"\bwhile\s+(True|true|1|:)\s*[:;]?|\bfork\(|:\(\)\s*\{",
        "It can go on without end.",
        "Commands are ended after their time.",
    ),
)
READ: Final = 1 << 20  # bytes of a file that are looked at


def file_dangers(path: str, body: bytes) -> Iterator[Finding]:
    """Of another file of a skill; each sign once, with the first line where it stands."""
    if b"\0" in body[:8192]:
        return
    text = body[:READ].decode("utf-8", "replace")
    seen: dict[str, Finding] = {}
    for each in dangers(text):
        seen.setdefault(each.what, each)
    if (
        path.startswith("scripts/")
        or text.startswith("#!")
        or path.endswith((".py", ".sh", ".js", ".ts", ".rb", ".ps1"))
    ):
        for number, line in enumerate(text.split("\n"), 1):
            for sign in ABILITIES:
                if sign.what not in seen and sign.pattern.search(line[:4096]):
                    seen[sign.what] = Finding(number, sign.what, sign.why, "", "note")
    for each in seen.values():
        yield Finding(1, f"{path}, line {each.line}: {each.what}", each.why, each.do, each.level)


def dangers(text: str) -> Iterator[Finding]:
    """Each with its line; none of them is a proof, and none is missed because another was found."""
    hidden = HIDDEN.search(text) is not None
    for number, line in enumerate(text.split("\n"), 1):
        if hidden and (found := HIDDEN.search(line.lstrip("\ufeff") if number == 1 else line)):
            what = f"There is a sign that cannot be seen (U+{ord(found[0]):04X})."
            yield Finding(number, what, "It can hide words, or show them in another order.", "Remove it.", "warning")
        small = line[:4096].lower()
        if not any(word in small for word in WORDS):
            continue
        for sign in SIGNS:
            if sign.pattern.search(line[:4096]):
                do = "Trust the skill only if you know why it does this."
                yield Finding(number, sign.what, sign.why, do, "warning")
