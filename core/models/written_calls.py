"""Decides which tool calls in the text of a reply are meant, and which are only shown.

`call_shapes` finds everything that is written like a call. All calls in a reply are executed, in order, if at least one
names an offered tool with arguments that fit its schema, and if none of these rules applies:
1. **Quoted text.** A call in a quoted line, in inline code, in a code block of another language or inside the model's
   reasoning is not even found.
2. **Repeated content.** A call that also occurs in a tool result or a user message is a quotation, so that a file or a
   page cannot call a tool by being repeated. `QuotableText` decides what counts as the same.
3. **Examples.** The sentence before or after the call presents it as an example ("for example", "looks like", "the file
   says"), and does not announce work ("let me see what it looks like").
4. **Questions about calls.** The user asks about tool calls or a JSON format, and not for work.
5. **Explanations.** The user does not ask for work, and the reply explains the call ("you can call", "this parameter").
6. **Tutorials.** The reply has several different calls, with headings or explanations around them. If the user asks for
   work, the first one is executed, because small models describe their work in such steps.

Calls of tools that are not offered are never executed.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.domain.text import to_utf8
from core.models.call_shapes import CallFinder, FoundBlock, FoundCall
from core.models.model import RequestedCall, ToolSpec
from core.models.near_calls import near_arguments, near_tool
from core.models.quotations import QuotableText
from core.models.tool_names import ToolNames
from core.models.work_phrases import asks_how, implies_work, promises_work

ArgumentCheck = Callable[[ToolSpec, str], str]
"""Returns why arguments, as JSON text, do not fit a tool; empty if they do."""
LONGEST_REPLY = 400_000  # a longer reply is not searched for calls

# The gaps in these patterns are bounded; otherwise a long reply or task would take hours to search.
_EXAMPLE = re.compile(
    r"(?:\b(?:for example|for instance|e\.g\.|"
    r"(?:an?|another|one|this|following) (?:\w+ )?(?:example|sample|illustration)|"
    r"looks? like|would (?:be|look)|such as|(?:syntax|format|schema|shape|structure) (?:of|for|is)|placeholder|"
    r"(?:you|users?|models?|agents?)\b[^.!?\n]*\blike (?:this|so))\b|^examples?\b"
    r"|(?:^|[.!?\n])\s*(?:(?:the|this|that|your|its) )?[\w./-]+(?: [\w./-]+)? (?:says?|said|contains?|reads?)\b)"
    r"[^.!?\n]*:?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_WAS_EXAMPLE = re.compile(
    r"\s*(?:this|that|the above|above) (?:is|was) (?:just |only )?(?:an?|one) (?:example|sample|illustration)",
    re.IGNORECASE,
)
_ABOUT_CALLS = re.compile(
    r"\b(?:tool|function)[ -]?call(?:s|ing)?\b|\btool[ -]use\b"
    r"|\bcall(?:s|ing)? (?:an?|the|your|its) (?:tool|function)s?\b"
    r"|\bJSON\b.{0,400}\b(?:format|schema|syntax|object|look|mean)|\b(?:format|schema|syntax|mean)\b.{0,400}\bJSON\b",
    re.IGNORECASE | re.DOTALL,
)
_TEACHING = re.compile(
    r"\b(?:you|users?|developers?|models?|agents?|clients?|assistants?|LLMs?)\b[^.!?\n]{0,40}\b(?:can|could|would|should|may|might|"
    r"must|sends?|calls?|writes?|returns?|emits?)\b",
    re.IGNORECASE,
)
_EXPLAINING = re.compile(
    r"\b(?:arguments?|parameters?|fields?|keys?|properties|values?|JSON|schema|syntax)\b[^.!?\n]{0,200}"
    r"\b(?:is|are|holds?|specify|specifies|contains?|names?|means?|tells?|must|describes?|denotes?|optional|required)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
_WRAPPERS = re.compile(
    r"(?:\s{0,50}(?:<[|｜][\w▁]+[|｜]>|<(?:[|｜]DSML[|｜])?[\w:]*(?:tool_calls?|function_calls?|tools)>"
    r"|^\**Action:\**(?:[ \t]{0,50}```\w*)?)){1,20}\s{0,50}$",
    re.MULTILINE,
)
_NOISE = re.compile(r"[\s\\`>]+")
_FENCE_LINE = re.compile(r"\A\s*(?:`{3,}|~{3,})[^\n]*\n")


@dataclass(frozen=True, slots=True)
class WrittenCalls:
    """The calls found in the text of a reply.

    Attributes:
        calls: the calls that are meant.
        text: the reply without them.
        shape: the notation of the calls, for display.
        fault: why a call in the text is not executed, for the model; "" if there is no such call.
    """

    calls: tuple[RequestedCall, ...] = ()
    text: str = ""
    shape: str = ""
    fault: str = ""

    @property
    def note(self) -> str:
        """A note for the user on how the calls were recognized; "" without calls."""
        count = "Tool call" if len(self.calls) == 1 else f"{len(self.calls)} tool calls"
        return f"{count} read from the reply text: {self.shape}" if self.calls else ""


def read_written_calls(
    text: str, tools: Sequence[ToolSpec], check_arguments: ArgumentCheck, task: str = "", quotable: Iterable[str] = ()
) -> WrittenCalls:
    """Return the calls that are meant in the text of a reply. `quotable` are the texts that it may quote."""
    if not tools or len(text) > LONGEST_REPLY:
        return WrittenCalls(text=text)
    offered = _Offered(tools, check_arguments)
    all_blocks = list(CallFinder(text, offered.names).blocks())
    if not all_blocks or _presents_calls(text, all_blocks, task) or _is_quotation(text, all_blocks, quotable):
        return WrittenCalls(text=text)
    if _is_tutorial(text, all_blocks):
        if not implies_work(task) or asks_how(task) or _ABOUT_CALLS.search(task):
            return WrittenCalls(text=text)
        text, all_blocks = text[: all_blocks[0].end], all_blocks[:1]
    blocks = [block for block in all_blocks if offered.has_any(block.calls)]
    if not blocks:
        names = ", ".join(tool.name for tool in tools)
        fault = f"There is no tool {all_blocks[0].calls[0].tool!r}. The tools are: {names}."
        return WrittenCalls(text=text, fault=fault if implies_work(task) else "")
    requested = offered.requested(blocks)
    if not requested.calls:
        return WrittenCalls(text=text, fault=requested.faults[0])
    shapes = ", ".join(dict.fromkeys(block.shape for block in blocks))
    return WrittenCalls(requested.calls, _outside(text, blocks), shapes)


class _RequestedCalls(NamedTuple):
    """The calls to execute, and what is wrong with the arguments of calls."""

    calls: tuple[RequestedCall, ...]
    faults: list[str]


class _Offered:
    """The offered tools, by the names that the model may use for them."""

    def __init__(self, tools: Sequence[ToolSpec], check_arguments: ArgumentCheck) -> None:
        provider_names = ToolNames(tool.name for tool in tools)
        self._check_arguments = check_arguments
        self._offered = tools
        self._tools = {provider_names.to_provider(tool.name): tool for tool in tools} | {
            tool.name: tool for tool in tools
        }

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._tools)

    def has_any(self, calls: Iterable[FoundCall]) -> bool:
        return any(self._tool(call) for call in calls)

    def requested(self, blocks: Iterable[FoundBlock]) -> _RequestedCalls:
        """Return all calls of offered tools, if at least one fits its schema, and the faults of the others."""
        requested: list[RequestedCall] = []
        faults: list[str] = []
        for call in (call for block in blocks for call in block.calls):
            tool = self._tool(call)
            if tool is None:
                continue
            named = near_arguments(call.arguments, tool)
            arguments = typed_arguments(named, tool.parameters) if call.plain else named
            arguments_json = to_utf8(json.dumps(arguments, ensure_ascii=False)).decode()
            if fault := self._check_arguments(tool, arguments_json):
                faults.append(fault)
            requested.append(RequestedCall(tool.name, arguments_json))
        has_valid_call = len(faults) < len(requested)
        return _RequestedCalls(tuple(requested) if has_valid_call else (), faults)

    def _tool(self, call: FoundCall) -> ToolSpec | None:
        return self._tools.get(call.tool) or near_tool(call.tool, self._offered)


def typed_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments that were written as text, converted to the types of the schema where possible."""
    properties = schema.get("properties", {})
    return {name: _typed(value, properties.get(name, {})) for name, value in arguments.items()}


