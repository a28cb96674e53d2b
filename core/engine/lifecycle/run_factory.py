"""Builds the context of a run (conversation, models, rules, tools) and executes it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from core.agents.agent_pool import AgentPool
from core.domain.events import RunEnded, RunPaused, RunStarted
from core.domain.external_agents import is_external_agent
from core.domain.problems import Problem
from core.domain.tiers import NO_TIERS, TIER_NAMES, Tiers, choose_model
from core.domain.visible import visible
from core.engine.external.external_run import run_external_agent
from core.engine.policy.grants import parse_grants
from core.engine.policy.trust import trust_decision
from core.engine.run.delegate import SubAgents
from core.engine.run.loop import run_turns
from core.engine.run.policy_check import check_policy
from core.engine.run.question_slots import QuestionSlots
from core.engine.run.run_context import RunContext
from core.engine.services.skills import SkillService
from core.engine.state.conversation import next_run_start
from core.engine.state.live_updates import LiveUpdates
from core.engine.state.stored_conversation import load_conversation
from core.models.catalog import ModelCatalog
from core.models.model import Model
from core.store.journal import Journal
from core.store.proposal_store import ProposalStore
from core.store.reader import Reader
from core.store.rule_store import RuleStore
from core.tools.tool_context import ToolContext


@dataclass(slots=True)
class RunFactory:
    """Creates and executes runs.

    Attributes:
        rule_store: the permission rules that tool calls are checked against.
        agent_connections: the connections to external agents.
        tiers: returns which models are used for which kind of work.
        compact_at: returns the context size in tokens at which compaction starts, as set by the user; 0 for no limit.
        skills: the skill library; None if runs use no skills.
        proposals: the store of changes that agents propose; None if runs cannot propose changes.
        preferred_model: returns the model or tier that an agent profile prefers; empty if it has no preference.
        question_slots: the limit on questions, which a run shares with its sub-agents.
    """

    journal: Journal
    reader: Reader
    live_updates: LiveUpdates
    models: ModelCatalog
    rule_store: RuleStore
    agent_connections: AgentPool
    tiers: Callable[[], Tiers] = lambda: NO_TIERS
    compact_at: Callable[[], int] = lambda: 0
    skills: SkillService | None = None
    proposals: ProposalStore | None = None
    preferred_model: Callable[[str], str] = lambda _: ""
    question_slots: QuestionSlots = field(default_factory=QuestionSlots)

    def check_start(self, run_start: RunStarted) -> Model:
        """Return the model that the run would use, or raise Problem if its model, script or grants are invalid.

        Callers use it before they write any event.
        """
        parse_grants(run_start.allow, "the first")
        if is_external_agent(run_start.model):
            self.agent_connections.find_agent(run_start.model, run_start.agent_command)
        return self.models.model(
            choose_model(self.tiers(), run_start.model, ()).model, self.reader.read_text(run_start.script)
        )

    def check_delegated_model(self, own: str, chosen: str) -> None:
        """Raise Problem unless an agent with the model `own` may choose this model for a sub-agent.

        Allowed are its own model and those of the user's tiers. A model on this computer may choose only models on this
        computer, because the task that it writes may contain private data.
        """
        tiers = self.tiers()
        if chosen != own and chosen not in (*TIER_NAMES, *tiers.small, *tiers.mid, *tiers.frontier):
            fix = "Leave the model out to use yours, or name a tier: small, mid or frontier."
            raise Problem(f"There is no model {visible(chosen)!r} for sub-agents.", "The user has not offered it.", fix)
        if chosen != own and self.models.is_on_this_computer(own) and not self.models.is_on_this_computer(chosen):
            cause = "Your model runs on this computer, and what you read stays here."
            raise Problem("A sub-agent cannot use a model elsewhere.", cause, "Leave the model out to use yours.")

    async def create(
        self, session: str, tool_context: ToolContext, model: Model | None, claimed: set[str], agents: SubAgents
    ) -> RunContext:
        """Create the context for a run of this session. If `model` is None, the model is created from its name."""
        conversation = await load_conversation(self.journal, session)
        started = next_run_start(conversation)
        script = self.reader.read_text(started.script)
        models = _cache_models(lambda name: self.models.model(name, script))
        model = model or models(choose_model(self.tiers(), started.model, ()).model)
        # Apply the events that were appended in the meantime. Reading so few events never yields to the event loop, so
        # the run misses no event from here on.
        async for entry in self.journal.read(session, conversation.last_seq):
            conversation.apply(entry)
        return RunContext(
            session=session,
            tool_context=tool_context,
            model_name=started.model,
            model=model,
            attended=started.interactive,
            conversation=conversation,
            journal=self.journal,
            reader=self.reader,
            live_updates=self.live_updates,
            evaluate=partial(check_policy, self.rule_store),
            admit_question=self.question_slots.admit,
            models=models,
            tiers=self.tiers,
            accepts_images=self._accepts_images,
            compact_at=self.compact_at,
            supports_tool_calls=self.models.supports_tools,
            note_prompt_speed=self.models.note_prompt_speed,
            record_tool_support=self.models.record_tool_support,
            claimed=claimed,
            delegate=agents.delegate,
            check_agent=agents.check_agent,
            skills=self.skills,
            proposals=self.proposals,
            trusted=trust_decision(self.rule_store.current(), str(tool_context.folder)) is True,
        )

    def _accepts_images(self, model: str) -> bool | None:
        """Return whether a model accepts images; None if unknown, for example because its provider was removed."""
        try:
            return self.models.known_info(model).images
        except Problem:
            return None

    async def execute(self, run: RunContext) -> RunEnded | RunPaused:
        """Execute the run to its end or to a pause, with its model or its external agent."""
        if is_external_agent(run.model_name):
            return await run_external_agent(run, self.agent_connections)
        await self.models.fetch_info(run.model_name)
        return await run_turns(run)


def _cache_models(make: Callable[[str], Model]) -> Callable[[str], Model]:
    """Return a function that creates each model on first use and returns the same instance afterwards."""
    models: dict[str, Model] = {}

    def model(name: str) -> Model:
        if name not in models:
            models[name] = make(name)
        return models[name]

    return model
