"""Tables that are written seldom, declared once: a test holds them against what the migrations make."""

from sqlmodel import Field, SQLModel


class RuleRow(SQLModel, table=True):
    """A rule of a person; `matches` and `misses` are JSON lists, `revoked` is 0 or when."""

    __tablename__ = "rule"

    id: str = Field(primary_key=True)
    effect: str
    tool: str
    subject: str
    pattern: str
    scope: str
    place: str
    matches: str
    misses: str
    by: str
    made: int
    session: str
    revoked: int
