"""Tool calls as models write them, shared by the tests and by `tests.bench.recognition`."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

PATH = {"path": "src/a.py"}
CONTENT = 'def f(x):\n    return {"x": [x, "}"], \'y\': ")"}  # ü ```\n'
READ = json.dumps({"name": "read", "arguments": PATH})
WRITE = json.dumps({"name": "write", "arguments": {"path": "a.py", "content": CONTENT}})

# Shape → reply text, the calls in it. Where the shape allows it, the content has braces, quotes and fences.
SHAPES: Mapping[str, tuple[str, tuple[tuple[str, Mapping[str, Any]], ...]]] = {
    "fenced JSON": (f"```json\n{READ}\n```", (("read", PATH),)),
    "fenced JSON with code": (f"```json\n{WRITE}\n```", (("write", {"path": "a.py", "content": CONTENT}),)),
    "fenced JSON on several lines": (
        f"```json\n{json.dumps(json.loads(WRITE), indent=2)}\n```",
        (("write", {"path": "a.py", "content": CONTENT}),),
    ),
    "fence without a language": (f"```\n{READ}\n```", (("read", PATH),)),
    "tilde fence": (f"~~~json\n{READ}\n~~~", (("read", PATH),)),
    "two fences": (
        f"```json\n{READ}\n```\n\n```json\n{WRITE}\n```",
        (("read", PATH), ("write", {"path": "a.py", "content": CONTENT})),
    ),
    "two calls in a fence": (f"```json\n{READ}\n{READ}\n```", (("read", PATH), ("read", PATH))),
    "list in a fence": (f"```json\n[{READ}, {READ}]\n```", (("read", PATH), ("read", PATH))),
    "parameters": ('```json\n{"name": "read", "parameters": {"path": "src/a.py"}}\n```', (("read", PATH),)),
    "input": ('```json\n{"tool": "read", "input": {"path": "src/a.py"}}\n```', (("read", PATH),)),
    "tool_name": ('{"tool_name": "read", "args": {"path": "src/a.py"}}', (("read", PATH),)),
    "function": ('{"function": "read", "arguments": {"path": "src/a.py"}}', (("read", PATH),)),
    "OpenAI": (
        '{"tool_calls": [{"id": "c1", "type": "function", "function": '
        '{"name": "read", "arguments": "{\\"path\\": \\"src/a.py\\"}"}}]}',
        (("read", PATH),),
    ),
    "OpenAI, one call": (
        '{"type": "function", "function": {"name": "read", "arguments": {"path": "src/a.py"}}}',
        (("read", PATH),),
    ),
    "arguments beside the name": ('```json\n{"tool": "read", "path": "src/a.py"}\n```', (("read", PATH),)),
    "bare JSON": (READ, (("read", PATH),)),
    "bare JSON lines": (f"{READ}\n{READ}", (("read", PATH), ("read", PATH))),
    "trailing commas": ('```json\n{"name": "read", "arguments": {"path": "src/a.py",},}\n```', (("read", PATH),)),
    "single quotes": ("```json\n{'name': 'read', 'arguments': {'path': 'src/a.py'}}\n```", (("read", PATH),)),
    "line breaks in a string": (
        '```json\n{"name": "write", "arguments": {"path": "a.py", "content": "a\nb\n"}}\n```',
        (("write", {"path": "a.py", "content": "a\nb\n"}),),
    ),
    "a brace too few": ('```json\n{"name": "read", "arguments": {"path": "src/a.py"}\n```', (("read", PATH),)),
    "Hermes": (f"<tool_call>\n{READ}\n</tool_call>", (("read", PATH),)),
    "Hermes twice": (f"<tool_call>\n{READ}\n</tool_call>\n<tool_call>\n{WRITE}\n</tool_call>",
                     (("read", PATH), ("write", {"path": "a.py", "content": CONTENT}))),
    "tools tags": (f"<tools>\n{READ}\n</tools>", (("read", PATH),)),
    "function tags": (f"<function>{READ}</function>", (("read", PATH),)),
    "Hunyuan": (f"<tool_calls>[{READ}]</tool_calls>", (("read", PATH),)),
    "Nemotron": (f"<TOOLCALL>[{READ}]</TOOLCALL>", (("read", PATH),)),
    "Qwen coder": (
        "<tool_call>\n<function=read>\n<parameter=path>\nsrc/a.py\n</parameter>\n<parameter=end>\n5\n</parameter>\n</function>\n</tool_call>",
        (("read", {"path": "src/a.py", "end": 5}),),
    ),
    "Llama function": ('<function=read>{"path": "src/a.py"}</function>', (("read", PATH),)),
    "MiniMax": (
        '<minimax:tool_call>\n<invoke name="write">\n<parameter name="path">a.py</parameter>\n'
        '<parameter name="content">x = "1"\ny = {}\n</parameter>\n</invoke>\n</minimax:tool_call>',
        (("write", {"path": "a.py", "content": 'x = "1"\ny = {}'}),),
    ),
    "Anthropic": (
        '<function_calls>\n<invoke name="read">\n<parameter name="path">src/a.py</parameter>\n</invoke>\n'
        "</function_calls>",
        (("read", PATH),),
    ),
    "Mistral": (f"[TOOL_CALLS][{READ}]", (("read", PATH),)),
    "Mistral with a name": ('[TOOL_CALLS]read{"path": "src/a.py"}', (("read", PATH),)),
    "Mistral with markers": (
        '[TOOL_CALLS]read[ARGS]{"path": "src/a.py"}[TOOL_CALLS]read[CALL_ID]a1b2c3d4e[ARGS]{"path": "src/a.py"}',
        (("read", PATH), ("read", PATH)),
    ),
    "Llama": ('<|python_tag|>{"name": "read", "parameters": {"path": "src/a.py"}}<|eom_id|>', (("read", PATH),)),
    "Llama call": ('<|python_tag|>read.call(path="src/a.py")', (("read", PATH),)),
    "DeepSeek V3": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n"
        '{"path": "src/a.py"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        (("read", PATH),),
    ),
    "DeepSeek V3.1": (
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{"path": "src/a.py"}'
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        (("read", PATH),),
    ),
    "DeepSeek V3.2": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read">\n<｜DSML｜parameter name="path" string="true">src/a.py'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        (("read", PATH),),
    ),
    "Kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>"
        '{"path": "src/a.py"}<|tool_call_end|><|tool_calls_section_end|>',
        (("read", PATH),),
    ),
    "GLM": (
        "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>src/a.py</arg_value>\n<arg_key>end</arg_key>\n"
        "<arg_value>5</arg_value>\n</tool_call>",
        (("read", {"path": "src/a.py", "end": 5}),),
    ),
    "Gemma code": ('```tool_code\nread(path="src/a.py")\n```', (("read", PATH),)),
    "Gemma printed": ('```tool_code\nprint(default_api.read(path="src/a.py"))\n```', (("read", PATH),)),
    "Gemma tokens": ("<|tool_call>call:read{path:<|\"|>src/a.py<|\"|>}<tool_call|>", (("read", PATH),)),
    "FunctionGemma": (
        "<start_function_call>call:read{path:<escape>src/a.py<escape>}<end_function_call>",
        (("read", PATH),),
    ),
    "Python-like": ('read(path="src/a.py", end=5)', (("read", {"path": "src/a.py", "end": 5}),)),
    "Python-like, triple quotes": (
        'write(path="a.py", content="""x = (1)\nprint("a")\n""")',
        (("write", {"path": "a.py", "content": 'x = (1)\nprint("a")\n'}),),
    ),
    "Python-like list": ('[read(path="src/a.py"), find(pattern="*")]', (("read", PATH), ("find", {"pattern": "*"}))),
    "LFM": ('<|tool_call_start|>[read(path="src/a.py")]<|tool_call_end|>', (("read", PATH),)),
    "ReAct": ('Thought: I need it.\nAction: read\nAction Input: {"path": "src/a.py"}', (("read", PATH),)),
    "LangChain": ('Action:\n```json\n{"action": "read", "action_input": {"path": "src/a.py"}}\n```', (("read", PATH),)),
    "Command": (
        '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "read", '
        '"parameters": {"path": "src/a.py"}}]<|END_ACTION|>',
        (("read", PATH),),
    ),
    "Harmony": (
        '<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path": "src/a.py"}<|call|>',
        (("read", PATH),),
    ),
    "Phi": (f"functools[{READ}]", (("read", PATH),)),
    "Apertus": ('<|tools_prefix|>[{"read": {"path": "src/a.py"}}]<|tools_suffix|>', (("read", PATH),)),
    "after thoughts": (f"<think>\nShould I call write(path='x')? {WRITE}\n</think>\n\n{READ}", (("read", PATH),)),
    "tags in a fence": (f"```xml\n<tool_call>\n{READ}\n</tool_call>\n```", (("read", PATH),)),
}  # fmt: skip
PROSE = (
    ("", ""),
    ("I will look at the file first.\n\n", ""),
    ("To fix this bug, we need to look at the file.\n\n", "\n\nThis will show what is wrong with the code."),
    ("Sure! Here is the call:\n", "\n\nAfter that, I will fix the bug and run the tests."),
)
ENDS_THE_REPLY = frozenset({"Python-like", "Python-like, triple quotes", "Python-like list"})
WORK, QUESTION = "Fix the bug in src/a.py.", "What is wrong here?"


def replies() -> Iterator[tuple[str, str, tuple[tuple[str, Mapping[str, Any]], ...]]]:
    """Yield every shape with every prose that it allows: name, reply, expected calls."""
    for name, (text, calls) in SHAPES.items():
        for number, (before, after) in enumerate(PROSE):
            if not (after and name in ENDS_THE_REPLY):
                yield f"{name} {number}", f"{before}{text}{after}", calls
