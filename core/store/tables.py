"""The tables as classes, and the figures that `doctor` and `backup` show of a file. Never read for a first paint."""

from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import (
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    NullPool,
    Text,
    UniqueConstraint,
    create_engine,
    desc,
    func,
    text,
)
from sqlmodel import Field, Session, SQLModel, select

from core.store.files import size_of, wal_of
from core.store.health import peek

LARGEST = 5


class SessionTable(SQLModel, table=True):
    """A line of the list, and how long its journal is."""

    __tablename__ = "session"
    __table_args__ = {"sqlite_autoincrement": True}
    number: int | None = Field(default=None, primary_key=True)
    id: str = Field(sa_type=Text, unique=True)
    title: str = Field(sa_type=Text)
    folder: str = Field(sa_type=Text)
    model: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    doing_kind: str = Field(sa_type=Text)
    doing: str = Field(sa_type=Text)
    opened: int
    updated: int = Field(index=True)
    seq: int
    runs: int
    rounds: int
    max_rounds: int
    waiting: int
    rows: int
    steps: int
    tokens: int
    cost: float = Field(sa_type=Float)
    verdict: str = Field(sa_type=Text, sa_column_kwargs={"server_default": ""})
    checked: str = Field(sa_type=Text, sa_column_kwargs={"server_default": ""})
    origin: str = Field(sa_type=Text, sa_column_kwargs={"server_default": ""})
    pinned: int = Field(sa_column_kwargs={"server_default": text("0")})
    archived: int = Field(sa_column_kwargs={"server_default": text("0")})
    trashed: int = Field(sa_column_kwargs={"server_default": text("0")})
    mode: str = Field(sa_type=Text, sa_column_kwargs={"server_default": ""})
    parent: str = Field(sa_type=Text, index=True, sa_column_kwargs={"server_default": ""})
    parent_call: str = Field(sa_type=Text, sa_column_kwargs={"server_default": ""})
    called: str = Field(sa_type=Text, sa_column_kwargs={"server_default": ""})
    depth: int = Field(sa_column_kwargs={"server_default": text("0")})
    source: str = Field(sa_type=Text, sa_column_kwargs={"server_default": ""})


class EntryTable(SQLModel, table=True):
    """A line of a journal."""

    __tablename__ = "entry"
    id: int | None = Field(default=None, primary_key=True)
    run: int
    at: int
    kind: str = Field(sa_type=Text)
    payload: str = Field(sa_type=Text)


class StepTable(SQLModel, table=True):
    """A row a person sees."""

    __tablename__ = "step"
    id: int | None = Field(default=None, primary_key=True)
    number: int
    kind: str = Field(sa_type=Text)
    key: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    object: str = Field(sa_type=Text)
    began: int
    ended: int
    run: int
    depth: int
    tokens: int
    cost: float = Field(sa_type=Float)
    marks: str = Field(sa_type=Text)
    first: int
    last: int


class BlobTable(SQLModel, table=True):
    """Contents kept apart."""

    __tablename__ = "blob"
    hash: str = Field(sa_type=Text, primary_key=True)
    size: int
    body: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class QuestionTable(SQLModel, table=True):
    """An open question."""

    __tablename__ = "question"
    id: str = Field(sa_type=Text, primary_key=True)
    session: int = Field(sa_column=Column(Integer, ForeignKey("session.number", ondelete="CASCADE"), nullable=False))
    seq: int


class RuleTable(SQLModel, table=True):
    """A rule of a person; `matches` and `misses` are JSON lists, `revoked` is 0 or when."""

    __tablename__ = "rule"
    id: str = Field(sa_type=Text, primary_key=True)
    effect: str = Field(sa_type=Text)
    tool: str = Field(sa_type=Text)
    subject: str = Field(sa_type=Text)
    pattern: str = Field(sa_type=Text)
    scope: str = Field(sa_type=Text)
    place: str = Field(sa_type=Text)
    matches: str = Field(sa_type=Text)
    misses: str = Field(sa_type=Text)
    by: str = Field(sa_type=Text)
    made: int
    session: str = Field(sa_type=Text)
    revoked: int


class ScheduleTable(SQLModel, table=True):
    """A session to be begun at a time; `due` is 0 when there is none any more."""

    __tablename__ = "schedule"
    id: str = Field(sa_type=Text, primary_key=True)
    task: str = Field(sa_type=Text)
    folder: str = Field(sa_type=Text)
    model: str = Field(sa_type=Text)
    first: int
    due: int
    every: str = Field(sa_type=Text)
    missed: str = Field(sa_type=Text)
    mode: str = Field(sa_type=Text)
    script: str = Field(sa_type=Text)
    session: str = Field(sa_type=Text)
    skipped: int
    trouble: str = Field(sa_type=Text)
    worktree: int = Field(sa_column_kwargs={"server_default": text("0")})


class SkillTable(SQLModel, table=True):
    """A skill that is known; `trusted` is the digest a person approved, the rest are times, 0 for not."""

    __tablename__ = "skill"
    number: int | None = Field(default=None, primary_key=True)
    key: str = Field(sa_type=Text, unique=True)
    name: str = Field(sa_type=Text)
    head: int
    trusted: str = Field(sa_type=Text)
    pinned: int
    disabled: int
    archived: int


