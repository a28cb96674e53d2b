"""Memory as one run may use it: limited to the scopes of its folder, agent and session."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from core.domain.memory import Memory, MemoryContent, MemoryScope
from core.domain.problems import Problem
from core.domain.proposal import Proposal
from core.memory.approval import approval_reasons
from core.memory.content_checks import low_value_reason
from core.memory.memories import Memories, scopes_of_run
from core.memory.saving import LearningLimits, MemorySource, find_related, validated
from core.memory.serialization import to_proposal_details
from core.store.proposal_store import ProposalStore

MemoryPolicy = Literal["ask", "add", "off"]
MOST = 20  # maximum number of memories returned for a question


@dataclass(frozen=True, slots=True)
class LearningContext:
    """What decides how a run may use memory: its agent, the untrusted content it has read, and its learning limits.

    `review` is the session that the run reviews, empty if it does work of its own. `excluded` are memories withheld
    from it.
    """

    agent: str = ""
    untrusted_sources: tuple[str, ...] = ()
    limits: LearningLimits = LearningLimits()
    review: str = ""
    excluded: tuple[str, ...] = ()

    @property
    def author(self) -> Literal["agent", "review"]:
        return "review" if self.review else "agent"


@dataclass(frozen=True, slots=True)
class RunMemory:
    """The memory tools of one run.

    `context` returns the learning context of a session, read from its events. `is_enabled` returns whether the user has
    turned memory on.
    """

    memories: Memories
    proposals: ProposalStore
    session: str
    folder: str
    context: Callable[[str], LearningContext]
    policy: Callable[[], MemoryPolicy] = lambda: "ask"
    is_enabled: Callable[[], bool] = lambda: True

    @property
    def scopes(self) -> tuple[tuple[str, str], ...]:
        """The scopes whose memories the run may receive, except the scope of its agent."""
        return scopes_of_run(self.folder, "", self.session)

    async def save(self, said: MemoryContent, call: str, reason: str = "") -> str:
        """Save a memory, or propose it if the user has to decide. Return a text for the model that says which."""
        stands = self.context(self.session)
        made = validated(self._with_scope(said, stands), stands.limits)
        if stands.review and (why := low_value_reason(made.text)):
            raise Problem(
                "This is not worth remembering.", why, "Skip it, or state what will still be true next month."
            )
        means = await self.memories.similarities(made.text, [(made.scope, made.scope_id)])
        same, others = self.memories.store.read(lambda rows: find_related(rows, made, means))
        step, seq = self.memories.store.read_runs(lambda facts: facts.find_step(self.session, call))
        source = MemorySource(stands.author, stands.review or self.session, 0 if stands.review else seq, reason)
        if same and stands.untrusted_sources:  # Untrusted content does not count as evidence.
            return f"This is already known, as {same.id}."
        if same is None and (why := self._reason_to_ask(made, stands, others)):
            made_proposal = await self._propose(made, stands, step, reason or why)
            return f"Proposed as {made_proposal.id}. {why} It is not active until the user accepts it."
        kept = await self.memories.save(made, source, stands.limits)
        if kept.did == "reinforced":
            return f"This was already known, as {kept.memory.id}. It has now been learned {kept.memory.evidence} times."
        return f"Remembered as {kept.memory.id}."

    async def recall(self, question: str = "", name: str = "") -> str:
        """Return one memory in full if `name` is given, else those that match the question, as text for the model."""
        if name:
            return _in_full(self._visible(name))
        if not question.strip():
            raise Problem("The query is empty.", "", "Give a query, or the id of a memory.")
        stands = self.context(self.session)
        wanted = scopes_of_run(self.folder, stands.agent, self.session)
        near = await self.memories.similarities(question, wanted)
        found = self.memories.find(question, scopes=wanted, limit=MOST, near=near)
        lines = [_line(one.memory) for one in found if one.memory.id not in stands.excluded]
        return "\n".join(lines) or "Nothing is remembered about that."

    async def forget(self, name: str, reason: str, call: str) -> str:
        """Forget a memory that this session saved, or propose to forget any other memory."""
        memory, stands = self._visible(name), self.context(self.session)
        step, seq = self.memories.store.read_runs(lambda facts: facts.find_step(self.session, call))
        source = MemorySource(stands.author, self.session, seq, reason)
        if memory.author == "agent" and memory.session == self.session and not stands.untrusted_sources:
            await self.memories.forget(memory.id, by=source)
            return f"Forgot {memory.id}."
        wanted = Proposal(
            "",
            "memory",
            "archive",
            memory.id,
            memory.content.text,
            reason,
            memory.version,
            details=to_proposal_details(memory.content),
            session=stands.review or self.session,
            steps=() if stands.review or not step else (step,),
            untrusted_sources=stands.untrusted_sources,
            author=stands.author,
        )
        made = await self.proposals.create(wanted)
        return f"Proposed as {made.id}: the user decides whether {memory.id} is forgotten."

    def _with_scope(self, said: MemoryContent, stands: LearningContext) -> MemoryContent:
        """Return the content with `scope_id` filled in from the run, if only the kind of scope was given."""
        places: dict[MemoryScope, str] = {
            "everywhere": "", "folder": self.folder, "agent": stands.agent, "session": stands.review or self.session
        }  # fmt: skip
        if said.scope == "agent" and not stands.agent:
            return replace(said, scope="everywhere", scope_id="")
        return replace(said, scope_id=places[said.scope])

    def _reason_to_ask(self, said: MemoryContent, stands: LearningContext, others: tuple[Memory, ...]) -> str:
        """Return why the user has to decide about saving a memory, or "" if it can be saved at once."""
        if reasons := approval_reasons(said, stands.untrusted_sources[:3]):
            return " ".join(reasons)
        if others:
            return f"It contradicts {', '.join(f'{one.id} ({one.content.text})' for one in others[:2])}."
        if stands.review and self.policy() != "add":
            return "The user decides on what a review learns."
        return "Automatic learning is turned off." if self.policy() == "off" else ""

    async def _propose(self, said: MemoryContent, stands: LearningContext, step: int, reason: str) -> Proposal:
        wanted = Proposal(
            "",
            "memory",
            "create",
            "",
            said.text,
            reason,
            details=to_proposal_details(said),
            session=stands.review or self.session,
            steps=() if stands.review or not step else (step,),
            untrusted_sources=stands.untrusted_sources,
            author=stands.author,
        )
        return await self.proposals.create(wanted)

    def _visible(self, name: str) -> Memory:
        """Return a memory by its ID. Memories outside the scopes of this run are treated as missing."""
        memory, stands = self.memories.get(name.removeprefix("[").removesuffix("]")), self.context(self.session)
        wanted = scopes_of_run(self.folder, stands.agent, self.session)
        kept_from = memory.status == "forgotten" or memory.id in stands.excluded
        if kept_from or (memory.content.scope, memory.content.scope_id) not in wanted:
            raise Problem(f"There is no memory {name!r}.", "", "Search for it with a query.")
        return memory


def learning_context(memories: Memories, limits: Callable[[str], LearningLimits]) -> Callable[[str], LearningContext]:
    """Return a function that reads the learning context of a session. `limits` returns an agent's limits."""

    def stands(session: str) -> LearningContext:
        facts = memories.store.read_runs(lambda facts: facts.events(session, ("run_started", "untrusted_content_read")))
        starts = [said for kind, said in facts if kind == "run_started"]
        sources = [said["source"] for kind, said in facts if kind == "untrusted_content_read"]
        taint = [source for start in starts for source in start.get("untrusted_sources", ())]
        agent = starts[-1].get("profile", "") if starts else ""
        review = starts[-1].get("reviewed_session", "") if starts else ""
        without = tuple(starts[-1].get("excluded", ())) if starts else ()
        return LearningContext(agent, tuple(dict.fromkeys((*taint, *sources))), limits(agent), review, without)

    return stands


def _line(memory: Memory) -> str:
    return f"[{memory.id}] {memory.content.kind}: {memory.content.text}"


def _in_full(memory: Memory) -> str:
    fields: dict[str, Any] = asdict(memory.content)
    parts = [f"{name}: {text}" for name, text in fields["fields"].items() if text and text not in memory.content.text]
    around = [f"Context: {memory.content.context}"] if memory.content.context else []
    return "\n".join([_line(memory), *parts, *around])
