"""Finds tool calls in reply text, in every known notation of models.

Models write calls into the text if their server does not parse their notation, or if they imitate another one. The
notations are those of the tool parsers of vLLM, SGLang and llama.cpp, and the JSON that small models write in code
fences. Whether a call is meant is not decided here, but in `written_calls`.
A call is found only if a delimiter closes its arguments, so a truncated reply never yields a partial call.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.models.lenient_json import LenientReader, parse_object, read_json

MAX_ATTEMPTS = 300  # limit of positions in one reply that are examined, to bound the time for hostile text
NAME_KEYS = ("name", "tool", "tool_name", "toolName", "function", "function_name", "action", "recipient_name")
ARGUMENT_KEYS = (
    "arguments",
    "parameters",
    "input",
    "args",
    "params",
    "action_input",
    "tool_input",
    "tool_parameters",
    "kwargs",
)
WRAPPER_KEYS = ("tool_calls", "tool_call", "function_call", "function", "tool_uses", "calls", "actions", "tools")
EXTRA_KEYS = frozenset({"id", "type", "call_id", "tool_call_id", "index", "thought", "reasoning"})
PREFIX = r"(?:(?:functions|default_api|tools|call)[.:])?"
NAME = r"[\w.:-]{1,128}"
FENCE_LANGUAGES = frozenset(
    {
        "",
        "json",
        "json5",
        "jsonc",
        "xml",
        "text",
        "tool",
        "tools",
        "tool_code",
        "tool_call",
        "tool_calls",
        "tool-call",
        "tool_use",
        "function",
        "function_call",
    }
)
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


class _ReadCalls(NamedTuple):
    """Calls that were read from the text, and the position after them."""

    calls: tuple[FoundCall, ...]
    end: int


class _ReadObject(NamedTuple):
    """A JSON object that was read from the text, and the position after it."""

    value: dict[str, Any]
    end: int


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
DEEPSEEK = re.compile(
    rf"<[|｜]tool[▁_]call[▁_]begin[|｜]>(?:function<[|｜]tool[▁_]sep[|｜]>)?{PREFIX}(?P<name>{NAME})"
    r"(?:<[|｜]tool[▁_]sep[|｜]>)?\s*(?:```(?:json)?\s*)?(?={)"
)
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
SURPLUS_BRACES = re.compile(r"[ \t]*\}*")  # small models close more braces than they opened
CALL_START = re.compile(rf"{PREFIX}(?P<name>[A-Za-z_]\w*)(?:\.call)?\(\s*")
KEYWORD = re.compile(r"(?P<key>[A-Za-z_]\w*)\s*=\s*")
CLOSING_TAG = re.compile(r"\s*</(?:[|｜]DSML[|｜])?[\w:]*(?:function|invoke|tool_call)>")
FENCE_LINE = re.compile(r"\s*```\w*[ \t]*\n")
# Notations in which a name in the format of a model is followed by a JSON object, each with a name for the user.
NAMED_NOTATIONS = (
    (DEEPSEEK, "DeepSeek format"),
    (KIMI, "Kimi format"),
    (HARMONY, "Harmony format"),
    (REACT, "Action and Action Input"),
)
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
        # A string in the arguments may contain a line that looks like the closing fence, so parse the calls first.
        content = self._fence_content(match) if len(marks) == 3 else None
        if content:
            if content.end >= content_end:  # the end markers of the call include the closing fence
                end = max(content.end, block_end)
                return FoundBlock(content.calls, match.start(), end, content.shape), end
            closing_match = closing_pattern.search(self._text, content.end)
            rest = self._text[content.end : closing_match.start() if closing_match else len(self._text)]
            if not rest.strip():
                end = closing_match.end() if closing_match else len(self._text)
                return FoundBlock(content.calls, match.start(), end, content.shape), end
            if closers := CLOSERS.match(self._text, content.end):
                return FoundBlock(content.calls, match.start(), closers.end(), content.shape), closers.end()
        return None, max(block_end, content_end)

    def _fence_content(self, match: re.Match[str]) -> FoundBlock | None:
        """Read the calls at the beginning of a fenced code block, in a notation that its language allows."""
        language, start = match["info"].lower(), match.end()
        if language in CODE_LANGUAGES:
            read = self._python_calls(start)
        elif language in FENCE_LANGUAGES:
            read = self._consecutive_calls(start, python=language == "tool_code")
        else:
            return None
        if read:
            is_python = language in CODE_LANGUAGES or language == "tool_code"
            return FoundBlock(read.calls, start, read.end, "code block" if is_python else "fenced JSON")
        return self._marked_block(self._skip_space(start))

    def _marked_block(self, position: int) -> FoundBlock | None:
        """Read calls that begin with a marker at this position, such as `<tool_call>`; None without one."""
        text = self._text
        if match := TAGGED.match(text, position) or DSML.match(text, position):
            return self._tagged_block(match)
        for pattern, shape in NAMED_NOTATIONS:
            if (match := pattern.match(text, position)) and (arguments := self._json_object(match.end())):
                return self._block((FoundCall(match["name"], arguments.value),), position, arguments.end, shape)
        if match := MARKER.match(text, position):
            _, shape = next(marker for index, marker in enumerate(MARKERS) if match[f"m{index}"] is not None)
            fence = FENCE_LINE.match(text, match.end())
            start = fence.end() if fence else match.end()
            if read := self._consecutive_calls(start, python=True, allow_names=True):
                return self._block(read.calls, position, read.end, shape)
        return None

    def _bare_block(self, match: re.Match[str]) -> FoundBlock | None:
        """Read calls without markers: JSON that fills whole lines, or Python-like calls at the end of the reply."""
        if match["bare"] is None and match["python"] is None:
            return None
        start, text = match.end(), self._text
        if read := self._json_calls(start):
            block = self._block(read.calls, match.start(), read.end, "JSON")
            rest_of_line = text[block.end :].split("\n", 1)[0]
            if not rest_of_line.strip():
                return block
        if (read := self._python_calls(start)) and not text[read.end :].strip():
            return FoundBlock(read.calls, match.start(), read.end, "Python-like call")
        return None

    def _block(self, calls: tuple[FoundCall, ...], start: int, end: int, shape: str) -> FoundBlock:
        """Return a block that includes the end markers that follow the calls."""
        closers = CLOSERS.match(self._text, end)
        return FoundBlock(calls, start, closers.end() if closers else end, shape)

    def _consecutive_calls(
        self, position: int, *, python: bool = False, allow_names: bool = False
    ) -> _ReadCalls | None:
        """Read consecutive calls in any of the allowed notations."""
        calls: tuple[FoundCall, ...] = ()
        while True:
            start = self._skip_separators(position)
            read = self._json_calls(start, allow_names=allow_names)
            if not read and python:
                read = self._python_calls(start)
            if not read and allow_names:
                read = self._named_call(start)
            if not read:
                return _ReadCalls(calls, position) if calls else None
            calls += read.calls
            position = read.end

    def _json_calls(self, position: int, *, allow_names: bool = False) -> _ReadCalls | None:
        if self._text[position : position + 1] not in ("{", "["):
            return None
        try:
            value, end = read_json(self._text, position, END_MARK)
        except ValueError:
            return None
        calls = calls_in(value, self._names if allow_names else frozenset())
        if not calls:
            return None
        surplus = SURPLUS_BRACES.match(self._text, end)
        return _ReadCalls(tuple(calls), surplus.end() if surplus else end)

    def _skip_space(self, position: int) -> int:
        return LenientReader(self._text).skip_space(position)

    def _skip_separators(self, position: int) -> int:
        separators = SEPARATORS.match(self._text, position)
        return separators.end() if separators else position

    def _json_object(self, position: int) -> _ReadObject | None:
        try:
            value, end = read_json(self._text, position)
        except ValueError:
            return None
        return _ReadObject(value, end) if isinstance(value, dict) else None

    def _named_call(self, position: int) -> _ReadCalls | None:
        """Read a tool name followed by JSON or by tags with keys and values, or a call in tags inside other tags."""
        if match := TAGGED.match(self._text, position) or DSML.match(self._text, position):
            block = self._tagged_block(match)
            return _ReadCalls(block.calls, block.end) if block else None
        if (match := NAMED_JSON.match(self._text, position)) and (arguments := self._json_object(match.end())):
            return _ReadCalls((FoundCall(match["name"], arguments.value),), arguments.end)
        if match := GLM.match(self._text, position):
            return self._glm_call(match)
        return None

    def _glm_call(self, match: re.Match[str]) -> _ReadCalls | None:
        """Read a tool name followed by pairs of `<arg_key>` and `<arg_value>`, as GLM writes it."""
        arguments: dict[str, Any] = {}
        end = match.end()
        while pair := GLM_PAIR.match(self._text, end):
            arguments[pair["key"].strip()] = pair["value"]
            end = pair.end()
        if not self._text.startswith("</tool_call>", end):
            return None
        return _ReadCalls((FoundCall(match["name"], arguments, plain=True),), end + len("</tool_call>"))

    def _tagged_block(self, match: re.Match[str]) -> FoundBlock | None:
        """Read `<function=NAME>` or `<invoke name="NAME">` with its parameters in tags or as JSON."""
        start, end = match.start(), match.end()
        json_start = self._skip_space(end)
        if self._text.startswith("{", json_start):
            json_arguments = self._json_object(json_start)
            if json_arguments is None:
                return None
            call = FoundCall(match["name"], json_arguments.value)
            return self._block((call,), start, json_arguments.end, "function tags")
        arguments: dict[str, Any] = {}
        while parameter := PARAMETER.match(self._text, end):
            value_end = self._text.find(f"</{parameter['tag']}>", parameter.end())
            if value_end < 0 or parameter["key"] in arguments:
                return None
            value = self._text[parameter.end() : value_end]
            arguments[parameter["key"]] = value.removeprefix("\n").removesuffix("\n")
            end = value_end + len(f"</{parameter['tag']}>")
        closing_match = CLOSING_TAG.match(self._text, end)
        if closing_match is None:
            return None
        call = FoundCall(match["name"], arguments, plain=True)
        return self._block((call,), start, closing_match.end(), "function tags")

    def _python_calls(self, position: int) -> _ReadCalls | None:
        """Read one or more calls `name(key=value, …)`, or a list of them. Values are literals."""
        is_list = self._text.startswith("[", position)
        if is_list:
            position += 1
        calls: tuple[FoundCall, ...] = ()
        while read := self._printed_or_plain_call(self._skip_separators(position)):
            calls += read.calls
            position = read.end
        if is_list:
            end = self._skip_space(position)
            if not self._text.startswith("]", end):
                return None
            position = end + 1
        return _ReadCalls(calls, position) if calls else None

    def _printed_or_plain_call(self, position: int) -> _ReadCalls | None:
        """Read one Python-like call, also as the argument of `print`."""
        is_printed = self._text.startswith("print(", position)
        try:
            read = self._python_call(position + len("print(") if is_printed else position)
        except ValueError:
            return None
        if not is_printed:
            return read
        return read._replace(end=read.end + 1) if self._text.startswith(")", read.end) else None

    def _python_call(self, position: int) -> _ReadCalls:
        """Read one call; raise ValueError if there is none of an offered tool at this position."""
        reader = LenientReader(self._text)
        match = CALL_START.match(self._text, position)
        if not match or match["name"] not in self._names:
            raise ValueError("no call of an offered tool")
        arguments: dict[str, Any] = {}
        position = match.end()
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
        return _ReadCalls((FoundCall(match["name"], arguments),), position + 1)


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