class SkillVersionTable(SQLModel, table=True):
    """A skill as it was saved once; `files` is JSON."""

    __tablename__ = "skill_version"
    skill: int = Field(sa_column=Column(Integer, ForeignKey("skill.number", ondelete="CASCADE"), primary_key=True))
    number: int = Field(primary_key=True)
    name: str = Field(sa_type=Text)
    made: int
    by: str = Field(sa_type=Text)
    digest: str = Field(sa_type=Text)
    why: str = Field(sa_type=Text)
    session: str = Field(sa_type=Text)
    files: str = Field(sa_type=Text)


class SkillUseTable(SQLModel, table=True):
    """A fact that says a skill was used."""

    __tablename__ = "skill_use"
    entry: int | None = Field(default=None, primary_key=True)
    key: str = Field(sa_type=Text, index=True)
    version: int


class ProposalTable(SQLModel, table=True):
    """What somebody wants to be kept; `steps` and `taint` are JSON lists."""

    __tablename__ = "proposal"
    id: str = Field(sa_type=Text, primary_key=True)
    of: str = Field(sa_type=Text)
    what: str = Field(sa_type=Text)
    target: str = Field(sa_type=Text)
    text: str = Field(sa_type=Text)
    reason: str = Field(sa_type=Text)
    base: int
    path: str = Field(sa_type=Text)
    about: str = Field(sa_type=Text)
    session: str = Field(sa_type=Text, index=True)
    steps: str = Field(sa_type=Text)
    taint: str = Field(sa_type=Text)
    by: str = Field(sa_type=Text)
    made: int
    state: str = Field(sa_type=Text, index=True)
    settled: int
    settled_by: str = Field(sa_type=Text)
    result: str = Field(sa_type=Text)


class MemoryPlaceTable(SQLModel, table=True):
    """A folder, an agent or a session that memories are for, and what of them is indexed."""

    __tablename__ = "memory_place"
    __table_args__ = (UniqueConstraint("reach", "place"),)
    number: int | None = Field(default=None, primary_key=True)
    reach: str = Field(sa_type=Text)
    place: str = Field(sa_type=Text)
    memories: int
    words: int
    around: int


class MemoryTable(SQLModel, table=True):
    """A memory as its changes left it; `parts` and `links` are JSON, or empty."""

    __tablename__ = "memory"
    key: int | None = Field(default=None, primary_key=True)
    id: str = Field(sa_type=Text, unique=True)
    kind: str = Field(sa_type=Text)
    text: str = Field(sa_type=Text)
    around: str = Field(sa_type=Text)
    parts: str = Field(sa_type=Text)
    confidence: float = Field(sa_type=Float)
    author: str = Field(sa_type=Text)
    session: str = Field(sa_type=Text, index=True)
    seq: int
    made: int
    changed: int
    version: int
    evidence: int
    pinned: int
    standing: str = Field(sa_type=Text)
    links: str = Field(sa_type=Text)
    words: str = Field(sa_type=Text)
    around_words: str = Field(sa_type=Text)
    print: str = Field(sa_type=Text, index=True)
    recalled: int
    used: int
    good: int
    bad: int
    last: int


class MemoryVectorTable(SQLModel, table=True):
    """What a memory means, as a model told it."""

    __tablename__ = "memory_vector"
    number: int | None = Field(default=None, primary_key=True)
    key: int = Field(unique=True)
    model: str = Field(sa_type=Text)
    vector: bytes


class MemoryVersionTable(SQLModel, table=True):
    """One thing that happened to a memory; `said` is JSON, empty where nothing it says changed."""

    __tablename__ = "memory_version"
    memory: str = Field(sa_type=Text, primary_key=True)
    number: int = Field(primary_key=True)
    at: int
    did: str = Field(sa_type=Text)
    by: str = Field(sa_type=Text)
    said: str = Field(sa_type=Text)
    session: str = Field(sa_type=Text)
    seq: int
    why: str = Field(sa_type=Text)
    other: str = Field(sa_type=Text)
    back: int


class MemoryUseTable(SQLModel, table=True):
    """A memory that a run was told; `went` is good, bad, or empty where nobody said."""

    __tablename__ = "memory_use"
    session: str = Field(sa_type=Text, primary_key=True)
    run: int = Field(primary_key=True)
    memory: str = Field(sa_type=Text, primary_key=True, index=True)
    version: int
    at: int
    score: float = Field(sa_type=Float)
    used: int
    went: str = Field(sa_type=Text)


@dataclass(frozen=True, slots=True)
class Large:
    """One of the longest sessions."""

    id: str
    title: str
    facts: int


@dataclass(frozen=True, slots=True)
class Figures:
    """How much there is. `stored` are the bytes on the disk, `contents` those that texts kept apart would fill."""

    stored: int
    contents: int
    rows: dict[str, int] = field(default_factory=dict)
    largest: tuple[Large, ...] = ()


def figures(path: Path) -> Figures:
    """Count what a file holds. Not for the window's thread: counting reads every page."""
    engine = create_engine("sqlite://", creator=lambda: peek(path), poolclass=NullPool)
    try:
        with Session(engine) as session:
            rows = {
                table.name: session.scalar(select(func.count()).select_from(table)) or 0
                for table in SQLModel.metadata.sorted_tables
            }
            longest = session.exec(select(SessionTable).order_by(desc("seq")).limit(LARGEST)).all()
            largest = tuple(Large(row.id, row.title, row.seq) for row in longest)
            contents = session.scalar(select(func.sum(BlobTable.size))) or 0
    finally:
        engine.dispose()
    return Figures(size_of(path) + size_of(wal_of(path)), contents, rows, largest)
