"""The memory tools of one run. They reach only memories for every run and those of its folder, agent and session."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from core.domain.clock import now
from core.domain.memory import CONTEXT_LIMIT, Memory, MemoryContent, MemoryScope
from core.domain.memory_marks import is_expired, marks_of, with_marks
from core.domain.problems import Problem
from core.domain.proposal import Proposal
from core.memory.approval import approval_reasons
from core.memory.content_checks import low_value_reason
from core.memory.memories import Memories, scopes_of_run, with_text
from core.memory.saving import LearningLimits, MemorySource, find_related, validated
from core.memory.serialization import to_proposal_details
from core.memory.surroundings import surroundings
from core.store.proposal_store import ProposalStore

MemoryPolicy = Literal["ask", "add", "off"]
MAX_RESULTS = 20  # maximum number of memories that are returned for a question


@dataclass(frozen=True, slots=True)
class LearningContext:
    """What decides how a run may use memory.

    Attributes:
        agent: the name of its agent.
        untrusted_sources: the sources of untrusted content that it has read.
        limits: what its agent may learn.
        review: the ID of the session that the run reviews; empty if it is not a review.
        excluded: the memories that the run must not receive.
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
    """Lets one run save, find, change and delete memories, or propose that.

    Attributes:
        session, folder: the ID and the folder of the session that the run belongs to.
        context: returns the learning context of a session, which it reads from the session's events.
        policy: returns the user's setting: `add` saves what a review learns, `ask` asks about it first, and `off` asks
            about everything.
        is_enabled: returns whether the user has turned memory on.
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
        """The scopes whose memories the run may receive, without the scope of its agent."""
        return scopes_of_run(self.folder, "", self.session)

    async def save(self, content: MemoryContent, call: str, reason: str = "") -> str:
        """Save a memory, or propose it if the user has to decide. Return a text for the model that says which.

        `call` is the ID of the tool call, and `reason` is why the model saves it.
        """
        context = self.context(self.session)
        content = _worthwhile(self._with_scope(content, context), context)
        content = self._with_surroundings(content, context)
        similarities = await self.memories.similar_in_scope(content)
        same, conflicts = self.memories.store.read(partial(find_related, content=content, similarities=similarities))
        step, seq = self.memories.store.read_runs(lambda runs: runs.find_step(self.session, call))
        source = MemorySource(
            author=context.author,
            session=context.review or self.session,
            seq=0 if context.review else seq,
            reason=reason,
        )
        # What is based on untrusted content does not count as evidence for a memory.
        if same and context.untrusted_sources:
            return f"This is already known, as {same.id}."
        if same is None and (why := self._reason_to_ask(content, context, conflicts)):
            draft = Proposal(
                id="", target_kind="memory", action="create", target="", text=content.text, reason=reason or why
            )
            proposal = await self._propose(draft, content, context, step)
            return f"Proposed as {proposal.id}. {why} It is not active until the user accepts it."
        saved = await self.memories.save(content, source, context.limits)
        if saved.did == "reinforced":
            return (
                f"This was already known, as {saved.memory.id}. It has now been learned {saved.memory.evidence} times."
            )
        return f"Remembered as {saved.memory.id}."

    async def recall(self, question: str = "", name: str = "") -> str:
        """Return a text for the model: the memory with the ID `name`, or if that is empty, the matching memories."""
        if name:
            return _in_full(self._visible(name))
        if not question.strip():
            raise Problem("The query is empty.", "", "Give a query, or the id of a memory.")
        context = self.context(self.session)
        scopes = scopes_of_run(self.folder, context.agent, self.session)
        similarities = await self.memories.similarities(question, scopes)
        matches = self.memories.find(question, scopes=scopes, limit=MAX_RESULTS, similarities=similarities)
        found = [match.memory for match in matches if match.memory.id not in context.excluded]
        lines = [_summary_line(memory) for memory in found if not is_expired(memory.content, now())]
        return "\n".join(lines) or "Nothing is remembered about that."

    async def forget(self, name: str, reason: str, call: str) -> str:
        """Delete a memory that this session saved, or propose to delete any other memory. Return a text for the model.

        `name` is the ID of the memory, and `call` is that of the tool call.
        """
        memory = self._visible(name)
        context = self.context(self.session)
        step, seq = self.memories.store.read_runs(lambda runs: runs.find_step(self.session, call))
        source = MemorySource(context.author, self.session, seq, reason)
        if self._is_own(memory, context):
            await self.memories.forget(memory.id, by=source)
            return f"Forgot {memory.id}."
        draft = Proposal(
            id="",
            target_kind="memory",
            action="archive",
            target=memory.id,
            text=memory.content.text,
            reason=reason,
            base_version=memory.version,
        )
        proposal = await self._propose(draft, memory.content, context, step)
        return f"Proposed as {proposal.id}: the user decides whether {memory.id} is forgotten."

    async def replace(self, name: str, content: MemoryContent, reason: str, call: str) -> str:
        """Replace the sentence of a memory that this session saved, or propose to do so for any other memory.

        Return a text for the model. `name` is the ID of the memory, and `call` is that of the tool call.
        """
        memory = self._visible(name)
        context = self.context(self.session)
        target = memory.content  # The memory keeps its kind and scope.
        content = _worthwhile(replace(content, scope=target.scope, scope_id=target.scope_id), context)
        text = content.text
        step, seq = self.memories.store.read_runs(lambda runs: runs.find_step(self.session, call))
        source = MemorySource(context.author, self.session, seq, reason)
        if self._is_own(memory, context) and not self._reason_to_ask(content, context, ()):
            await self.memories.edit(memory.id, with_marks(with_text(memory, text), marks_of(content)), by=source)
            return f"Replaced the text of {memory.id}."
        draft = Proposal(
            id="",
            target_kind="memory",
            action="patch",
            target=memory.id,
            text=text,
            reason=reason,
            base_version=memory.version,
        )
        proposal = await self._propose(draft, memory.content, context, step)
        return f"Proposed as {proposal.id}: the user decides whether the text of {memory.id} is replaced."

    def _is_own(self, memory: Memory, context: LearningContext) -> bool:
        """Return whether this session saved the memory and the user has not changed it since."""
        if memory.author != "agent" or memory.session != self.session or context.untrusted_sources:
            return False
        return all(change.author != "user" for change in self.memories.changes(memory.id))

    def _with_scope(self, content: MemoryContent, context: LearningContext) -> MemoryContent:
        """Return the content with the ID of the run's folder, agent or session, if only the kind of scope was given."""
        scope_ids: dict[MemoryScope, str] = {
            "everywhere": "",
            "folder": self.folder,
            "agent": context.agent,
            "session": context.review or self.session,
        }
        if content.scope == "agent" and not context.agent:
            return replace(content, scope="everywhere", scope_id="")
        return replace(content, scope_id=scope_ids[content.scope])

    def _with_surroundings(self, content: MemoryContent, context: LearningContext) -> MemoryContent:
        """Return the content with the session's messages around it as its context.

        They are left out if untrusted content may have dictated them, or if the agent may not learn about every topic.
        """
        if context.untrusted_sources or context.limits.restrict_topics:
            return content
        messages = self.memories.store.read_runs(lambda runs: runs.messages(context.review or self.session))
        return replace(content, context=surroundings(messages, content.text)[:CONTEXT_LIMIT])

    def _reason_to_ask(self, content: MemoryContent, context: LearningContext, conflicts: tuple[Memory, ...]) -> str:
        """Return why the user has to decide about saving a memory, or "" if it can be saved at once.

        `conflicts` are the stored memories that contradict it.
        """
        if reasons := approval_reasons(content, context.untrusted_sources[:3]):
            return " ".join(reasons)
        if conflicts:
            quoted = [f"{memory.id} ({memory.content.text})" for memory in conflicts[:2]]
            return f"It contradicts {', '.join(quoted)}."
        if context.review and self.policy() != "add":
            return "The user decides on what a review learns."
        return "Automatic learning is turned off." if self.policy() == "off" else ""

    async def _propose(self, draft: Proposal, content: MemoryContent, context: LearningContext, step: int) -> Proposal:
        """Save the proposal `draft` about this content, after adding the run's session, agent and sources. Return it.

        `step` is the number of the step in which the agent made it.
        """
        return await self.proposals.create(
            replace(
                draft,
                details=to_proposal_details(content),
                session=context.review or self.session,
                steps=() if context.review or not step else (step,),
                untrusted_sources=context.untrusted_sources,
                author=context.author,
            )
        )

    def _visible(self, name: str) -> Memory:
        """Return a memory by its ID. Raise Problem if it is missing or outside the scopes of this run."""
        memory = self.memories.get(name.removeprefix("[").removesuffix("]"))
        context = self.context(self.session)
        scopes = scopes_of_run(self.folder, context.agent, self.session)
        is_withheld = memory.status == "forgotten" or memory.id in context.excluded
        if is_withheld or (memory.content.scope, memory.content.scope_id) not in scopes:
            raise Problem(f"There is no memory {name!r}.", "", "Search for it with a query.")
        return memory


