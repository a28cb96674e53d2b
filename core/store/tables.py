"""SQLModel declarations of all tables, and statistics on the size of the data file.

This module is slow to import, so the window does not import it at startup.
"""

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
from sqlalchemy.exc import DBAPIError
from sqlmodel import Field, Session, SQLModel, select

from core.store.database import to_problem
from core.store.files import file_size, wal_path
from core.store.health import open_read_only

LARGEST = 5


class SessionTable(SQLModel, table=True):
    """One session, with the columns of `core.domain.sessions.SessionRow`."""

    __tablename__ = "session"
    __table_args__ = {"sqlite_autoincrement": True}
    number: int | None = Field(default=None, primary_key=True)
    id: str = Field(sa_type=Text, unique=True)
    title: str = Field(sa_type=Text)
    folder: str = Field(sa_type=Text)
    model: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    activity_kind: str = Field(sa_type=Text)
    activity: str = Field(sa_type=Text)
    created_at: int
    updated_at: int = Field(index=True)
    last_seq: int
    runs: int
    turns: int
    max_turns: int
    pending_requests: int
    rows: int
    steps: int
    tokens: int
    cost: float = Field(sa_type=Float)
    rating: str = Field(sa_type=Text, sa_column_kwargs={"server_default": ""})
    check_rating: str = Field(sa_type=Text, sa_column_kwargs={"server_default": ""})
    forked_from: str = Field(sa_type=Text, sa_column_kwargs={"server_default": ""})
    pinned: int = Field(sa_column_kwargs={"server_default": text("0")})
    archived: int = Field(sa_column_kwargs={"server_default": text("0")})
    trashed: int = Field(sa_column_kwargs={"server_default": text("0")})
    mode: str = Field(sa_type=Text, sa_column_kwargs={"server_default": ""})
    parent: str = Field(sa_type=Text, index=True, sa_column_kwargs={"server_default": ""})
    parent_call: str = Field(sa_type=Text, sa_column_kwargs={"server_default": ""})
    subagent: str = Field(sa_type=Text, sa_column_kwargs={"server_default": ""})
    depth: int = Field(sa_column_kwargs={"server_default": text("0")})
    imported_from: str = Field(sa_type=Text, sa_column_kwargs={"server_default": ""})


class EventTable(SQLModel, table=True):
    """One event in the event log of a session."""

    __tablename__ = "event"
    id: int | None = Field(default=None, primary_key=True)
    run: int
    at: int
    kind: str = Field(sa_type=Text)
    payload: str = Field(sa_type=Text)


class StepTable(SQLModel, table=True):
    """One row in the timeline of a session."""

    __tablename__ = "step"
    id: int | None = Field(default=None, primary_key=True)
    number: int
    kind: str = Field(sa_type=Text)
    key: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    object: str = Field(sa_type=Text)
    started_at: int
    ended_at: int
    run: int
    depth: int
    tokens: int
    cost: float = Field(sa_type=Float)
    metrics: str = Field(sa_type=Text)
    first_seq: int
    last_seq: int


class SearchBacklogTable(SQLModel, table=True):
    """A range of events that are not in the full-text index yet."""

    __tablename__ = "search_backlog"
    first_event: int | None = Field(default=None, primary_key=True)
    last_event: int


class BlobTable(SQLModel, table=True):
    """A blob: content that is stored outside of the event that refers to it."""

    __tablename__ = "blob"
    hash: str = Field(sa_type=Text, primary_key=True)
    size: int
    body: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class PendingRequestTable(SQLModel, table=True):
    """A question or permission request that waits for an answer."""

    __tablename__ = "pending_request"
    id: str = Field(sa_type=Text, primary_key=True)
    session: int = Field(sa_column=Column(Integer, ForeignKey("session.number", ondelete="CASCADE"), nullable=False))
    seq: int


class RuleTable(SQLModel, table=True):
    """A permission rule. `matches` and `misses` are JSON lists; `revoked_at` is a time in microseconds, or 0."""

    __tablename__ = "rule"
    id: str = Field(sa_type=Text, primary_key=True)
    effect: str = Field(sa_type=Text)
    tool: str = Field(sa_type=Text)
    subject: str = Field(sa_type=Text)
    pattern: str = Field(sa_type=Text)
    scope: str = Field(sa_type=Text)
    scope_id: str = Field(sa_type=Text)
    matches: str = Field(sa_type=Text)
    misses: str = Field(sa_type=Text)
    author: str = Field(sa_type=Text)
    created_at: int
    session: str = Field(sa_type=Text)
    revoked_at: int


