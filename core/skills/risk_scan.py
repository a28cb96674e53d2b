"""Scans a skill for content to check before trusting it: hidden characters, deceptive instructions, leaked secrets."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from core.domain.skill import SkillFinding
from core.domain.visible import first_hidden


class RiskPattern(NamedTuple):
    """A suspicious pattern, with the message and the explanation to show for a match."""

    pattern: re.Pattern[str]
    message: str
    cause: str


def _pattern(pattern: str, message: str, cause: str) -> RiskPattern:
    return RiskPattern(re.compile(pattern, re.IGNORECASE), message, cause)


RISKS: Final = (
    _pattern(
        r"\b(curl|wget|iwr|invoke-webrequest)\b[^\n|;]*\|\s*(sudo\s+)?(ba|z|da)?sh\b|\biex\s*\(",
        "A download is run directly.",
        "Whoever controls the address decides what runs on this computer.",
    ),
    _pattern(
        r"base64\s+(-d|--decode|-D)\b[^\n]*\|\s*\w*sh\b|\bexec\s*\(\s*(base64|codecs|zlib)\b|\beval\s+\"?\$\(",
        "Hidden code is run.",
        "Its effect cannot be seen in the text.",
    ),
    _pattern(
        r"(\$|%)\{?(\w*_)?(API_?KEY|TOKEN|SECRET|PASSWORD)\w*\}?[^\n]*https?://|"
        r"(\b(curl|wget)\b|\b(fetch|post)\()[^\n]*((?<!\w)\.env\b|id_rsa|\.ssh/|\.aws/|credentials|\$\(\s*env\b|printenv)",
        "API keys or secret files are sent to another computer.",
        "A key that has left this computer is compromised.",
    ),
    _pattern(
        r"\b(do not|don't|never|without)\s+(tell|telling|inform|informing|mention|mentioning|show|reveal|notify|asking)"
        r"[^.\n]{0,30}\b(user|person|human|owner|them)\b",
        "The agent is instructed to hide something from you.",
        "You might not notice what it does.",
    ),
    _pattern(
        r"\b(ignore|disregard|override|forget)\s+(all\s+|any\s+)?(of\s+)?(the\s+|your\s+)?(previous|prior|above|earlier|system)"
        r"\s+(instruction|prompt|message|rule|direction)s?",
        "The agent is instructed to ignore its instructions.",
        "This is a typical prompt injection.",
    ),
    _pattern(
        r"\b(disable|bypass|turn off|skip)\w*\s+[^.\n]{0,20}"
        r"\b(sandbox|approval|consent|permission|confirmation|safety (check|guard|prompt)s?)\b|"
        r"--dangerously-skip-permissions|--no-sandbox\b|--yolo\b",
        "Protections are turned off.",
        "Nothing restricts what the skill does then.",
    ),
    _pattern(
        r"\brm\s+-(rf|fr)\s+(/|~/?|\$HOME/?)(\s|$|\*)|\bmkfs\b|\bdd\s+[^\n]*of=/dev/",
        "Files outside the folder would be deleted.",
        "It cannot be undone.",
    ),
)


# Things that a script can do which are not suspicious, but which the user should know before trusting it.
CAPABILITIES: Final = (
    _pattern(
        r"\b(requests|httpx|aiohttp|urllib|urllib3|socket)\b[.\w]*\.?(get|post|put|request|urlopen|socket|connect)?\(|"
        r"\b(import|from)\s+(requests|httpx|aiohttp|urllib|socket|http\.client)\b|\bfetch\(|^\s*(curl|wget|nc|ssh|scp)\s",
        "It can access the network.",
        "Commands have no network access unless you allow it.",
    ),
    _pattern(
        r"\bos\.environ\b|\bgetenv\(|\bprocess\.env\b|^\s*(printenv|env)\b",
        "It reads environment variables.",
        "They often contain API keys, but Journeyman removes yours from the environment of commands.",
    ),
    _pattern(
        r"(?<![\w.])(eval|exec|compile|__import__)\(|shell\s*=\s*True|\bos\.(system|popen)\(|\bchild_process\b|"
        r"\bpickle\.loads?\(|\bmarshal\.loads\(|^\s*eval\s",
        "It runs text as code or as a shell command.",
        "What it runs can depend on its input.",
    ),
    _pattern(
        r"\.ssh/|\bid_(rsa|ed25519)\b|\.aws/|\.netrc\b|\.git-credentials|(?<![\w])\.env\b|/etc/(passwd|shadow)|\bkeychain\b",
        "It names files that contain keys or credentials.",
        "No tool reads them without your approval.",
    ),
    _pattern(
        r"\bwhile\s+(True|true|1|:)\s*[:;]?|\bfork\(|:\(\)\s*\{",
        "It may run forever.",
        "Commands are stopped at their time limit.",
    ),
)
SCRIPT_SUFFIXES: Final = (".py", ".sh", ".js", ".ts", ".rb", ".ps1")
MAX_SCANNED_BYTES: Final = 1 << 20  # only the first 1 MiB of a file is scanned
MAX_LINE_CHARS: Final = 4096  # only the beginning of a line is scanned


def scan_file(path: str, body: bytes) -> Iterator[SkillFinding]:
    """Scan a file other than SKILL.md. Each kind of finding is reported once, with the first line that matches."""
    if b"\0" in body[:8192]:
        return
    text = body[:MAX_SCANNED_BYTES].decode("utf-8", "replace")
    findings: dict[str, SkillFinding] = {}
    for finding in scan_text(text):
        findings.setdefault(finding.message, finding)
    if path.startswith("scripts/") or text.startswith("#!") or path.endswith(SCRIPT_SUFFIXES):
        for number, line in enumerate(text.split("\n"), 1):
            for capability in CAPABILITIES:
                if capability.message not in findings and capability.pattern.search(line[:MAX_LINE_CHARS]):
                    findings[capability.message] = SkillFinding(
                        number, capability.message, capability.cause, fix="", level="note"
                    )
    for finding in findings.values():
        yield SkillFinding(
            1, f"{path}, line {finding.line}: {finding.message}", finding.cause, finding.fix, finding.level
        )


def scan_text(text: str) -> Iterator[SkillFinding]:
    """Scan the text of a skill. Each match is reported with its line; a match is a hint, not proof."""
    lines = text.split("\n")
    shown = "\n".join(line[:MAX_LINE_CHARS] for line in lines)
    # Searching the whole text first is faster, because most texts have no match.
    risks = [risk for risk in RISKS if risk.pattern.search(shown)]
    for number, line in enumerate(lines, 1):
        checked = line.lstrip("\ufeff") if number == 1 else line  # a byte order mark is allowed
        if hidden := first_hidden(checked.removesuffix("\r")):
            message = f"There is an invisible character (U+{ord(hidden):04X})."
            yield SkillFinding(
                number, message, "It can hide text or show it in another order.", "Remove it.", "warning"
            )
        for risk in risks:
            if risk.pattern.search(line[:MAX_LINE_CHARS]):
                fix = "Trust the skill only if you know why it does this."
                yield SkillFinding(number, risk.message, risk.cause, fix, "warning")
