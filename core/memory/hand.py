"""Memory as one run holds it: what it may be told and keep, for its folder, its agent and its session."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from core.domain.memory import Memory, Reach, Said
from core.domain.problems import Problem
from core.domain.proposal import Proposal
from core.memory.guard import not_worth
from core.memory.keep import Limits, Source, checked, looked_at
from core.memory.memory import Memories, reaches
from core.memory.portable import about
from core.store.proposals import Proposals

Policy = Literal["ask", "add", "off"]
MOST = 20  # found at once


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a run stands: its agent, the strangers whose words it has read, and what the agent may learn.

    `review` is the session that it looks back at, empty where it does work of its own. `without` is kept from it.
    """

    agent: str = ""
    taint: tuple[str, ...] = ()
    limits: Limits = Limits()
    review: str = ""
    without: tuple[str, ...] = ()

    @property
    def by(self) -> Literal["agent", "review"]:
        return "review" if self.review else "agent"


@dataclass(frozen=True, slots=True)
class Hand:
    """`stands` looks up how the session stands, from its facts.

    `on` says whether the person wants memory at all.
    """

    memories: Memories
    proposals: Proposals
    session: str
    folder: str
    stands: Callable[[str], Ground]
    policy: Callable[[], Policy] = lambda: "ask"
    on: Callable[[], bool] = lambda: True

    @property
    def reaches(self) -> tuple[tuple[str, str], ...]:
        """What it may be told besides what is for its agent."""
        return reaches(self.folder, "", self.session)

    async def keep(self, said: Said, call: str, reason: str = "") -> str:
        """Keep it, or propose it where a person has to say so first; what became of it, in words."""
        stands = self.stands(self.session)
        made = checked(self._placed(said, stands), stands.limits)
        if stands.review and (why := not_worth(made.text)):
            raise Problem("This is not worth keeping.", why, "Leave it, or say what will be true next month.")
        means = await self.memories.near(made.text, [(made.reach, made.place)])
        same, others = self.memories.book.read(lambda rows: looked_at(rows, made, means))
        step, seq = self.memories.book.facts(lambda facts: facts.step_of(self.session, call))
        source = Source(stands.by, stands.review or self.session, 0 if stands.review else seq, reason)
        if same is None and (why := self._asks(stands, others)):
            made_proposal = await self._propose(made, stands, step, reason or why)
            return f"Proposed as {made_proposal.id}: {why}. It is not active until the person keeps it."
        kept = await self.memories.keep(made, source, stands.limits)
        if kept.did == "seen again":
            return f"This was known already, as {kept.memory.id}. It was learnt {kept.memory.evidence} times now."
        return f"Remembered as {kept.memory.id}."

    async def recall(self, question: str = "", name: str = "") -> str:
        """One memory in full, or those that fit a question."""
        if name:
            return _whole(self._mine(name))
        if not question.strip():
            raise Problem("There is nothing to look for.", "", "Give a query, or the id of a memory.")
        stands = self.stands(self.session)
        wanted = reaches(self.folder, stands.agent, self.session)
        near = await self.memories.near(question, wanted)
        found = self.memories.find(question, wanted=wanted, most=MOST, near=near)
        told = [_line(one.memory) for one in found if one.memory.id not in stands.without]
        return "\n".join(told) or "Nothing is remembered about that."

    async def forget(self, name: str, reason: str, call: str) -> str:
        """What it kept itself in this session goes at once; of anything else the person decides."""
        memory, stands = self._mine(name), self.stands(self.session)
        step, seq = self.memories.book.facts(lambda facts: facts.step_of(self.session, call))
        source = Source(stands.by, self.session, seq, reason)
        if memory.author == "agent" and memory.session == self.session and not stands.taint:
            await self.memories.forget(memory.id, by=source)
            return f"Forgot {memory.id}."
        wanted = Proposal(
            "", "memory", "archive", memory.id, memory.said.text, reason, memory.version, about=about(memory.said),
            session=stands.review or self.session, steps=() if stands.review or not step else (step,),
            taint=stands.taint, by=stands.by,
        )  # fmt: skip
        made = await self.proposals.make(wanted)
        return f"Proposed as {made.id}: the person decides whether {memory.id} is forgotten."

    def _placed(self, said: Said, stands: Ground) -> Said:
        """For whom it is, where only the reach was named."""
        places: dict[Reach, str] = {
            "everywhere": "", "folder": self.folder, "agent": stands.agent, "session": stands.review or self.session
        }  # fmt: skip
        if said.reach == "agent" and not stands.agent:
            return replace(said, reach="everywhere", place="")
        return replace(said, place=places[said.reach])

    def _asks(self, stands: Ground, others: tuple[Memory, ...]) -> str:
        """Why a person has to say so first; empty where not."""
        if stands.taint:
            return f"words of strangers were read before ({', '.join(stands.taint[:3])})"
        if others:
            return f"it contradicts {', '.join(f'{one.id} ({one.said.text})' for one in others[:2])}"
        if stands.review and self.policy() != "add":
            return "what a review learns waits for the person"
        return "learning by itself is switched off" if self.policy() == "off" else ""

    async def _propose(self, said: Said, stands: Ground, step: int, reason: str) -> Proposal:
        wanted = Proposal(
            "", "memory", "create", "", said.text, reason, about=about(said), session=stands.review or self.session,
            steps=() if stands.review or not step else (step,), taint=stands.taint, by=stands.by,
        )  # fmt: skip
        return await self.proposals.make(wanted)

    def _mine(self, name: str) -> Memory:
        """By its id; what is for others does not exist for this run."""
        memory, stands = self.memories.memory(name.removeprefix("[").removesuffix("]")), self.stands(self.session)
        wanted = reaches(self.folder, stands.agent, self.session)
        kept_from = memory.standing == "forgotten" or memory.id in stands.without
        if kept_from or (memory.said.reach, memory.said.place) not in wanted:
            raise Problem(f"There is no memory {name!r}.", "", "Look for it with a query.")
        return memory


def ground(memories: Memories, limits: Callable[[str], Limits]) -> Callable[[str], Ground]:
    """How a session stands, by its facts; `limits` are those of an agent."""

    def stands(session: str) -> Ground:
        facts = memories.book.facts(lambda facts: facts.facts(session, ("run_started", "tainted")))
        starts = [said for kind, said in facts if kind == "run_started"]
        sources = [said["source"] for kind, said in facts if kind == "tainted"]
        taint = [source for start in starts for source in start.get("taint", ())]
        agent = starts[-1].get("agent", "") if starts else ""
        review = starts[-1].get("review", "") if starts else ""
        without = tuple(starts[-1].get("without", ())) if starts else ()
        return Ground(agent, tuple(dict.fromkeys((*taint, *sources))), limits(agent), review, without)

    return stands


def _line(memory: Memory) -> str:
    return f"[{memory.id}] {memory.said.kind}: {memory.said.text}"


def _whole(memory: Memory) -> str:
    fields: dict[str, Any] = asdict(memory.said)
    parts = [f"{name}: {text}" for name, text in fields["parts"].items() if text and text not in memory.said.text]
    around = [f"It stood in: {memory.said.around}"] if memory.said.around else []
    return "\n".join([_line(memory), *parts, *around])