class UntrustedFileTable(SQLModel, table=True):
    """A file with the columns of `core.domain.untrusted_file.UntrustedFile`; `sources` is a JSON list."""

    __tablename__ = "untrusted_file"
    __table_args__ = (UniqueConstraint("path", "hash"),)
    id: int | None = Field(default=None, primary_key=True)
    path: str = Field(sa_type=Text)
    hash: str = Field(sa_type=Text)
    earlier: str = Field(sa_type=Text)
    sources: str = Field(sa_type=Text)
    session: str = Field(sa_type=Text)
    created_at: int


class ScheduleTable(SQLModel, table=True):
    """A scheduled task. `due` is the time of the next start, or 0 if there is none."""

    __tablename__ = "schedule"
    id: str = Field(sa_type=Text, primary_key=True)
    task: str = Field(sa_type=Text)
    folder: str = Field(sa_type=Text)
    model: str = Field(sa_type=Text)
    first_due: int
    due: int
    interval: str = Field(sa_type=Text)
    on_missed: str = Field(sa_type=Text)
    mode: str = Field(sa_type=Text)
    script: str = Field(sa_type=Text)
    last_session: str = Field(sa_type=Text)
    missed_count: int
    error: str = Field(sa_type=Text)
    worktree: int = Field(sa_column_kwargs={"server_default": text("0")})


class SkillTable(SQLModel, table=True):
    """A skill with the user's settings.

    `trusted_digest` identifies the files that the user trusts. `pinned`, `disabled` and `archived` are the times at
    which the user set them, or 0.
    """

    __tablename__ = "skill"
    number: int | None = Field(default=None, primary_key=True)
    key: str = Field(sa_type=Text, unique=True)
    name: str = Field(sa_type=Text)
    latest_version: int
    trusted_digest: str = Field(sa_type=Text)
    pinned: int
    disabled: int
    archived: int


class SkillVersionTable(SQLModel, table=True):
    """One saved version of a skill; `files` is JSON."""

    __tablename__ = "skill_version"
    skill: int = Field(sa_column=Column(Integer, ForeignKey("skill.number", ondelete="CASCADE"), primary_key=True))
    number: int = Field(primary_key=True)
    name: str = Field(sa_type=Text)
    created_at: int
    author: str = Field(sa_type=Text)
    digest: str = Field(sa_type=Text)
    reason: str = Field(sa_type=Text)
    session: str = Field(sa_type=Text)
    files: str = Field(sa_type=Text)


class SkillUseTable(SQLModel, table=True):
    """Refers to an event that records the use of a skill, so that uses are found fast."""

    __tablename__ = "skill_use"
    event: int | None = Field(default=None, primary_key=True)
    key: str = Field(sa_type=Text, index=True)
    version: int


class ProposalTable(SQLModel, table=True):
    """A proposed change of a skill or memory, with the user's decision if there is one. Lists are stored as JSON."""

    __tablename__ = "proposal"
    id: str = Field(sa_type=Text, primary_key=True)
    target_kind: str = Field(sa_type=Text)
    action: str = Field(sa_type=Text)
    target: str = Field(sa_type=Text)
    text: str = Field(sa_type=Text)
    reason: str = Field(sa_type=Text)
    base_version: int
    path: str = Field(sa_type=Text)
    details: str = Field(sa_type=Text)
    session: str = Field(sa_type=Text, index=True)
    steps: str = Field(sa_type=Text)
    untrusted_sources: str = Field(sa_type=Text)
    author: str = Field(sa_type=Text)
    created_at: int
    state: str = Field(sa_type=Text, index=True)
    resolved_at: int
    resolved_by: str = Field(sa_type=Text)
    result: str = Field(sa_type=Text)


