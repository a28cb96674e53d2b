"""Finds tool calls in reply text, in every shape that models are known to write them in.

Models write calls into the text if their server does not parse their own format, or if they imitate another one. The
shapes are those of the tool parsers of vLLM, SGLang and llama.cpp, and the JSON that small models write in code fences.
Nothing is decided here about whether a call is meant: see `written_calls`.

A call is found only if a delimiter closes its arguments, so a reply that was cut off never yields a part of a call.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.models.lenient_json import LenientReader, parse_object, read_json

MAX_ATTEMPTS = 300  # places in one reply at which a call is looked for; a bound on the time for hostile text
NAME_KEYS = ("name", "tool", "tool_name", "toolName", "function", "function_name", "action", "recipient_name")
ARGUMENT_KEYS = (
    "arguments", "parameters", "input", "args", "params", "action_input", "tool_input", "tool_parameters", "kwargs",
)  # fmt: skip
WRAPPER_KEYS = ("tool_calls", "tool_call", "function_call", "function", "tool_uses", "calls", "actions", "tools")
EXTRA_KEYS = frozenset({"id", "type", "call_id", "tool_call_id", "index", "thought", "reasoning"})
PREFIX = r"(?:(?:functions|default_api|tools|call)[.:])?"
NAME = r"[\w.:-]{1,128}"
FENCE_LANGUAGES = frozenset(
    {
        "", "json", "json5", "jsonc", "xml", "text", "tool", "tools", "tool_code", "tool_call", "tool_calls",
        "tool-call", "tool_use", "function", "function_call",
    }
)  # fmt: skip
CODE_LANGUAGES = frozenset({"python", "py"})  # taken only if the whole block is calls of offered tools


@dataclass(frozen=True, slots=True)
class FoundCall:
    """A call in a text. `plain` marks arguments from tags, whose values are all strings whatever the schema says."""

    tool: str
    arguments: Mapping[str, Any]
    plain: bool = False


@dataclass(frozen=True, slots=True)
class FoundBlock:
    """The calls in one stretch of text, which are taken or left together; `shape` names it for the user."""

    calls: tuple[FoundCall, ...]
    start: int
    end: int
    shape: str


# Markers before one or more payloads (JSON, Python-like calls, or a name with JSON).
MARKERS = (
    (r"<tool_calls?>|<tool>|<TOOLCALL>|<function_calls?>|<\|tool_call\|?>|<tool_call_begin>", "tool call tags"),
    (r"<tools>", "tools tags"),
    (r"<function>", "function tags"),
    (r"\[TOOL_CALLS\]", "Mistral format"),
    (r"<\|python_tag\|>", "Llama format"),
    (r"<\|tool_call_start\|>", "LFM format"),
    (r"<\|START_ACTION\|>", "Command format"),
    (r"<\|action_start\|>\s*<\|plugin\|>", "InternLM format"),
    (r"<\|tools_prefix\|>", "Apertus format"),
    (r"<start_function_call>", "Gemma format"),
    (r"functools(?=\[)", "Phi format"),
)
TAGGED = re.compile(
    rf"""<(?:[\w:]*:)?(?P<tag>function|invoke|tool_call)(?:=|\s+name\s*=\s*)["']?(?P<name>{NAME})["']?\s*>"""
)
DSML = re.compile(rf"""<[|｜]DSML[|｜]invoke\s+name="(?P<name>{NAME})"\s*>""")
DEEPSEEK = re.compile(rf"<[|｜]tool[▁_]call[▁_]begin[|｜]>(?:function<[|｜]tool[▁_]sep[|｜]>)?{PREFIX}(?P<name>{NAME})"
                      r"(?:<[|｜]tool[▁_]sep[|｜]>)?\s*(?:```(?:json)?\s*)?(?={)")  # fmt: skip
