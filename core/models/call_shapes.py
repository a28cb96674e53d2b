"""Finds tool calls in reply text, in every known notation of models.

Models write calls into the text if their server does not parse their notation, or if they imitate another one. The
notations are those of the tool parsers of vLLM, SGLang and llama.cpp, and the JSON that small models write in code
fences. Whether a call is meant is not decided here, but in `written_calls`.
A call is found only if a delimiter closes its arguments, so a truncated reply never yields a partial call.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.models.lenient_json import LenientReader, parse_object, read_json

MAX_ATTEMPTS = 300  # limit of positions in one reply that are examined, to bound the time for hostile text
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
# Code blocks in these languages count only if they consist of calls of offered tools.
CODE_LANGUAGES = frozenset({"python", "py"})


@dataclass(frozen=True, slots=True)
class FoundCall:
    """A call in a text. `plain`: the arguments are from tags, so all values are strings, whatever the schema says."""

    tool: str
    arguments: Mapping[str, Any]
    plain: bool = False


@dataclass(frozen=True, slots=True)
class FoundBlock:
    """The calls in one stretch of text, all or none of which are executed; `shape` is their notation, for display."""

    calls: tuple[FoundCall, ...]
    start: int
    end: int
    shape: str


# Markers that precede one or more calls (as JSON, Python-like, or a name with JSON), each with a name for the user.
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
MAX_WRAPPERS = 4  # most lists and objects nested around a call


class CallFinder:
    """Finds the calls of tools in one text. `names` are the tool names that a call may use."""

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
        """Yield the blocks with calls in order, skipping reasoning, quotations and other code blocks."""
        position = attempts = 0
        while attempts < MAX_ATTEMPTS and (match := self._opening.search(self._text, position)):
            attempts += 1
            if match["fence"] is not None:
                block, position = self._fenced_block(match)
            elif self._is_quoted(match.start()):
                block, position = None, max(match.end(), position + 1)
            else:
                block = self._marked_block(match.start()) or self._bare_block(match)
                position = block.end if block else max(match.end(), match.start() + 1)
            if block:
                yield block

    def _is_quoted(self, position: int) -> bool:
        """Return whether a position is in a quoted line (`>`) or in inline code."""
        line = self._text[self._text.rfind("\n", 0, position) + 1 : position]
        return line.lstrip().startswith(">") or line.count("`") % 2 == 1

    def _fenced_block(self, match: re.Match[str]) -> tuple[FoundBlock | None, int]:
        """Read a fenced code block; return its calls, if it consists of calls only, and the position after it."""
        marks = match["marks"]
        closing_pattern = re.compile(rf"^[ \t]*{marks[0]}{{{len(marks)},}}[ \t]*(?:\n|$)", re.MULTILINE)
        closing_match = closing_pattern.search(self._text, match.end())
        content_end, block_end = closing_match.span() if closing_match else (len(self._text), len(self._text))
        language, start = match["info"].lower(), match.end()
        if len(marks) == 3 and (language in FENCE_LANGUAGES or language in CODE_LANGUAGES):
            # A string in the arguments may contain a line that looks like the closing fence, so parse the calls first.
            is_python = language in CODE_LANGUAGES or language == "tool_code"
            if language in CODE_LANGUAGES:
                payload = self._python_calls(start)
            else:
                payload = self._payloads(start, python=is_python)
            shape = "code block" if is_python else "fenced JSON"
            if not payload and (block := self._marked_block(self._skip_space(start))):
                payload, shape = (block.calls, block.end), block.shape
            if payload:
                calls, calls_end = payload
                if calls_end >= content_end:  # the end markers of the call include the closing fence
                    return FoundBlock(calls, match.start(), max(calls_end, block_end), shape), max(calls_end, block_end)
                closing_match = closing_pattern.search(self._text, calls_end)
                if not self._text[calls_end : closing_match.start() if closing_match else len(self._text)].strip():
                    block_end = closing_match.end() if closing_match else len(self._text)
                    return FoundBlock(calls, match.start(), block_end, shape), block_end
                if closers := CLOSERS.match(self._text, calls_end):
                    return FoundBlock(calls, match.start(), closers.end(), shape), closers.end()
        return None, max(block_end, content_end)

    def _marked_block(self, position: int) -> FoundBlock | None:
        """Read calls that begin with a marker at this position, such as `<tool_call>`; None without one."""
        text = self._text
        if match := TAGGED.match(text, position) or DSML.match(text, position):
            return self._tagged_block(match)
        for pattern, shape in ((DEEPSEEK, "DeepSeek format"), (KIMI, "Kimi format"), (HARMONY, "Harmony format"),
                               (REACT, "Action and Action Input")):  # fmt: skip
            if (match := pattern.match(text, position)) and (value := self._json_object(match.end())):
                return self._block((FoundCall(match["name"], value[0]),), position, value[1], shape)
        if match := MARKER.match(text, position):
            marker_index = next(index for index in range(len(MARKERS)) if match[f"m{index}"] is not None)
            start = match.end()
            if fence := re.compile(r"\s*```\w*[ \t]*\n").match(text, start):
                start = fence.end()
            if payload := self._payloads(start, python=True, allow_names=True):
                return self._block(payload[0], position, payload[1], MARKERS[marker_index][1])
        return None

    def _bare_block(self, match: re.Match[str]) -> FoundBlock | None:
        """Read calls without markers: JSON that fills whole lines, or Python-like calls at the end of the reply."""
        start, text = match.end(), self._text
        if match["bare"] is None and match["python"] is None:
            return None
        if payload := self._json_calls(start):
            closers = CLOSERS.match(text, payload[1])
            end = closers.end() if closers else payload[1]
            if not text[end:].split("\n", 1)[0].strip():
                return FoundBlock(payload[0], match.start(), end, "JSON")
        if (payload := self._python_calls(start)) and not text[payload[1] :].strip():
            return FoundBlock(payload[0], match.start(), payload[1], "Python-like call")
        return None

    def _block(self, calls: tuple[FoundCall, ...], start: int, end: int, shape: str) -> FoundBlock:
        closers = CLOSERS.match(self._text, end)
        return FoundBlock(calls, start, closers.end() if closers else end, shape)

    def _payloads(
        self, position: int, *, python: bool = False, allow_names: bool = False
    ) -> tuple[tuple[FoundCall, ...], int] | None:
        """Read consecutive calls in any of the allowed notations; return them and the position after them."""
        calls: tuple[FoundCall, ...] = ()
        while True:
            separators = SEPARATORS.match(self._text, position)
            start = separators.end() if separators else position
            payload = self._json_calls(start, allow_names=allow_names)
            if not payload and python:
                payload = self._python_calls(start)
            if not payload and allow_names:
                payload = self._named_call(start)
            if not payload:
                return (calls, position) if calls else None
            calls, position = calls + payload[0], payload[1]

    def _json_calls(self, position: int, *, allow_names: bool = False) -> tuple[tuple[FoundCall, ...], int] | None:
        if self._text[position : position + 1] not in ("{", "["):
            return None
        try:
            value, end = read_json(self._text, position, END_MARK)
        except ValueError:
            return None
        calls = calls_in(value, self._names if allow_names else frozenset())
        return (tuple(calls), end) if calls else None

    def _skip_space(self, position: int) -> int:
        return position + len(self._text[position:]) - len(self._text[position:].lstrip())

    def _json_object(self, position: int) -> tuple[dict[str, Any], int] | None:
        try:
            value, end = read_json(self._text, position)
        except ValueError:
            return None
        return (value, end) if isinstance(value, dict) else None

    def _named_call(self, position: int) -> tuple[tuple[FoundCall, ...], int] | None:
        """Read a tool name followed by JSON or by tags with keys and values, or a call in tags inside other tags."""
        if match := TAGGED.match(self._text, position) or DSML.match(self._text, position):
            block = self._tagged_block(match)
            return (block.calls, block.end) if block else None
        if (match := NAMED_JSON.match(self._text, position)) and (payload := self._json_object(match.end())):
            return (FoundCall(match["name"], payload[0]),), payload[1]
        if match := GLM.match(self._text, position):
            arguments, end = {}, match.end()
            while pair := GLM_PAIR.match(self._text, end):
                arguments[pair["key"].strip()] = pair["value"]
                end = pair.end()
            if self._text.startswith("</tool_call>", end):
                return (FoundCall(match["name"], arguments, plain=True),), end + len("</tool_call>")
        return None

    def _tagged_block(self, match: re.Match[str]) -> FoundBlock | None:
        """Read `<function=NAME>` or `<invoke name="NAME">` with its parameters in tags or as JSON."""
        start, end = match.start(), match.end()
        closing_tag = re.compile(r"\s*</(?:[|｜]DSML[|｜])?[\w:]*(?:function|invoke|tool_call)>")
        json_start = self._skip_space(end)
        if self._text.startswith("{", json_start):
            payload = self._json_object(json_start)
            if payload is None:
                return None
            return self._block((FoundCall(match["name"], payload[0]),), start, payload[1], "function tags")
        arguments: dict[str, Any] = {}
        while parameter := PARAMETER.match(self._text, end):
            value_end = self._text.find(f"</{parameter['tag']}>", parameter.end())
            if value_end < 0 or parameter["key"] in arguments:
                return None
            value = self._text[parameter.end() : value_end]
            arguments[parameter["key"]] = value.removeprefix("\n").removesuffix("\n")
            end = value_end + len(f"</{parameter['tag']}>")
        if closing_match := closing_tag.match(self._text, end):
            return self._block(
                (FoundCall(match["name"], arguments, plain=True),), start, closing_match.end(), "function tags"
            )
        return None

    def _python_calls(self, position: int) -> tuple[tuple[FoundCall, ...], int] | None:
        """Read one or more calls `name(key=value, …)`, or a list of them. Values are literals."""
        is_list = self._text.startswith("[", position)
        position, calls = position + is_list, list[FoundCall]()
        while True:
            separators = SEPARATORS.match(self._text, position)
            start = separators.end() if separators else position
            is_printed = self._text.startswith("print(", start)
            try:
                call, end = self._python_call(start + len("print(") * is_printed)
            except ValueError:
                break
            if is_printed:
                if not self._text.startswith(")", end):
                    break
                end += 1
            calls.append(call)
            position = end
        if is_list:
            end = LenientReader(self._text).skip_space(position)
            if not self._text.startswith("]", end):
                return None
            position = end + 1
        return (tuple(calls), position) if calls else None

    def _python_call(self, position: int) -> tuple[FoundCall, int]:
        match, reader = CALL_START.match(self._text, position), LenientReader(self._text)
        if not match or match["name"] not in self._names:
            raise ValueError("no call of an offered tool")
        arguments, position = dict[str, Any](), match.end()
        if self._text.startswith("{", position):
            value, position = reader.value(position)
            arguments, position = value, reader.skip_space(position)
        while not self._text.startswith(")", position):
            key = KEYWORD.match(self._text, position)
            if not key or key["key"] in arguments:
                raise ValueError("no keyword, or one twice")
            arguments[key["key"]], position = reader.value(key.end())
            position = reader.skip_space(position)
            if self._text.startswith(",", position):
                position = reader.skip_space(position + 1)
            elif not self._text.startswith(")", position):
                raise ValueError("no comma")
        return FoundCall(match["name"], arguments), position + 1


def _without_thoughts(text: str) -> str:
    """Return the text with the model's reasoning replaced by equally many spaces, so that positions stay valid."""
    closing_tag = text.find("</think")
    if closing_tag >= 0 and "<think" not in text[:closing_tag]:
        text = " " * closing_tag + text[closing_tag:]
    return THOUGHTS.sub(lambda thought: " " * len(thought[0]), text)