def _typed(value: Any, schema: Any) -> Any:
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind in (None, "string") or not isinstance(value, str):
        return value
    try:
        plain = json.loads({"True": "true", "False": "false", "None": "null"}.get(value.strip(), value))
    except (ValueError, RecursionError):
        return value
    return value if isinstance(plain, str) else plain


def _presents_calls(text: str, blocks: Sequence[FoundBlock], task: str) -> bool:
    """Return whether the reply presents its calls instead of making them (rules 3 to 5 of this module)."""
    surroundings = _surrounding_texts(text, blocks)
    if any(map(_presents_example, surroundings[:-1])) or any(map(_WAS_EXAMPLE.match, surroundings[1:])):
        return True
    return not implies_work(task) and (any(map(_explains, surroundings)) or bool(_ABOUT_CALLS.search(task)))


def _is_tutorial(text: str, blocks: Sequence[FoundBlock]) -> bool:
    """Return whether the reply has several different calls, with headings or explanations around them."""
    surroundings = _surrounding_texts(text, blocks)
    distinct_calls = {(call.tool, str(call.arguments)) for block in blocks for call in block.calls}
    has_several = len(blocks) > 1 and len(distinct_calls) > 1
    return has_several and any(_explains(part) or _HEADING.search(part) for part in surroundings)


