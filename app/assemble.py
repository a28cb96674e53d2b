"""Build every service once, bottom up; close them in reverse."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from core.agents.guests import Guests
from core.domain.problems import Trouble
from core.engine.bench import Bench
from core.engine.drafts import Draft, Drafts
from core.engine.engine import Engine
from core.engine.outside import OutsideAgents
from core.engine.profiles import learnable
from core.engine.prompt import briefed
from core.engine.providers import Providers
from core.engine.runs import Runs
from core.engine.servers import ToolServers
from core.engine.skills import Skills
from core.engine.trust import obeyed, refuse_unfit
from core.learning.review import Reviews
from core.memory.hand import Hand, ground
from core.memory.index import indexed
from core.memory.meaning import Meaning
from core.memory.memory import Memories
from core.memory.notes import Notes
from core.models.catalogue import Catalogue
from core.servers.servers import Servers
from core.settings.file import SettingsFile
from core.settings.secrets import Secrets
from core.skills.found import Disk, user_home
from core.skills.library import Library
from core.store.journal import Journal
from core.store.memory_book import MemoryBook
from core.store.opening import Opened, open_data
from core.store.proposals import Proposals
from core.store.reader import Reader
from core.store.rule_book import RuleBook
from core.store.skills import SkillStore
from core.tools.place import Place, open_place
from core.tools.search_web import NAME as SEARCH_WEB
from core.tools.server_tools import offered
from core.tools.web import Web
from core.workspace.process import MARK
from core.workspace.usage import end_orphans
from ui.web import html


@dataclass(frozen=True, slots=True)
class Services:
    """What runs on the engine's loop."""

    engine: Engine
    runs: Runs
    servers: Servers
    guests: Guests
    opened: Opened
    reader: Reader
    rules: RuleBook
    remembered: MemoryBook
    proposals: Proposals
    reviews: Reviews
    meaning: Meaning

    @property
    def notes(self) -> tuple[Trouble, ...]:
        """What the person should be told of the data."""
        return self.opened.notes

    async def close(self) -> None:
        """End what goes, then let go of the file: the writing connection last, it checkpoints."""
        await self.reviews.close()
        await self.runs.close()
        await self.meaning.close()
        await self.servers.close()
        await self.guests.close()
        self.reader.close()
        self.remembered.close()
        if self.opened.database:
            self.opened.database.close()


async def assemble(folder: Path, report: Callable[[BaseException], None], *, safe: bool = False) -> Services:
    """On the engine's loop: SQLite connections stay in the thread that made them. `safe`: no hooks, no guides."""
    opened = open_data(folder)
    settings = SettingsFile(folder, frozen=opened.frozen)
    opened = replace(opened, notes=(*opened.notes, *settings.notes))
    reader = Reader(opened.path, frozen=opened.frozen)
    journal = Journal(opened.database, reader)
    drafts = Drafts()
    secrets = Secrets(os.environ)
    web = Web(lambda: settings.now, secrets)
    guests = Guests(lambda: settings.now, folder)
    servers = Servers(settings, folder, secrets, os.environ)
    catalogue = Catalogue(lambda: settings.now, secrets, os.environ, lambda names: settings.change(text_calls=names))
    book = RuleBook(opened.path, opened.database, frozen=opened.frozen)
    skills = Skills(Library(SkillStore(opened.path, opened.database, frozen=opened.frozen), Disk(user_home())), book)
    remembered = MemoryBook(opened.path, opened.database, indexed, frozen=opened.frozen)
    meaning = Meaning(remembered, lambda: settings.now.meaning if settings.now.memory else "")
    settings.listen(lambda _: meaning.again())
    memories = Memories(remembered, meaning=meaning)
    proposals = Proposals(opened.path, opened.database, journal, frozen=opened.frozen)
    stands = ground(memories, partial(learnable, folder))
    Notes(journal, memories, lambda: settings.now.memory)

    def place(work: Path, session: str) -> Place:
        def hear(call: str, printed: bytes) -> None:
            drafts.tell(Draft(session, call=call, output=printed))

        hand = Hand(
            memories, proposals, session, str(work), stands,
            policy=lambda: settings.now.learning, on=lambda: settings.now.memory,
        )  # fmt: skip
        refuse_unfit(work, folder)  # also of a session that was begun elsewhere: a fork of one that was imported
        made = open_place(work, folder, hear, safe=safe, web=web)
        return replace(made, memory=hand, servers=None if safe else servers)

    brief = partial(
        briefed, home=folder, book=book, safe=safe, absent=lambda: () if web.host else (SEARCH_WEB,), skills=skills,
        more=lambda: tuple(offered(servers.all())),
    )  # fmt: skip
    bench = Bench(
        journal, reader, drafts, catalogue, book, guests, tiers=lambda: settings.now.tiers,
        compact_at=lambda: settings.now.compact_at, skills=skills, proposals=proposals,
    )  # fmt: skip
    runs = Runs(journal, reader, report, brief, place, bench)
    providers = Providers(catalogue, settings, os.environ)
    engine = Engine(
        opened, journal, reader, runs, drafts, settings, book, providers, skills, proposals, memories,
        ToolServers(settings, servers, secrets, lambda at: obeyed(book.now(), at)),
        OutsideAgents(settings, guests, journal), html,
    )  # fmt: skip
    reviews = Reviews(journal, reader, runs, lambda: settings.now, lambda: settings.now.tiers, report)
    if opened.database:
        end_orphans(MARK.encode())
        await guests.end_left()
        await runs.recover()
        await memories.mend()
    return Services(engine, runs, servers, guests, opened, reader, book, remembered, proposals, reviews, meaning)
