"""Where a run gets what it works with: its conversation, its models, its rules."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from core.agents.guests import Guests
from core.domain.agents import is_agent
from core.domain.events import RunEnded, RunPaused, RunStarted
from core.domain.text import Text
from core.domain.tiers import ONE_FOR_ALL, Tiers, choose
from core.engine.choosing import talk_of
from core.engine.conversation import start_of
from core.engine.drafts import Drafts
from core.engine.grants import read_grants
from core.engine.guest import work_guest
from core.engine.judging import judged
from core.engine.loop import work
from core.engine.skills import Skills
from core.engine.trust import trusted_now
from core.engine.work import Giving, Work, each_once
from core.models.catalogue import Catalogue
from core.models.model import Model
from core.store.journal import Journal
from core.store.proposals import Proposals
from core.store.reader import Reader
from core.store.rule_book import RuleBook
from core.tools.place import Place


@dataclass(slots=True)
class Bench:
    """Makes the work of runs.

    Attributes:
        book: the rules that calls are judged by.
        guests: the agents of others that are at work.
        tiers: which models do which work; `compact_at` is the size of context a person set as the limit, 0 none.
        skills, proposals: what was written down for work like this, and where agents say what should be.
    """

    journal: Journal
    reader: Reader
    drafts: Drafts
    models: Catalogue
    book: RuleBook
    guests: Guests
    tiers: Callable[[], Tiers] = lambda: ONE_FOR_ALL
    compact_at: Callable[[], int] = lambda: 0
    skills: Skills | None = None
    proposals: Proposals | None = None

    def check(self, began: RunStarted) -> Model:
        """What is wrong with a model or its script is said before anything is written."""
        read_grants(began.allow, "the first")
        return self.models.model(choose(self.tiers(), began.model, ()).model, self._whole(began.script))

    async def work(self, session: str, place: Place, model: Model | None, claimed: set[str], delegate: Giving) -> Work:
        """What a run of this session works with; `model` where it was made already."""
        talk = await talk_of(self.journal, session)
        started = start_of(talk)
        script = self._whole(started.script)
        models = each_once(lambda name: self.models.model(name, script))
        model = model or models(choose(self.tiers(), started.model, ()).model)
        # What became a fact meanwhile. So few entries are read without a pause, so from here on the run misses none.
        async for entry in self.journal.read(session, talk.seq):
            talk.hear(entry)
        return Work(
            session=session, place=place, model_name=started.model, model=model, attended=started.attended, talk=talk,
            journal=self.journal, reader=self.reader, drafts=self.drafts, judge=partial(judged, self.book),
            models=models, tiers=self.tiers, compact_at=self.compact_at, takes_calls=self.models.takes_calls,
            claimed=claimed, delegate=delegate, skills=self.skills, proposals=self.proposals,
            trusted=trusted_now(self.book.now(), str(place.folder), started.mode),
        )  # fmt: skip

    async def do(self, run: Work) -> RunEnded | RunPaused:
        """Work a run to its end: by the model of the run, or by the agent of others that was named for it."""
        if is_agent(run.model_name):
            return await work_guest(run, self.guests)
        await self.models.learn(run.model_name)
        return await work(run)

    def _whole(self, text: Text) -> str:
        return self.reader.blob(text.blob).decode() if text.blob else text.head