def _explains(text: str) -> bool:
    return bool(_TEACHING.search(text) or _EXPLAINING.search(text))


def _presents_example(before: str) -> bool:
    """Return whether the text before a call ends by presenting an example or a quotation."""
    sentence = before.rstrip()[-200:]
    return bool(_EXAMPLE.search(sentence)) and not promises_work(sentence.rsplit("\n", 1)[-1])


def _is_quotation(text: str, blocks: Sequence[FoundBlock], quotable: Iterable[str]) -> bool:
    """Return whether a call also occurs in other content, ignoring white space and escapes (rule 2 of this module)."""
    call_texts = [_without_wrapping(text[block.start : block.end], block) for block in blocks]
    for content in quotable:
        # Without white space, to find a call whose words a line break divides.
        words, plain = QuotableText(content), _normalized(content)
        if any(words.contains(call) or _normalized(call) in plain for call in call_texts):
            return True
    return False


def _without_wrapping(block_text: str, block: FoundBlock) -> str:
    """Return the JSON of a block, if that names the tool, or else the block without its opening code fence."""
    json_text = block_text[block_text.find("{") : block_text.rfind("}") + 1]
    if f'"{block.calls[0].tool}"' in json_text.replace("'", '"'):
        return json_text
    return _FENCE_LINE.sub("", block_text)


def _normalized(text: str) -> str:
    return _NOISE.sub("", text.replace("'", '"'))


def _surrounding_texts(text: str, blocks: Sequence[FoundBlock]) -> list[str]:
    """Return the texts before, between and after the blocks."""
    starts, ends = [block.start for block in blocks], [block.end for block in blocks]
    return [text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]


def _outside(text: str, blocks: Sequence[FoundBlock]) -> str:
    """Return the text outside the blocks, without markers that only enclose calls."""
    parts = [_WRAPPERS.sub("", part).strip() for part in _surrounding_texts(text, blocks)]
    return "\n\n".join(part for part in parts if part)
