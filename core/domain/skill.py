"""Skills: what one says, where it stands, its versions, and what is to be known of it before it is used."""

import re
from dataclasses import dataclass
from typing import Final, Literal

Source = Literal["folder", "library", "home", "builtin"]
"""Where a skill stands; of two with one name the one that is named first here is meant."""
State = Literal["on", "off", "untrusted", "changed", "archived", "shadowed", "broken"]
"""Only *on* is offered to a model. *untrusted*: nobody has looked at it yet. *changed*: since somebody has. *shadowed*:
another of the same name goes before it. *broken*: it cannot be used as it is."""
Level = Literal["error", "warning", "note"]

SOURCES: Final[tuple[Source, ...]] = ("folder", "library", "home", "builtin")
MAIN: Final = "SKILL.md"
NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
NAME_LIMIT: Final = 64
DESCRIPTION_LIMIT: Final = 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about the text of a skill. `line` counts from 1; an *error* is against the rules of the open format."""

    line: int
    what: str
    why: str = ""
    do: str = ""
    level: Level = "error"


@dataclass(frozen=True, slots=True)
class Skill:
    """What a SKILL.md says. `tools` is what `allowed-tools` names, `other` are keys that the format does not know.

    `body_line` is the line on which the body begins.
    """

    name: str
    description: str
    body: str
    license: str = ""
    compatibility: str = ""
    tools: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    other: tuple[tuple[str, str], ...] = ()
    body_line: int = 1


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A file of a version: its path in the skill, and the name of its contents."""

    path: str
    digest: str
    size: int
    executable: bool = False


@dataclass(frozen=True, slots=True)
class SkillVersion:
    """A skill as it was saved once. Numbers count from 1 and are never used again.

    `by` is person, agent, review, import, disk or builtin; `why` is what was said of it; `session` is where an agent's
    came from. `digest` is that of all files together.
    """

    number: int
    name: str
    made: int
    by: str
    digest: str
    why: str = ""
    session: str = ""
    files: tuple[SkillFile, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillRow:
    """A line of the list.

    `key` names this one skill among those of the same name: `library/NAME`, `builtin/NAME`, `home:PATH`, `folder:PATH`.
    `version` is the newest that is kept, 0 for none. `uses` counts the calls that used it, `errors` and `warnings` are
    findings, `tokens` is about what the body weighs, `trouble` says why it is broken. No model is told
    of one that is `by_person_only`: a person names it.
    """

    key: str
    name: str
    source: Source
    state: State
    description: str = ""
    version: int = 0
    pinned: bool = False
    place: str = ""
    shadowed_by: str = ""
    uses: int = 0
    used: int = 0
    errors: int = 0
    warnings: int = 0
    tokens: int = 0
    digest: str = ""
    trouble: str = ""
    by_person_only: bool = False


@dataclass(frozen=True, slots=True)
class OpenSkill:
    """A skill as the editor opens it. `base` is the version to name when it is saved."""

    row: SkillRow
    text: str
    base: int
    findings: tuple[Finding, ...] = ()
    files: tuple[SkillFile, ...] = ()
    versions: tuple[SkillVersion, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """Lines of a three-way difference. *both*: the same change on both sides; *clash*: two different ones."""

    kind: Literal["same", "yours", "theirs", "both", "clash"]
    base: tuple[str, ...] = ()
    yours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Saved:
    """It is kept as this version; `unchanged`: it already was."""

    key: str
    version: int
    findings: tuple[Finding, ...] = ()
    unchanged: bool = False


@dataclass(frozen=True, slots=True)
class Moved:
    """Nothing was saved: somebody else saved `head` since `base`. `theirs` is its text, `parts` all three side by side.

    `merged` is your text with their changes in it, where none of them clash; else None. `files` differ besides.
    """

    key: str
    base: int
    head: SkillVersion
    theirs: str
    parts: tuple[Part, ...] = ()
    merged: str | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileDifference:
    """A file in two versions; None where there is, or was, none, `text` False where it is no text."""

    path: str
    before: str | None
    after: str | None
    text: bool = True


@dataclass(frozen=True, slots=True)
class SkillUse:
    """A run that used a skill: which version, when, and how the run went."""

    session: str
    title: str
    run: int
    version: int
    at: int
    status: str = ""
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import would bring, or brought. `version` 0: it was not kept.

    `clash` says what is there already under its name: the *same* skill, or an *other* one, and then `key` is not that
    of its name. `trouble` says why it cannot be kept.
    """

    name: str
    key: str
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()
    text: str = ""
    version: int = 0
    clash: Literal["", "same", "other"] = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Offered:
    """A skill that a run was told of, and the version of it that counts for this run."""

    name: str
    source: Source
    version: int
    key: str = ""


@dataclass(frozen=True, slots=True)
class SkillUsed:
    """A call read a skill, or a file of it, into the talk."""

    call_id: str
    name: str
    version: int
    source: Source
    key: str = ""
    file: str = ""


def valid_name(name: str) -> bool:
    """May a skill be called so?"""
    return len(name) <= NAME_LIMIT and NAME.fullmatch(name) is not None