def _worthwhile(content: MemoryContent, context: LearningContext) -> MemoryContent:
    """Return the content normalized for saving. Raise Problem if it must not be remembered or is not worth it."""
    content = validated(content, context.limits)
    if context.review and (why := low_value_reason(content.text)):
        raise Problem("This is not worth remembering.", why, "Skip it, or state what will still be true next month.")
    return content


def learning_context(memories: Memories, limits: Callable[[str], LearningLimits]) -> Callable[[str], LearningContext]:
    """Return a function that reads the learning context of a session, given its ID, from the session's events.

    `limits` returns what an agent may learn, given its name.
    """

    def read_context(session: str) -> LearningContext:
        events = memories.store.read_runs(lambda runs: runs.events(session, ("run_started", "untrusted_content_read")))
        starts = [fields for kind, fields in events if kind == "run_started"]
        inherited = [source for start in starts for source in start.get("untrusted_sources", ())]
        read = [fields["source"] for kind, fields in events if kind == "untrusted_content_read"]
        last_start = starts[-1] if starts else {}
        agent = last_start.get("profile", "")
        return LearningContext(
            agent,
            untrusted_sources=tuple(dict.fromkeys((*inherited, *read))),
            limits=limits(agent),
            review=last_start.get("reviewed_session", ""),
            excluded=tuple(last_start.get("excluded", ())),
        )

    return read_context


def _summary_line(memory: Memory) -> str:
    return f"[{memory.id}] {memory.content.kind}: {memory.content.text}"


def _in_full(memory: Memory) -> str:
    content = memory.content
    lines = [_summary_line(memory)]
    lines += [f"{name}: {text}" for name, text in content.fields.items() if text and text not in content.text]
    if content.context:
        lines.append(f"Context: {content.context}")
    return "\n".join(lines)
