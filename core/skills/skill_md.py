"""Parses SKILL.md files leniently, writes them strictly, and edits them without losing unknown fields."""

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from core.domain.problems import Problem
from core.domain.skill import (
    DESCRIPTION_LIMIT,
    NAME_LIMIT,
    SKILL_FILE,
    FindingLevel,
    Skill,
    SkillFinding,
    is_valid_name,
)
from core.skills.front_matter import FrontMatter, FrontMatterField, parse_front_matter, quote_yaml
from core.skills.risk_scan import scan_text

FORMAT_FIELDS: Final = ("name", "description", "license", "compatibility", "allowed-tools", "metadata")
COMPATIBILITY_LIMIT: Final = 500
FRONT_MATTER_LIMIT: Final = 64 << 10  # in characters; longer front matter is reported and not parsed
BODY_LINES: Final = 500
BODY_TOKENS: Final = 5_000
SHORT_DESCRIPTION: Final = 30  # in characters; a shorter description is reported as very short
FILE_LINK: Final = re.compile(r"\]\(\s*<?((?:\./)?(?:scripts|references|assets)/[^\s)>#]+)")
TRIGGER_WORDS: Final = re.compile(r"\b(use|uses|used|when|whenever|if|for|before|after|trigger\w*)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedSkill:
    """The result of parsing a SKILL.md, with its findings.

    `skill` is None if the file is unusable. `valid` tells whether the file conforms to the open format.
    """

    skill: Skill | None
    findings: tuple[SkillFinding, ...] = ()

    @property
    def valid(self) -> bool:
        return self.skill is not None and not any(each.level == "error" for each in self.findings)


def decode_text(body: bytes) -> tuple[str, tuple[SkillFinding, ...]]:
    """Decode the contents of a text file. Return the text, and a finding if the encoding is not plain UTF-8."""
    for mark, form in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if body.startswith(mark):
            return body.decode(form, "replace"), (_encoding_finding("UTF-16"),)
    if body.startswith(b"\xef\xbb\xbf"):
        why = "Other programs may not find the front matter after it."
        mark_finding = SkillFinding(1, "The file begins with a byte order mark.", why, "Save it as UTF-8 without one.")
        return body[3:].decode("utf-8", "replace"), (mark_finding,)
    try:
        return body.decode("utf-8"), ()
    except UnicodeDecodeError:
        return body.decode("latin-1"), (_encoding_finding("an unknown encoding, probably Latin-1"),)


def parse_skill(text: str, files: Collection[str] = (), *, folder: str = "") -> ParsedSkill:
    """Parse the text of a SKILL.md.

    `files` are the paths of the skill's files, which the text may refer to. `folder` is the name of its folder.
    """
    lines = _lines(text)
    head = parse_front_matter(lines)
    if not head.end:
        return ParsedSkill(None, (_headless(lines),))
    if sum(map(len, lines[: head.end])) > FRONT_MATTER_LIMIT:
        message = f"The front matter is longer than {FRONT_MATTER_LIMIT >> 10} KB."
        return ParsedSkill(
            None, (SkillFinding(1, message, "It is meant for a few short fields.", "Move the text below it."),)
        )
    skill = _skill(head, "".join(lines[head.end :]))
    findings = [*head.findings, *_field_findings(head, skill, folder), *_body_findings(skill, files), *scan_text(text)]
    findings.sort(key=lambda finding: finding.line)
    usable = bool(skill.name.strip() and skill.description.strip())
    return ParsedSkill(skill if usable else None, tuple(findings))


def format_skill(skill: Skill, text: str = "") -> str:
    """Return the SKILL.md text of a skill. Raise Problem if the skill violates the format.

    `text` is the previous version. Its fields that are unknown or unchanged keep their formatting.
    """
    fields = _format_fields(skill)
    lines = _lines(text)
    head = parse_front_matter(lines)
    if not head.end:
        formatted = (
            "---\n" + "".join(_line(key, value) for key, value in fields.items() if value) + "---\n" + skill.body
        )
    else:
        formatted = _edit_front_matter(lines, head, fields) + skill.body
    _check_round_trip(formatted, skill, text)
    return formatted


def set_field(text: str, key: str, value: str) -> str:
    """Return the text with one field of its front matter set. A text without front matter is returned unchanged."""
    lines = _lines(text)
    head = parse_front_matter(lines)
    return _edit_front_matter(lines, head, {key: value}) + "".join(lines[head.end :]) if head.end else text


def skill_template(name: str, description: str) -> str:
    """Return the SKILL.md text that a new skill starts with."""
    title = name.replace("-", " ").capitalize()
    body = (
        f"\n# {title}\n\n## When to use this\n\nDescribe the tasks that need this skill.\n\n## Steps\n\n"
        "1. Describe what to do, with the exact commands.\n\n## Pitfalls\n\n"
        "- Describe what can go wrong and how to notice it.\n"
    )
    return format_skill(Skill(name, description, body))


def error_summary(findings: Collection[SkillFinding]) -> str:
    """Return the errors among the findings in one line."""
    return " ".join(f"Line {each.line}: {each.message}" for each in findings if each.level == "error")


def _lines(text: str) -> list[str]:
    """Split a text at newlines only. `str.splitlines` would also split at other characters."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _headless(lines: list[str]) -> SkillFinding:
    if lines and lines[0].startswith("---"):
        return SkillFinding(1, "The front matter is not closed.", "There is no second `---` line.", "Add `---`.")
    why = "A skill starts with a `---` line, its name and its description."
    return SkillFinding(1, "There is no front matter.", why, "Start with `---`, `name: …`, `description: …`, `---`.")


def _encoding_finding(name: str) -> SkillFinding:
    return SkillFinding(1, f"The file is encoded as {name}.", "Skills must be UTF-8.", "Save it as UTF-8.")


def _skill(head: FrontMatter, body: str) -> Skill:
    def text(key: str) -> str:
        field = head.find(key)
        return (field.text or " ".join(field.items)).strip() if field else ""

    tools = head.find("allowed-tools")
    allowed = (tools.items or tuple(_tools(tools.text))) if tools else ()
    metadata = head.find("metadata")
    other = tuple((each.key, _plain(each)) for each in head.fields if each.key not in FORMAT_FIELDS)
    pairs = metadata.pairs if metadata else ()
    return Skill(
        name=text("name"),
        description=text("description"),
        body=body,
        license=text("license"),
        compatibility=text("compatibility"),
        tools=tuple(allowed),
        metadata=pairs,
        unknown_keys=other,
        body_line=head.end + 1,
    )


def _tools(text: str) -> Iterator[str]:
    """Split at spaces and commas outside of parentheses: `Bash(git add:*) Read` names two tools."""
    for match in re.finditer(r"(?:[^\s,(]|\([^)]*\)?)+", text):
        yield match[0]


def _plain(field: FrontMatterField) -> str:
    pairs = ", ".join(f"{name}: {value}" for name, value in field.pairs)
    return field.text or ", ".join(field.items) or pairs


def _field_findings(head: FrontMatter, skill: Skill, folder: str) -> Iterator[SkillFinding]:
    lines = {field.key: field.line for field in head.fields}
    yield from _name_findings(skill.name, lines.get("name", 1), folder)
    line = lines.get("description", 1)
    if not skill.description:
        yield SkillFinding(
            line, "There is no description.", "The agent needs it to know when to use the skill.", "Add one."
        )
    elif (size := len(skill.description)) > DESCRIPTION_LIMIT:
        message = f"The description has {size:,} characters."
        yield SkillFinding(
            line, message, f"The format allows {DESCRIPTION_LIMIT:,}.", "Shorten it; move details to the body."
        )
    elif size < SHORT_DESCRIPTION:
        yield _note(line, "The description is very short.", "The agent sees only this before it uses the skill.")
    elif not TRIGGER_WORDS.search(skill.description):
        yield _note(
            line, "The description does not say when to use the skill.", "The agent decides by the description."
        )
    if len(skill.compatibility) > COMPATIBILITY_LIMIT:
        message = f"`compatibility` has {len(skill.compatibility):,} characters."
        yield SkillFinding(lines["compatibility"], message, f"The format allows {COMPATIBILITY_LIMIT}.", "Shorten it.")
    field_names = ", ".join(FORMAT_FIELDS)
    for key, _ in skill.unknown_keys:
        yield SkillFinding(
            lines[key],
            f"`{key}` is not a field of the format.",
            f"The fields are {field_names}.",
            "Move it to `metadata`.",
        )


def _name_findings(name: str, line: int, folder: str) -> Iterator[SkillFinding]:
    if not name:
        yield SkillFinding(line, "There is no name.", "", "Add `name:` with the folder name.")
        return
    rule = "A name has at most 64 lowercase letters, digits and single hyphens, with no hyphen at either end."
    plain = unicodedata.normalize("NFKC", name)
    has_valid_characters = plain == plain.lower() and all(char.isalnum() or char == "-" for char in plain)
    if (
        not has_valid_characters
        or len(plain) > NAME_LIMIT
        or plain.startswith("-")
        or plain.endswith("-")
        or "--" in plain
    ):
        yield SkillFinding(line, f"`{name[:80]}` is not a valid skill name.", rule, "Choose another name.")
    elif not is_valid_name(name):
        yield SkillFinding(line, "The name has letters other than a to z.", "Some programs reject it.", "", "warning")
    if folder and unicodedata.normalize("NFKC", folder) != plain:
        why = f"The skill is in the folder `{folder}`."
        yield SkillFinding(line, "The name does not match the folder name.", why, "Rename one of them.")


def _body_findings(skill: Skill, files: Collection[str]) -> Iterator[SkillFinding]:
    lines = skill.body.split("\n")
    if not skill.body.strip():
        why = "There is nothing below the front matter."
        yield SkillFinding(skill.body_line, "The skill has no instructions.", why, "", "warning")
    if len(lines) > BODY_LINES:
        message = f"The body has {len(lines):,} lines."
        fix = "Move details to files under `references/`."
        yield SkillFinding(
            skill.body_line + BODY_LINES, message, f"The format recommends at most {BODY_LINES}.", fix, "warning"
        )
    if (size := estimate_tokens(skill.body)) > BODY_TOKENS:
        message = f"The body has about {size:,} tokens."
        fix = "Move details to files under `references/`."
        yield SkillFinding(skill.body_line, message, f"The format recommends at most {BODY_TOKENS:,}.", fix, "warning")
    for number, line in enumerate(lines, skill.body_line):
        for match in FILE_LINK.finditer(line) if "](" in line else ():
            path = match[1].removeprefix("./")
            if path not in files:
                why = "The link leads to a file that the skill does not contain."
                yield SkillFinding(number, f"`{path}` does not exist.", why, "Add the file or fix the link.", "warning")


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text, assuming four UTF-8 bytes per token."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4


def _note(line: int, message: str, cause: str) -> SkillFinding:
    level: FindingLevel = "note"
    return SkillFinding(line, message, cause, "Describe what the skill does and when to use it.", level)


def _format_fields(skill: Skill) -> dict[str, str | tuple[tuple[str, str], ...]]:
    plain = {"name": skill.name, "description": skill.description, "license": skill.license}
    more = {"compatibility": skill.compatibility, "allowed-tools": " ".join(skill.tools)}
    return {**plain, **more, "metadata": skill.metadata}


def _edit_front_matter(
    lines: list[str], head: FrontMatter, fields: dict[str, str | tuple[tuple[str, str], ...]]
) -> str:
    """Return the front matter with only the changed fields rewritten."""
    current_skill = _skill(head, "")
    current = _format_fields(current_skill)
    edited = list(lines[: head.end])
    added = ""
    for key, value in fields.items():
        field = head.find(key)
        if value == current[key]:
            continue
        if field is None:
            added += _line(key, value)
        else:
            edited[field.line - 1] = _line(key, value) if value else ""
            edited[field.line : field.end - 1] = [""] * (field.end - 1 - field.line)
    return "".join(edited[: head.end - 1]) + added + edited[head.end - 1]


def _line(key: str, value: str | tuple[tuple[str, str], ...]) -> str:
    if isinstance(value, str):
        return f"{key}: {quote_yaml(value)}\n"
    return f"{key}:\n" + "".join(f"  {quote_yaml(name)}: {quote_yaml(text)}\n" for name, text in value)


def _check_round_trip(text: str, skill: Skill, before: str) -> None:
    """Raise Problem if `text` has errors that `before` did not have, or would not be parsed as the given skill."""
    reading = parse_skill(text)
    previous_messages = {finding.message for finding in parse_skill(before).findings}
    errors = [
        finding for finding in reading.findings if finding.level == "error" and finding.message not in previous_messages
    ]
    if reading.skill is None or errors or (not before and not is_valid_name(skill.name)):
        why = error_summary(errors) or f"{skill.name[:80]!r} is not a valid skill name."
        raise Problem(f"{SKILL_FILE} is not valid.", why, "Fix these lines.")
    if (reading.skill.name, reading.skill.description) != (skill.name.strip(), skill.description.strip()):
        why = "Its name or description contains characters that cannot be stored."
        raise Problem("This skill cannot be saved.", why, "")
