"""A SKILL.md as text: read leniently with findings, written strictly, changed without touching what is not known."""

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from core.domain.problems import Problem
from core.domain.skill import DESCRIPTION_LIMIT, MAIN, NAME_LIMIT, Finding, Level, Skill, valid_name
from core.skills.danger import dangers
from core.skills.head import Field, Head, quoted, read_head

FIELDS: Final = ("name", "description", "license", "compatibility", "allowed-tools", "metadata")
COMPATIBILITY_LIMIT: Final = 500
HEAD_LIMIT: Final = 64 << 10  # bytes of front matter that are read at all
BODY_LINES: Final = 500
BODY_TOKENS: Final = 5_000
SHORT: Final = 30
LINK: Final = re.compile(r"\]\(\s*<?((?:\./)?(?:scripts|references|assets)/[^\s)>#]+)")
WHEN: Final = re.compile(r"\b(use|uses|used|when|whenever|if|for|before|after|trigger\w*)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says. `skill` is None where nobody could use it; `valid` is the verdict of the open format."""

    skill: Skill | None
    findings: tuple[Finding, ...] = ()

    @property
    def valid(self) -> bool:
        return self.skill is not None and not any(each.level == "error" for each in self.findings)


def decoded(body: bytes) -> tuple[str, tuple[Finding, ...]]:
    """The text of a file, in whatever form it was saved; what is unusual about that is a finding."""
    for mark, form in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if body.startswith(mark):
            return body.decode(form, "replace"), (_form("UTF-16"),)
    if body.startswith(b"\xef\xbb\xbf"):
        why = "Other programs do not find the front matter behind it."
        mark_finding = Finding(1, "The file begins with a byte order mark.", why, "Save it as UTF-8 without one.")
        return body[3:].decode("utf-8", "replace"), (mark_finding,)
    try:
        return body.decode("utf-8"), ()
    except UnicodeDecodeError:
        return body.decode("latin-1"), (_form("another encoding, probably Latin-1"),)


def read(text: str, files: Collection[str] = (), *, folder: str = "") -> Reading:
    """What a SKILL.md says. `files` are the others of the skill, `folder` the name it lies under."""
    lines = _lines(text)
    head = read_head(lines)
    if not head.end:
        return Reading(None, (_headless(lines),))
    if sum(map(len, lines[: head.end])) > HEAD_LIMIT:
        what = f"The front matter is longer than {HEAD_LIMIT >> 10} KB."
        return Reading(None, (Finding(1, what, "It is for a name and a few words.", "Move the text below it."),))
    skill = _skill(head, "".join(lines[head.end :]))
    found = [*head.findings, *_of_fields(head, skill, folder), *_of_body(skill, files), *dangers(text)]
    found.sort(key=lambda each: each.line)
    usable = bool(skill.name.strip() and skill.description.strip())
    return Reading(skill if usable else None, tuple(found))


def write(skill: Skill, text: str = "") -> str:
    """The text that says this skill; of `text` everything stays that says the same, or that we do not know.

    Problem where the skill is against the rules.
    """
    wanted = _wanted(skill)
    lines = _lines(text)
    head = read_head(lines)
    if not head.end:
        made = "---\n" + "".join(_line(key, value) for key, value in wanted.items() if value) + "---\n" + skill.body
    else:
        made = _changed(lines, head, wanted) + skill.body
    _check(made, skill, text)
    return made


def with_field(text: str, key: str, value: str) -> str:
    """The same text with one value changed."""
    lines = _lines(text)
    head = read_head(lines)
    return _changed(lines, head, {key: value}) + "".join(lines[head.end :]) if head.end else text


def template(name: str, description: str) -> str:
    """A skill to begin with."""
    title = name.replace("-", " ").capitalize()
    body = (
        f"\n# {title}\n\n## When to use this\n\nSay what a task looks like that needs it.\n\n## Steps\n\n"
        "1. Write what to do, with the exact commands.\n\n## Pitfalls\n\n- Write what goes wrong, and how to see it.\n"
    )
    return write(Skill(name, description, body))


def summary(findings: Collection[Finding]) -> str:
    """The errors in one line of words."""
    return " ".join(f"Line {each.line}: {each.what}" for each in findings if each.level == "error")


def _lines(text: str) -> list[str]:
    """Split at line ends only: other signs that Python takes for ends belong to the text."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _headless(lines: list[str]) -> Finding:
    if lines and lines[0].startswith("---"):
        return Finding(1, "The front matter is not closed.", "There is no second line of three hyphens.", "Add `---`.")
    why = "A skill begins with a line of three hyphens, its name and its description."
    return Finding(1, "There is no front matter.", why, "Begin with `---`, `name: …`, `description: …`, `---`.")


def _form(name: str) -> Finding:
    return Finding(1, f"The file is in {name}.", "Skills are UTF-8.", "Save it as UTF-8.")


def _skill(head: Head, body: str) -> Skill:
    def text(key: str) -> str:
        found = head.of(key)
        return (found.text or " ".join(found.items)).strip() if found else ""

    tools = head.of("allowed-tools")
    said = (tools.items or tuple(_tools(tools.text))) if tools else ()
    metadata = head.of("metadata")
    other = tuple((each.key, _plain(each)) for each in head.fields if each.key not in FIELDS)
    pairs = metadata.pairs if metadata else ()
    return Skill(
        text("name"), text("description"), body, text("license"), text("compatibility"), tuple(said), pairs, other,
        head.end + 1,
    )  # fmt: skip


def _tools(text: str) -> Iterator[str]:
    """Split at blanks and commas, but not inside brackets: `Bash(git add:*) Read` names two."""
    for found in re.finditer(r"(?:[^\s,(]|\([^)]*\)?)+", text):
        yield found[0]


def _plain(each: Field) -> str:
    pairs = ", ".join(f"{name}: {value}" for name, value in each.pairs)
    return each.text or ", ".join(each.items) or pairs


def _of_fields(head: Head, skill: Skill, folder: str) -> Iterator[Finding]:
    lines = {each.key: each.line for each in head.fields}
    yield from _of_name(skill.name, lines.get("name", 1), folder)
    at = lines.get("description", 1)
    if not skill.description:
        yield Finding(at, "There is no description.", "By it an agent knows when to use the skill.", "Add one.")
    elif (size := len(skill.description)) > DESCRIPTION_LIMIT:
        what = f"The description has {size:,} characters."
        yield Finding(at, what, f"The format allows {DESCRIPTION_LIMIT:,}.", "Shorten it; details go into the body.")
    elif size < SHORT:
        yield _note(at, "The description is very short.", "An agent sees nothing else before it uses the skill.")
    elif not WHEN.search(skill.description):
        yield _note(at, "The description does not say when to use the skill.", "An agent chooses by it.")
    if len(skill.compatibility) > COMPATIBILITY_LIMIT:
        what = f"`compatibility` has {len(skill.compatibility):,} characters."
        yield Finding(lines["compatibility"], what, f"The format allows {COMPATIBILITY_LIMIT}.", "Shorten it.")
    known = ", ".join(FIELDS)
    for key, _ in skill.other:
        yield Finding(
            lines[key], f"The format does not know `{key}`.", f"It knows {known}.", "Put it under `metadata`."
        )


def _of_name(name: str, line: int, folder: str) -> Iterator[Finding]:
    if not name:
        yield Finding(line, "There is no name.", "", "Add `name:` with the name of the folder.")
        return
    rule = "Small letters, digits and single hyphens between them, at most 64."
    plain = unicodedata.normalize("NFKC", name)
    known = plain == plain.lower() and all(sign.isalnum() or sign == "-" for sign in plain)
    if not known or len(plain) > NAME_LIMIT or plain.startswith("-") or plain.endswith("-") or "--" in plain:
        yield Finding(line, f"`{name[:80]}` is no name for a skill.", rule, "Choose another.")
    elif not valid_name(name):
        yield Finding(line, "The name has letters other than a to z.", "Some programs refuse it.", "", "warning")
    if folder and unicodedata.normalize("NFKC", folder) != plain:
        why = f"It lies in the folder `{folder}`."
        yield Finding(line, "The name is not that of the folder.", why, "Make both the same.")


def _of_body(skill: Skill, files: Collection[str]) -> Iterator[Finding]:
    lines = skill.body.split("\n")
    if not skill.body.strip():
        yield Finding(skill.body_line, "The skill says nothing.", "Below the front matter it is empty.", "", "warning")
    if len(lines) > BODY_LINES:
        what = f"The body has {len(lines):,} lines."
        do = "Move details into files under `references/`."
        yield Finding(skill.body_line + BODY_LINES, what, f"The format advises at most {BODY_LINES}.", do, "warning")
    if (size := tokens(skill.body)) > BODY_TOKENS:
        what = f"The body weighs about {size:,} tokens."
        do = "Move details into files under `references/`."
        yield Finding(skill.body_line, what, f"The format advises at most {BODY_TOKENS:,}.", do, "warning")
    for number, line in enumerate(lines, skill.body_line):
        for found in LINK.finditer(line) if "](" in line else ():
            path = found[1].removeprefix("./")
            if path not in files:
                why = "The skill has no such file."
                yield Finding(number, f"`{path}` is not there.", why, "Add it, or mend the link.", "warning")


def tokens(text: str) -> int:
    """What a text weighs in a model's context, about."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4


def _note(line: int, what: str, why: str) -> Finding:
    level: Level = "note"
    return Finding(line, what, why, "Say what it does, and when to use it.", level)


def _wanted(skill: Skill) -> dict[str, str | tuple[tuple[str, str], ...]]:
    plain = {"name": skill.name, "description": skill.description, "license": skill.license}
    more = {"compatibility": skill.compatibility, "allowed-tools": " ".join(skill.tools)}
    return {**plain, **more, "metadata": skill.metadata}


def _changed(lines: list[str], head: Head, wanted: dict[str, str | tuple[tuple[str, str], ...]]) -> str:
    """The head with only those fields written anew that say something else."""
    here = _skill(head, "")
    said = _wanted(here)
    kept = list(lines[: head.end])
    more = ""
    for key, value in wanted.items():
        found = head.of(key)
        if value == said[key]:
            continue
        if found is None:
            more += _line(key, value)
        else:
            kept[found.line - 1] = _line(key, value) if value else ""
            kept[found.line : found.end - 1] = [""] * (found.end - 1 - found.line)
    return "".join(kept[: head.end - 1]) + more + kept[head.end - 1]


def _line(key: str, value: str | tuple[tuple[str, str], ...]) -> str:
    if isinstance(value, str):
        return f"{key}: {quoted(value)}\n"
    return f"{key}:\n" + "".join(f"  {quoted(name)}: {quoted(text)}\n" for name, text in value)


def _check(made: str, skill: Skill, before: str) -> None:
    """Nothing is written that breaks a rule which was kept before, or that we would not read as what was meant."""
    reading = read(made)
    had = {each.what for each in read(before).findings}
    errors = [each for each in reading.findings if each.level == "error" and each.what not in had]
    if reading.skill is None or errors or (not before and not valid_name(skill.name)):
        told = summary(errors) or f"{skill.name[:80]!r} is no name for a skill."
        raise Problem(f"This is no skill: {MAIN} is against the rules.", told, "Mend these lines.")
    if (reading.skill.name, reading.skill.description) != (skill.name.strip(), skill.description.strip()):
        raise Problem("This skill cannot be written.", "Its name or description holds what no file keeps.", "")
