"""Skills: their contents, sources, states and versions."""

import re
from dataclasses import dataclass
from typing import Final, Literal

SkillSource = Literal["folder", "library", "home", "package", "builtin"]
"""Where a skill is stored. If two skills have the same name, the source listed first takes precedence."""
SkillState = Literal["enabled", "disabled", "untrusted", "changed", "archived", "shadowed", "broken"]
"""Only *enabled* skills are offered to models. *untrusted*: the user has not approved the skill yet. *changed*: it was
modified after the user approved it. *shadowed*: another skill of the same name takes precedence. *broken*: its SKILL.md
is invalid."""
FindingLevel = Literal["error", "warning", "note"]
SkillAuthor = Literal["user", "agent", "review", "import", "disk", "builtin"]
"""Who saved a version. *review*: the review of a session proposed it. *disk*: another program changed the files."""
HunkKind = Literal["same", "yours", "theirs", "both", "clash"]
"""*yours* and *theirs*: changed on that side only. *both*: changed on both sides, equally. *clash*: not equally."""

SKILL_SOURCES: Final[tuple[SkillSource, ...]] = ("folder", "library", "home", "package", "builtin")
READ_ONLY_SOURCES: Final[frozenset[SkillSource]] = frozenset({"package", "builtin"})
"""Editing a skill from one of these creates a copy in the library."""
SKILL_FILE: Final = "SKILL.md"
NAME_PATTERN: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
NAME_LIMIT: Final = 64
DESCRIPTION_LIMIT: Final = 1024


@dataclass(frozen=True, slots=True)
class SkillFinding:
    """A finding in the text of a skill. `line` counts from 1; an *error* violates the Agent Skills format."""

    line: int
    message: str
    cause: str = ""
    fix: str = ""
    level: FindingLevel = "error"


@dataclass(frozen=True, slots=True)
class Skill:
    """The contents of a SKILL.md file.

    `tools` are those in `allowed-tools`, `unknown_keys` the front matter entries that the format does not define, and
    `body_line` is the line on which the body begins, counted from 1.
    """

    name: str
    description: str
    body: str
    license: str = ""
    compatibility: str = ""
    tools: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    unknown_keys: tuple[tuple[str, str], ...] = ()
    body_line: int = 1


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A file in a version of a skill. `path` is relative to the skill, `digest` the blob name of the contents."""

    path: str
    digest: str
    size: int
    executable: bool = False


@dataclass(frozen=True, slots=True)
class SkillVersion:
    """A saved version of a skill. Numbers count from 1 and are never reused.

    `reason` describes the change, and `session` is the session of the agent that made it. `digest` is a hash of all
    files together.
    """

    number: int
    name: str
    created_at: int
    author: SkillAuthor
    digest: str
    reason: str = ""
    session: str = ""
    files: tuple[SkillFile, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillRow:
    """A skill in the list of skills.

    Attributes:
        key: the id, which is unique among skills with the same name: `library/NAME`, `builtin/NAME`, `home:PATH`,
            `folder:PATH` or `package:PATH`.
        version: the latest saved version; 0 for none.
        use_count, last_used: how many tool calls used the skill, and when the last one did, in microseconds.
        errors, warnings: the numbers of findings.
        tokens: the estimated size of the body in tokens.
        error: why a broken skill cannot be used.
        user_only: whether only the user can invoke the skill, so that it is not offered to models.
    """

    key: str
    name: str
    source: SkillSource
    state: SkillState
    description: str = ""
    version: int = 0
    pinned: bool = False
    path: str = ""
    shadowed_by: str = ""
    use_count: int = 0
    last_used: int = 0
    errors: int = 0
    warnings: int = 0
    tokens: int = 0
    digest: str = ""
    error: str = ""
    user_only: bool = False


@dataclass(frozen=True, slots=True)
class OpenSkill:
    """A skill opened in the editor. `base` is the version that was opened, to detect conflicts when saving."""

    row: SkillRow
    text: str
    base: int
    findings: tuple[SkillFinding, ...] = ()
    files: tuple[SkillFile, ...] = ()
    versions: tuple[SkillVersion, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeHunk:
    """A hunk of a three-way merge, with the lines of each side."""

    kind: HunkKind
    base: tuple[str, ...] = ()
    yours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillSaved:
    """A skill was saved as `version`. `unchanged`: its text equals that version, so no new version was created."""

    key: str
    version: int
    findings: tuple[SkillFinding, ...] = ()
    unchanged: bool = False


@dataclass(frozen=True, slots=True)
class SkillSaveConflict:
    """A save was refused, because version `latest` had been saved after the version `base` that was edited.

    `theirs` is the text of `latest`, and `hunks` is the three-way merge. `merged` combines both changes; None if they
    conflict. `files` lists the differing files other than SKILL.md.
    """

    key: str
    base: int
    latest: SkillVersion
    theirs: str
    hunks: tuple[MergeHunk, ...] = ()
    merged: str | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillFileDiff:
    """A file in two versions of a skill; None where it does not exist. `text` is False for binary contents."""

    path: str
    before: str | None
    after: str | None
    text: bool = True


@dataclass(frozen=True, slots=True)
class SkillUse:
    """A use of a skill by a run: which version, when, how the run ended and how it was rated.

    `rating` is `up` or `down`, by the user or else by the task's check; "" if the run was not rated.
    """

    session: str
    title: str
    run: int
    version: int
    at: int
    status: str = ""
    rating: str = ""


@dataclass(frozen=True, slots=True)
class ImportedSkill:
    """A skill that an import would add, or has added. `version` is 0 if it was not added.

    `name_taken_by` is "same" if its name already belongs to the same skill, or "other"; then `key` contains a
    different, free name. `error` tells why the skill cannot be added.
    """

    name: str
    key: str
    findings: tuple[SkillFinding, ...] = ()
    files: tuple[str, ...] = ()
    text: str = ""
    version: int = 0
    name_taken_by: Literal["", "same", "other"] = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class OfferedSkill:
    """A skill listed in the system prompt of a run, and the version that the run uses."""

    name: str
    source: SkillSource
    version: int
    key: str = ""


@dataclass(frozen=True, slots=True)
class SkillUsed:
    """A tool call loaded a skill into the conversation, or only its file `file`."""

    call_id: str
    name: str
    version: int
    source: SkillSource
    key: str = ""
    file: str = ""


def is_valid_name(name: str) -> bool:
    """Return whether the Agent Skills format permits this name."""
    return len(name) <= NAME_LIMIT and NAME_PATTERN.fullmatch(name) is not None