KIMI = re.compile(
    rf"<\|tool_call_begin\|>\s*{PREFIX}(?P<name>[\w.-]{{1,128}})(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*"
)
HARMONY = re.compile(rf"(?:<\|channel\|>\w+ )?to=functions\.(?P<name>{NAME})[^\n{{]{{0,80}}<\|message\|>\s*(?={{)")
REACT = re.compile(
    rf"^[ \t]*\**Action:?\**:?[ \t]*`?{PREFIX}(?P<name>{NAME})`?[ \t]*\n+[ \t]*\**Action Input:?\**:?\s*"
    r"(?:```(?:json)?\s*)?(?={)",
    re.MULTILINE,
)
FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>[\w+#.-]*)[^\n`]*(?:\n|$)", re.MULTILINE)
BARE = re.compile(r"^[ \t]{0,3}(?=[{\[])", re.MULTILINE)
MARKER = re.compile("|".join(f"(?P<m{number}>{pattern})" for number, (pattern, _) in enumerate(MARKERS)))
NAMED_JSON = re.compile(rf"{PREFIX}(?P<name>{NAME}?)\s*(?:\[CALL_ID\][\w-]*)?(?:\[ARGS\])?\s*(?={{)")
GLM = re.compile(rf"(?P<name>{NAME})\s*(?=<arg_key>|</tool_call>)")
GLM_PAIR = re.compile(r"<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>\s*", re.DOTALL)
PARAMETER = re.compile(
    r"""\s*<(?P<tag>[|｜]DSML[|｜]parameter|(?:[\w:]*:)?param(?:eter)?)(?:=|\s+name\s*=\s*)["']?(?P<key>[\w.-]+)["']?[^<>]*>"""
)
CLOSERS = re.compile(
    r"(?:\s*(?:(?:```+|~~~+)(?=\s*$|\s*\n|\s*<)|</[^<>\s]{1,40}>|<tool_call\|>|<end_function_call>"
    r"|<[|｜][\w▁]*(?:end|END|call|suffix|eot_id|eom_id|DSML)[^<>\n]{0,20}[|｜]>|<\|call\|>|\[/TOOL_CALLS\]))+"
)
END_MARK = re.compile(r"\s*(?:```|~~~|</)")
THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
SEPARATORS = re.compile(r"[\s;,]*")
CALL_START = re.compile(rf"{PREFIX}(?P<name>[A-Za-z_]\w*)(?:\.call)?\(\s*")
KEYWORD = re.compile(r"(?P<key>[A-Za-z_]\w*)\s*=\s*")


class CallFinder:
    """Finds the calls of some tools in one text. `names` are the names that a call may use."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self._text = _without_thoughts(text)
        self._names = frozenset(names)
        calls = "|".join(sorted(map(re.escape, self._names), key=len, reverse=True)) or r"(?!)"
        python = rf"(?P<python>^[ \t]{{0,3}}(?=(?:\[\s*)?(?:print\()?{PREFIX}(?:{calls})\())"
        self._opening = re.compile(
            f"(?P<fence>{FENCE.pattern})|(?P<tagged>{re.sub(r'[?]P<[a-z]+>', '?:', TAGGED.pattern)})"
            rf"|(?P<dsml><[|｜]DSML[|｜]invoke)|(?P<deepseek><[|｜]tool[▁_]call[▁_]begin)|(?P<kimi><\|tool_call_begin\|>)"
            rf"|(?P<harmony>(?:<\|channel\|>\w+ )?to=functions\.)|(?P<react>^[ \t]*\**Action:)|{python}"
            f"|{MARKER.pattern}|(?P<bare>{BARE.pattern})",
            re.MULTILINE,
        )

    def blocks(self) -> Iterator[FoundBlock]:
        """Yield the blocks with calls, in order. Thoughts, quotations and other code blocks are skipped."""
        position = attempts = 0
        while attempts < MAX_ATTEMPTS and (found := self._opening.search(self._text, position)):
            attempts += 1
            if found["fence"] is not None:
                block, position = self._fence(found)
            elif self._is_quoted(found.start()):
                block, position = None, max(found.end(), position + 1)
            else:
                block = self._marked(found.start()) or self._bare(found)
                position = block.end if block else max(found.end(), found.start() + 1)
            if block:
                yield block

    def _is_quoted(self, at: int) -> bool:
        """Return whether a place is in a quoted line or in inline code."""
        line = self._text[self._text.rfind("\n", 0, at) + 1 : at]
        return line.lstrip().startswith(">") or line.count("`") % 2 == 1

    def _fence(self, found: re.Match[str]) -> tuple[FoundBlock | None, int]:
        """Read a code block. It has to consist of calls; other code blocks are skipped as a whole."""
        marks = found["marks"]
        closing = re.compile(rf"^[ \t]*{marks[0]}{{{len(marks)},}}[ \t]*(?:\n|$)", re.MULTILINE)
        closed = closing.search(self._text, found.end())
        end, after = (closed.start(), closed.end()) if closed else (len(self._text), len(self._text))
        language, start = found["info"].lower(), found.end()
        if len(marks) == 3 and (language in FENCE_LANGUAGES or language in CODE_LANGUAGES):
            # A string in the arguments may contain a line that looks like the end of the block.
            code = language in CODE_LANGUAGES or language == "tool_code"
            read = self._payloads(start, python=code) if language not in CODE_LANGUAGES else self._python(start)
            shape = "code block" if code else "fenced JSON"
            if not read and (block := self._marked(start + len(self._text[start:]) - len(self._text[start:].lstrip()))):
                read, shape = (block.calls, block.end), block.shape
            if read:
                calls, stop = read
                if stop >= end:  # the markers after the call include the end of the block
                    return FoundBlock(calls, found.start(), max(stop, after), shape), max(stop, after)
                closed = closing.search(self._text, stop)
                if not self._text[stop : closed.start() if closed else len(self._text)].strip():
                    after = closed.end() if closed else len(self._text)
                    return FoundBlock(calls, found.start(), after, shape), after
                if closers := CLOSERS.match(self._text, stop):
                    return FoundBlock(calls, found.start(), closers.end(), shape), closers.end()
        return None, max(after, end)

    def _marked(self, at: int) -> FoundBlock | None:
        """Read calls that begin with a marker of their own."""
        text = self._text
        if found := TAGGED.match(text, at) or DSML.match(text, at):
            return self._tagged_block(found)
        for pattern, shape in ((DEEPSEEK, "DeepSeek format"), (KIMI, "Kimi format"), (HARMONY, "Harmony format"),
                               (REACT, "Action and Action Input")):  # fmt: skip
            if (found := pattern.match(text, at)) and (value := self._json_object(found.end())):
                return self._block((FoundCall(found["name"], value[0]),), at, value[1], shape)
        if found := MARKER.match(text, at):
            number = next(number for number in range(len(MARKERS)) if found[f"m{number}"] is not None)
            start = found.end()
            if fence := re.compile(r"\s*```\w*[ \t]*\n").match(text, start):
                start = fence.end()
            if read := self._payloads(start, python=True, named=True):
                return self._block(read[0], at, read[1], MARKERS[number][1])
        return None

    def _bare(self, found: re.Match[str]) -> FoundBlock | None:
        """Read JSON that fills whole lines, or Python-like calls that end the reply."""
        start, text = found.end(), self._text
        if found["bare"] is None and found["python"] is None:
            return None
        if read := self._json_calls(start):
            closers = CLOSERS.match(text, read[1])
            end = closers.end() if closers else read[1]
            if not text[end:].split("\n", 1)[0].strip():
                return FoundBlock(read[0], found.start(), end, "JSON")
        if (read := self._python(start)) and not text[read[1] :].strip():
            return FoundBlock(read[0], found.start(), read[1], "Python-like call")
        return None

    def _block(self, calls: tuple[FoundCall, ...], start: int, end: int, shape: str) -> FoundBlock:
        closers = CLOSERS.match(self._text, end)
        return FoundBlock(calls, start, closers.end() if closers else end, shape)

    def _payloads(
        self, at: int, *, python: bool = False, named: bool = False
    ) -> tuple[tuple[FoundCall, ...], int] | None:
        """Read one or more payloads, one after the other."""
        calls: tuple[FoundCall, ...] = ()
        while True:
            separators = SEPARATORS.match(self._text, at)
            start = separators.end() if separators else at
            read = self._json_calls(start, named=named)
            if not read and python:
                read = self._python(start)
            if not read and named:
                read = self._named(start)
            if not read:
                return (calls, at) if calls else None
            calls, at = calls + read[0], read[1]

    def _json_calls(self, at: int, *, named: bool = False) -> tuple[tuple[FoundCall, ...], int] | None:
        if self._text[at : at + 1] not in ("{", "["):
            return None
        try:
            value, end = read_json(self._text, at, END_MARK)
        except ValueError:
            return None
        calls = calls_in(value, self._names if named else frozenset())
        return (tuple(calls), end) if calls else None

    def _json_object(self, at: int) -> tuple[dict[str, Any], int] | None:
        try:
            value, end = read_json(self._text, at)
        except ValueError:
            return None
        return (value, end) if isinstance(value, dict) else None

    def _named(self, at: int) -> tuple[tuple[FoundCall, ...], int] | None:
        """Read a name followed by JSON, by tags with keys and values, or a tagged call inside other tags."""
        if found := TAGGED.match(self._text, at) or DSML.match(self._text, at):
            block = self._tagged_block(found)
            return (block.calls, block.end) if block else None
        if (found := NAMED_JSON.match(self._text, at)) and (read := self._json_object(found.end())):
            return (FoundCall(found["name"], read[0]),), read[1]
        if found := GLM.match(self._text, at):
            arguments, end = {}, found.end()
            while pair := GLM_PAIR.match(self._text, end):
                arguments[pair["key"].strip()] = pair["value"]
                end = pair.end()
            if self._text.startswith("</tool_call>", end):
                return (FoundCall(found["name"], arguments, plain=True),), end + len("</tool_call>")
        return None

    def _tagged_block(self, found: re.Match[str]) -> FoundBlock | None:
        """Read `<function=NAME>` or `<invoke name="NAME">` with parameters in tags, or with JSON."""
        start, end = found.start(), found.end()
        closing = re.compile(r"\s*</(?:[|｜]DSML[|｜])?[\w:]*(?:function|invoke|tool_call)>")
        if (at := end + len(self._text[end:]) - len(self._text[end:].lstrip())) and self._text[at : at + 1] == "{":
            read = self._json_object(at)
            return self._block((FoundCall(found["name"], read[0]),), start, read[1], "function tags") if read else None
        arguments: dict[str, Any] = {}
        while parameter := PARAMETER.match(self._text, end):
            closed = self._text.find(f"</{parameter['tag']}>", parameter.end())
            if closed < 0 or parameter["key"] in arguments:
                return None
            value = self._text[parameter.end() : closed]
            arguments[parameter["key"]] = value.removeprefix("\n").removesuffix("\n")
            end = closed + len(parameter["tag"]) + 3
        if closed_call := closing.match(self._text, end):
            return self._block(
                (FoundCall(found["name"], arguments, plain=True),), start, closed_call.end(), "function tags"
            )
        return None

    def _python(self, at: int) -> tuple[tuple[FoundCall, ...], int] | None:
        """Read `name(key=value, …)`, several of them, or a list of them. Values are literals."""
        listed = self._text.startswith("[", at)
        at, calls = at + listed, list[FoundCall]()
        while True:
            separators = SEPARATORS.match(self._text, at)
            start = separators.end() if separators else at
            printed = self._text.startswith("print(", start)
            try:
                call, end = self._python_call(start + 6 * printed)
            except ValueError:
                break
            if printed:
                if not self._text.startswith(")", end):
                    break
                end += 1
            calls.append(call)
            at = end
        if listed:
            end = LenientReader(self._text).skip_space(at)
            if not self._text.startswith("]", end):
                return None
            at = end + 1
        return (tuple(calls), at) if calls else None

    def _python_call(self, at: int) -> tuple[FoundCall, int]:
        found, reader = CALL_START.match(self._text, at), LenientReader(self._text)
        if not found or found["name"] not in self._names:
            raise ValueError("no call of an offered tool")
        arguments, at = dict[str, Any](), found.end()
        if self._text.startswith("{", at):
            value, at = reader.value(at)
            arguments, at = value, reader.skip_space(at)
        while not self._text.startswith(")", at):
            key = KEYWORD.match(self._text, at)
            if not key or key["key"] in arguments:
                raise ValueError("no keyword, or one twice")
            arguments[key["key"]], at = reader.value(key.end())
            at = reader.skip_space(at)
            if self._text.startswith(",", at):
                at = reader.skip_space(at + 1)
            elif not self._text.startswith(")", at):
                raise ValueError("no comma")
        return FoundCall(found["name"], arguments), at + 1


def _without_thoughts(text: str) -> str:
    """Return the text with the model's thoughts, if they are part of it, replaced by as many spaces."""
    closing = text.find("</think")
    if closing >= 0 and "<think" not in text[:closing]:
        text = " " * closing + text[closing:]
    return THOUGHTS.sub(lambda thought: " " * len(thought[0]), text)


def calls_in(value: Any, short: Collection[str] = (), depth: int = 0) -> list[FoundCall]:
    """Return the calls that a JSON value consists of; none if any part of it is not a call.

    `short` are the names that may be keys of their arguments, as in `{"read": {"path": "a"}}`.
    """
    if depth > 4:
        return []
    if isinstance(value, list):
        parts = [calls_in(item, short, depth + 1) for item in value]
        return [call for part in parts for call in part] if all(parts) else []
    if not isinstance(value, dict):
        return []
    for key in WRAPPER_KEYS:
        if isinstance(inner := value.get(key), dict | list) and not any(name in value for name in ARGUMENT_KEYS):
            return calls_in(inner, short, depth + 1)
    name_key = next((key for key in NAME_KEYS if isinstance(value.get(key), str)), None)
    if name_key is None:
        only = next(iter(value)) if len(value) == 1 else ""
        return [FoundCall(only, value[only])] if only in short and isinstance(value[only], dict) else []
    argument_key = next((key for key in ARGUMENT_KEYS if key in value), None)
    if argument_key is None:
        arguments: Any = {key: item for key, item in value.items() if key != name_key and key not in EXTRA_KEYS}
    else:
        arguments = value[argument_key]
        arguments = parse_object(arguments or "{}") if isinstance(arguments, str) else arguments or {}
    if not isinstance(arguments, dict) or {"type", "properties"} <= set(arguments):  # a definition of a tool
        return []
    return [FoundCall(re.sub(f"^{PREFIX}", "", value[name_key]), arguments)]
