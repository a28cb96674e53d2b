"""The tools `remember`, `recall` and `forget`, with which the model saves, searches and forgets memories."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from core.domain.clock import now
from core.domain.memory import TEXT_LIMIT, MemoryContent, MemoryKind, MemoryScope, sentence
from core.domain.memory_marks import EXPIRES, TAGS, join_tags, parse_expiry, with_marks
from core.domain.problems import Problem
from core.memory.run_memory import RunMemory
from core.tools.parameter_description import ParameterDescription
from core.tools.tool import Tool, ToolResult
from core.tools.tool_context import ToolContext

RECALL = "recall"
Sentence = Annotated[str, MaxLen(TEXT_LIMIT)]
RememberScope = Literal["everywhere", "folder", "agent", "session"]


@dataclass(frozen=True, slots=True)
class RememberArguments:
    kind: Annotated[
        MemoryKind,
        ParameterDescription("preference of the user; heuristic: when, do; anti-pattern: what, why, instead."),
    ]
    text: Annotated[Sentence, ParameterDescription("One sentence, still true in later sessions.")] = ""
    scope: Annotated[RememberScope, ParameterDescription("Where it applies.")] = "folder"
    when: Annotated[Sentence, ParameterDescription("The situation.")] = ""
    do: Annotated[Sentence, ParameterDescription("What to do then.")] = ""
    what: Annotated[Sentence, ParameterDescription("What to avoid.")] = ""
    why: Annotated[Sentence, ParameterDescription("Why to avoid it.")] = ""
    instead: Annotated[Sentence, ParameterDescription("What to do instead.")] = ""
    about: Annotated[Sentence, ParameterDescription("The subject.")] = ""
    source: Annotated[Sentence, ParameterDescription("Where it is from.")] = ""
    confidence: Annotated[float, Ge(0), Le(1), ParameterDescription("0 to 1.")] = 0.5
    reason: Annotated[Sentence, ParameterDescription("Why it is worth remembering.")] = ""
    tags: Annotated[tuple[Annotated[str, MaxLen(40)], ...], ParameterDescription("A few words to find it by.")] = ()
    days: Annotated[int, Ge(0), Le(9_999), ParameterDescription("For how many days it is true; 0: always.")] = 0
    replaces: Annotated[str, MaxLen(20), ParameterDescription("The id of an outdated memory to replace.")] = ""


@dataclass(frozen=True, slots=True)
class RecallArguments:
    query: Annotated[str, MaxLen(2_000), ParameterDescription("What to look for, in a few words.")] = ""
    id: Annotated[str, MaxLen(20), ParameterDescription("A memory to read in full, instead of query.")] = ""


@dataclass(frozen=True, slots=True)
class ForgetArguments:
    id: Annotated[str, MinLen(2), MaxLen(20), ParameterDescription("The memory.")]
    reason: Annotated[str, MinLen(1), MaxLen(500), ParameterDescription("Why it is wrong or outdated.")]


def stated_memory(parameters: RememberArguments) -> MemoryContent:
    """Return the statement to remember, with its scope."""
    names = ("when", "do", "what", "why", "instead", "about", "source")
    fields = {name: getattr(parameters, name) for name in names if getattr(parameters, name)}
    scope: MemoryScope = parameters.scope
    text = parameters.text or sentence(parameters.kind, fields)
    expires = parse_expiry(f"{parameters.days}d", now()) if parameters.days else ""
    content = MemoryContent(parameters.kind, text, scope, confidence=parameters.confidence, fields=fields)
    return with_marks(content, {TAGS: join_tags(parameters.tags), EXPIRES: expires})


async def remember(parameters: RememberArguments, context: ToolContext) -> ToolResult:
    memory, stated = _run_memory(context), stated_memory(parameters)
    if parameters.replaces:
        return ToolResult(await memory.replace(parameters.replaces, stated, parameters.reason, context.call))
    return ToolResult(await memory.save(stated, context.call, parameters.reason))


async def recall(parameters: RecallArguments, context: ToolContext) -> ToolResult:
    return ToolResult(await _run_memory(context).recall(parameters.query, parameters.id))


async def forget(parameters: ForgetArguments, context: ToolContext) -> ToolResult:
    return ToolResult(await _run_memory(context).forget(parameters.id, parameters.reason, context.call))


def _run_memory(context: ToolContext) -> RunMemory:
    if context.memory is None or not context.memory.is_enabled():
        raise Problem("Memory is not available.", "It is turned off, or it cannot be stored.", "Continue without it.")
    return context.memory


REMEMBER = Tool(
    name="remember",
    description="Save a lasting fact, preference or lesson for later sessions. No secrets, guesses or one-offs.",
    parameters=RememberArguments,
    kind="remember",
    access="none",
    describe=lambda parameters: stated_memory(parameters).text,
    run=remember,
    has_lasting_effect=True,
)
RECALL_TOOL = Tool(
    name=RECALL,
    description="Search the memories of earlier sessions, or read one in full by its id.",
    parameters=RecallArguments,
    kind="memory",
    access="none",
    describe=lambda parameters: parameters.id or parameters.query,
    run=recall,
)
FORGET = Tool(
    name="forget",
    description="Propose to forget a memory that is wrong or outdated.",
    parameters=ForgetArguments,
    kind="forget",
    access="none",
    describe=lambda parameters: parameters.id,
    run=forget,
    has_lasting_effect=True,
)