def calls_in(value: Any, shorthand_names: Collection[str] = (), depth: int = 0) -> list[FoundCall]:
    """Return the calls that a JSON value consists of; none if any part of the value is not a call.

    `shorthand_names` are the tools that may be written as `{"read": {"path": "a"}}`, with the name as a key.
    """
    if depth > MAX_WRAPPERS:
        return []
    if isinstance(value, list):
        parts = [calls_in(item, shorthand_names, depth + 1) for item in value]
        return [call for part in parts for call in part] if all(parts) else []
    if not isinstance(value, dict):
        return []
    for key in WRAPPER_KEYS:
        if isinstance(inner := value.get(key), dict | list) and not any(name in value for name in ARGUMENT_KEYS):
            return calls_in(inner, shorthand_names, depth + 1)
    name_key = next((key for key in NAME_KEYS if isinstance(value.get(key), str)), None)
    if name_key is None:
        only = next(iter(value)) if len(value) == 1 else ""
        return [FoundCall(only, value[only])] if only in shorthand_names and isinstance(value[only], dict) else []
    argument_key = next((key for key in ARGUMENT_KEYS if key in value), None)
    if argument_key is None:
        arguments: Any = {key: item for key, item in value.items() if key != name_key and key not in EXTRA_KEYS}
    else:
        arguments = value[argument_key]
        arguments = parse_object(arguments or "{}") if isinstance(arguments, str) else arguments or {}
    # A JSON Schema, so a tool's definition rather than a call.
    if not isinstance(arguments, dict) or {"type", "properties"} <= set(arguments):
        return []
    return [FoundCall(re.sub(f"^{PREFIX}", "", value[name_key]), arguments)]
