"""Which folders a person trusts: only there is what a folder brings along obeyed. Files of a distrusted one taint."""

from dataclasses import dataclass
from pathlib import Path

from core.domain.clock import now
from core.domain.problems import Problem
from core.domain.rules import Effect, made_rule
from core.store.rule_book import Book, RuleBook, new_rule_id

TOOL = "folder"  # stands in the rule book, so that it is listed and revoked like every other word of a person
BROUGHT = (
    "AGENTS.md", "CLAUDE.md", ".agents/skills/*/SKILL.md", ".claude/skills/*/SKILL.md", ".mcp.json", ".journeyman/*",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FolderTrust:
    """Of one folder: what the person said of it, if anything. `brought` is what in it an agent would obey."""

    folder: str
    trusted: bool | None
    brought: tuple[str, ...] = ()


def trusts(book: Book, folder: str) -> bool | None:
    """What the person said of the folder, last; None where nothing was said, or it cannot be read."""
    said = [rule for rule in book.rules or () if rule.tool == TOOL and rule.where == folder]
    return said[-1].effect == "allow" if said else None


def look(book: Book, folder: Path) -> FolderTrust:
    """What a person is told before they decide."""
    found = sorted(str(path.relative_to(folder)) for pattern in BROUGHT for path in folder.glob(pattern))
    return FolderTrust(str(folder), trusts(book, str(folder)), tuple(found))


async def trust(book: RuleBook, folder: str, trusted: bool) -> None:
    """Keep what the person said; it takes the place of what they said before."""
    for rule in book.read().rules or ():
        if rule.tool == TOOL and rule.where == folder:
            await book.revoke(rule.id)
    effect: Effect = "allow" if trusted else "deny"
    await book.add([made_rule(new_rule_id(), effect, TOOL, "none", "", scope="folder", where=folder, made=now())])


def refuse_unfit(folder: Path, data: Path) -> None:
    """No agent works in a whole home, a whole disk, or our own data."""
    real = folder.resolve()
    if real in (Path.home().resolve(), Path(real.anchor), data.resolve()):
        names = {Path(real.anchor): "the whole disk", data.resolve(): "the data of Journeyman"}
        what = f"An agent cannot work in {real}."
        raise Problem(what, f"It is {names.get(real, 'your whole home')}.", "Choose a folder in it, or make one.")
