"""The one door to everything that works: plain values in and out, for the window and for the command line."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from core.domain.events import KINDS, ModelChosen, RunEvent, RunStarted, SessionOpened, Tainted
from core.domain.filing import title_of
from core.domain.modes import Mode
from core.domain.problems import Problem
from core.domain.proposal import Of
from core.domain.provenance import new_boundary
from core.domain.text import Attachment
from core.engine.care import Care
from core.engine.choosing import choose_model
from core.engine.consents import Consents
from core.engine.conversation import start_of
from core.engine.deciding import Deciding
from core.engine.doubt import GOES_ON, Settle
from core.engine.drafts import Draft, Drafts
from core.engine.imported import refuse_imported
from core.engine.memory import Memory
from core.engine.outside import OutsideAgents
from core.engine.providers import Overview, Providers
from core.engine.queue import Queue
from core.engine.runs import Runs
from core.engine.servers import ToolServers
from core.engine.shelf import Shelf
from core.engine.skills import Skills
from core.engine.slash import expanded
from core.engine.strangers import boundary
from core.engine.trust import refuse_unfit
from core.engine.walls import WallsFound, look_at_walls
from core.memory.memory import Memories
from core.models.trial import Trial
from core.settings.file import SettingsFile
from core.store.blobs import blob_hash
from core.store.codec import adapter
from core.store.journal import Forget, Journal, Listener
from core.store.opening import Opened
from core.store.proposals import Proposals
from core.store.reader import Reader
from core.store.rule_book import RuleBook
from core.tools.catalogue import specs
from core.workspace.paths import workspace

if TYPE_CHECKING:
    from core.engine.history import History
    from core.engine.past import Past
    from core.engine.proposing import Tray
    from core.engine.schedules import Schedules
    from core.engine.worktrees import Worktrees
    from core.exchange.desk import Desk


class Engine(Care, Deciding):
    """Lives on one loop; every method is called there.

    Attributes:
        settings: `settings.now` is what a person set, `settings.change(name=value)` sets it.
        skills: the library of skills, and those of folders.
        memory: what is remembered beyond one session.
        servers: the tool servers; `add`, `remove`, `test`, `accept`, `switch`.
        guests: the agents of others; `list`, `found`, `add`, `remove`, `test`, and what is set in a session.
        providers: the model servers; `add`, `remove`, `give_key`, `forget_key`.
    """

    def __init__(
        self,
        opened: Opened,
        journal: Journal,
        reader: Reader,
        runs: Runs,
        drafts: Drafts,
        settings: SettingsFile,
        book: RuleBook,
        providers: Providers,
        skills: Skills,
        proposals: Proposals,
        memories: Memories,
        servers: ToolServers,
        guests: OutsideAgents,
        markup: Callable[[str], str] | None = None,
    ) -> None:
        self._opened = opened
        self._journal = journal
        self._reader = reader
        self._runs = runs
        self._drafts = drafts
        self.settings = settings
        self.providers = providers
        self.skills = skills
        self.servers = servers
        self.guests = guests
        self._proposals = proposals
        self._book = book
        self._markup = markup
        self._consents = Consents(journal, reader, book, runs.claimed)
        self._memories = memories
        self.memory = Memory(memories, reader, proposals, lambda: self.proposals)
        self.queue = Queue(runs, journal, reader)
        self.shelf = Shelf(journal, reader, opened.database, self._end)

    @cached_property
    def history(self) -> "History":
        """Forks, replays, put-backs and verdicts. Nobody looks back while a window opens."""
        from core.engine.history import History

        return History(self._journal, self._reader, self._runs.begin, self._runs.check, self._runs.still)

    @cached_property
    def proposals(self) -> "Tray":
        """What agents want to be kept: list, keep, reject, undo."""
        from core.engine.proposing import Keeper, SkillKeeper, Tray
        from core.memory.keeper import MemoryKeeper

        keepers: dict[Of, Keeper] = {"skill": SkillKeeper(self.skills.library), "memory": MemoryKeeper(self._memories)}
        return Tray(self._proposals, keepers)

    @cached_property
    def desk(self) -> "Desk":
        """Where sessions leave and arrive."""
        from core.exchange.desk import Desk

        def read() -> Reader:
            return Reader(self._opened.path, frozen=self._opened.frozen)

        return Desk(self._journal, self._reader, read, self.providers.secrets, self.shelf.forget, self._markup)

    @cached_property
    def past(self) -> "Past":
        """What a person looks for in what was."""
        from core.engine.past import Past

        return Past(self._journal, self._reader)

    @cached_property
    def schedules(self) -> "Schedules":
        """The sessions that begin at a time."""
        from core.engine.schedules import Schedules
        from core.store.schedule_book import ScheduleBook

        book = ScheduleBook(self._opened.path, self._opened.database, frozen=self._opened.frozen)
        return Schedules(book, lambda: self.settings.now, self.start, self._reader.session)

    @cached_property
    def worktrees(self) -> "Worktrees":
        """The git worktrees in which sessions work."""
        from core.engine.worktrees import Worktrees

        return Worktrees(self._book, self.sessions, self.going)

    async def warm_up(self) -> None:
        """Make what a person's first wishes would wait for, now that the window is there."""

        def make() -> None:
            for kind in KINDS:
                adapter(kind)
            specs()
            for name in ("core.engine.history", "core.engine.past"):
                import_module(name)

        # The first brings pydantic before anything can be asked: two threads that import it at once see half of it.
        adapter("run_started")
        await asyncio.to_thread(make)

    async def walls(self) -> WallsFound:
        """How well commands are confined here; proven when it is first asked."""
        return await look_at_walls(self._opened.path.parent)

    async def start(
        self, task: str, folder: Path, began: RunStarted, *why: RunEvent, worktree: bool = False, name: str = ""
    ) -> str:
        """Open a session and begin its first run as `began` says, with facts that say why it is there; its id.

        With `worktree` it works in a git worktree of its own. `name` is an id that was given away already.
        """
        if not task.strip():
            raise Problem("There is no task.", "The message is empty.", "Say what is to be done.")
        place = workspace(folder)
        refuse_unfit(place, self._opened.path.parent)
        self.servers.refuse_unknown(began.allow)
        if worktree:
            self._runs.check(began)
            return await self.worktrees.start(task, place, lambda to, made: self.start(task, to, began, *why, *made))
        began = replace(began, boundary=began.boundary or new_boundary())
        sent = await self.servers.filled(await self._expanded(task, place, began.mode), began.boundary)
        began = replace(began, taint=(*began.taint, *sent.taint))
        return await self._runs.open(SessionOpened(name, str(place), title_of(task)), sent.text, began, *why)

    async def say(
        self, session: str, text: str, *, now: bool = False, files: Sequence[tuple[str, str, bytes]] = ()
    ) -> None:
        """A message, with files as name, media type and contents: these are durable before the words are."""
        bodies = {blob_hash(body): body for _, _, body in files}
        attached = [Attachment(name, kind, blob_hash(body), len(body)) for name, kind, body in files]
        if bodies:
            await self._journal.keep(bodies)
        if text.startswith("/"):
            text = await self._expanded(text, Path(self.session(session).folder), (await self.begun(session)).mode)
        if text.startswith("/") or "@" in text:
            text = await self._with_extras(session, text)
        await self._runs.say(session, text, now=now, attached=attached)

    async def _with_extras(self, session: str, text: str) -> str:
        """With what it names of tool servers. Their words taint the session before they are in it."""
        refuse_imported(self.session(session))
        talk = await self._runs.talk(self.session(session).id)
        sent = await self.servers.filled(text, start_of(talk).boundary or boundary(session))
        fresh = [source for source in sent.taint if source not in talk.rights.taint]
        if fresh:
            await self._journal.append(session, *(Tainted("", source) for source in fresh))
        return sent.text

    async def _expanded(self, text: str, folder: Path, mode: Mode) -> str:
        """What is sent for a command of one's own, or for the name of a skill; anything else is sent as it is."""
        if not text.startswith("/"):
            return text
        obeys = self._obeyed(folder, mode)
        said = await asyncio.to_thread(expanded, text, self._opened.path.parent, folder, obeys)
        return said if said != text else await self.skills.called(text, folder, mode)

    async def choose_model(
        self, session: str, model: str, *, effort: str = "", max_output: int = 0, temperature: float | None = None
    ) -> None:
        """Which model works from the next request on, and what is asked of it."""
        refuse_imported(self.session(session))
        chosen = ModelChosen(model, effort, max_output, temperature)
        await choose_model(self._journal, self._runs.check, session, chosen)

    async def begun(self, session: str) -> RunStarted:
        """How the last run of a session was started, and with what was chosen since."""
        return start_of(await self._runs.talk(self.session(session).id))

    async def models(self, *, fresh: bool = False) -> Overview:
        """Every server and its models, windows, prices; where keys are from, never a key."""
        return await self.providers.overview(fresh=fresh)

    async def test_model(self, name: str) -> Trial:
        """Two real, tiny requests: does it answer, how soon, piece by piece, and does it take tool calls?"""
        return await self.providers.test(name)

    async def pause(self, session: str) -> None:
        await self._runs.pause(session)

    async def compact_context(self, session: str) -> None:
        """Let what is old in the context give way: after this round where a run is going, else now."""
        await self._runs.compact(session)

    async def stop(self, session: str) -> None:
        await self._runs.stop(session)

    async def _end(self, session: str) -> None:
        """Stop it if there is anything to stop."""
        if self.going(session) or self.session(session).status in GOES_ON:
            await self._runs.stop(session)

    async def resume(self, session: str, settle: Settle = "") -> None:
        await self._runs.resume(session, settle)

    async def again(self, session: str) -> None:
        await self._runs.again(session)

    async def looked(self, session: str) -> None:
        """Until what waits in a run that was taken up is only what a person has to decide."""
        await self._runs.looked(session)

    async def rung(self, session: str) -> None:
        """Until the person's own commands were told of what the run asks."""
        await self._runs.rung(session)

    async def doubted(self, session: str) -> dict[str, str]:
        """Calls that may have run: id → what they act on."""
        return await self._runs.doubted(session)

    async def wait(self, session: str) -> None:
        """Until nothing of the session is going."""
        await self._runs.wait(session)

    def when_gone(self, session: str, call: Callable[[], None]) -> None:
        """Call once nothing of the session is going, after everything of it was told."""
        self._runs.when_gone(session, call)

    def root(self, session: str) -> str:
        """The session to go on with: of a sub-agent the one that waits for it."""
        return self._runs.children.root(session)

    def going(self, session: str) -> bool:
        return self._runs.going(session)

    def listen(self, listener: Listener) -> Forget:
        return self._journal.listen(listener)

    def listen_drafts(self, listener: Callable[[Draft], None]) -> Forget:
        return self._drafts.listen(listener)