class MemoryScopeTable(SQLModel, table=True):
    """A scope of memories (a folder, agent or session), and the size of its part of the search index."""

    __tablename__ = "memory_scope"
    __table_args__ = (UniqueConstraint("scope", "scope_id"),)
    number: int | None = Field(default=None, primary_key=True)
    scope: str = Field(sa_type=Text)
    scope_id: str = Field(sa_type=Text)
    memory_count: int
    word_count: int
    context_word_count: int


class MemoryTable(SQLModel, table=True):
    """The current state of a memory, which results from its changes. `fields` and `conflicts` are JSON or empty."""

    __tablename__ = "memory"
    key: int | None = Field(default=None, primary_key=True)
    id: str = Field(sa_type=Text, unique=True)
    kind: str = Field(sa_type=Text)
    text: str = Field(sa_type=Text)
    context: str = Field(sa_type=Text)
    fields: str = Field(sa_type=Text)
    confidence: float = Field(sa_type=Float)
    author: str = Field(sa_type=Text)
    session: str = Field(sa_type=Text, index=True)
    seq: int
    created_at: int
    updated_at: int
    version: int
    evidence: int
    pinned: int
    status: str = Field(sa_type=Text)
    conflicts: str = Field(sa_type=Text)
    words: str = Field(sa_type=Text)
    context_words: str = Field(sa_type=Text)
    fingerprint: str = Field(sa_type=Text, index=True)
    recall_count: int
    use_count: int
    good_runs: int
    bad_runs: int
    last_recalled: int


class MemoryEmbeddingTable(SQLModel, table=True):
    """The embedding of a memory."""

    __tablename__ = "memory_embedding"
    number: int | None = Field(default=None, primary_key=True)
    key: int = Field(unique=True)
    model: str = Field(sa_type=Text)
    embedding: bytes


class MemoryVersionTable(SQLModel, table=True):
    """One change to a memory; `content` is JSON, or empty if the content did not change."""

    __tablename__ = "memory_version"
    memory: str = Field(sa_type=Text, primary_key=True)
    number: int = Field(primary_key=True)
    at: int
    action: str = Field(sa_type=Text)
    author: str = Field(sa_type=Text)
    content: str = Field(sa_type=Text)
    session: str = Field(sa_type=Text)
    seq: int
    reason: str = Field(sa_type=Text)
    related_memory: str = Field(sa_type=Text)
    undoes: int


class MemoryUseTable(SQLModel, table=True):
    """A memory that was added to a run's context; `run_rating` is "good", "bad" or empty."""

    __tablename__ = "memory_use"
    session: str = Field(sa_type=Text, primary_key=True)
    run: int = Field(primary_key=True)
    memory: str = Field(sa_type=Text, primary_key=True, index=True)
    version: int
    at: int
    score: float = Field(sa_type=Float)
    used: int
    run_rating: str = Field(sa_type=Text)


@dataclass(frozen=True, slots=True)
class LargeSession:
    """A session in the list of the longest sessions."""

    id: str
    title: str
    events: int


@dataclass(frozen=True, slots=True)
class DatabaseStats:
    """Statistics on the size of the data file.

    `disk_bytes` includes the WAL. `blob_bytes` is the total size of the blobs before compression.
    """

    disk_bytes: int
    blob_bytes: int
    rows: dict[str, int] = field(default_factory=dict)
    largest: tuple[LargeSession, ...] = ()


def collect_stats(path: Path) -> DatabaseStats:
    """Return statistics on the data file. Raise Problem if it is damaged.

    This reads every page of the file, so do not call it on the UI thread.
    """
    engine = create_engine("sqlite://", creator=lambda: open_read_only(path), poolclass=NullPool)
    try:
        with Session(engine) as session:
            rows = {
                table.name: session.scalar(select(func.count()).select_from(table)) or 0
                for table in SQLModel.metadata.sorted_tables
            }
            longest = session.exec(select(SessionTable).order_by(desc("last_seq")).limit(LARGEST)).all()
            largest = tuple(LargeSession(row.id, row.title, row.last_seq) for row in longest)
            contents = session.scalar(select(func.sum(BlobTable.size))) or 0
    except DBAPIError as error:
        raise to_problem(error.orig or error, path.parent) from error
    finally:
        engine.dispose()
    return DatabaseStats(file_size(path) + file_size(wal_path(path)), contents, rows, largest)
