"""Takes the new text of a file, or the program that writes it, from the code block of a reply.

Small models that were trained on code write a whole file better in a code block than as a JSON string in a call.
"""

import json
import re

from core.models.model import AskedFile, RequestedCall

PROGRAM_NOTE = "The program in the reply was run, because it writes the file that your message asks for."
NOTE = "The code block in the reply was taken as the new text of the file, as it was asked for."
MIN_SHARE = 0.6  # share of the file's non-empty lines; a block with fewer lines is taken for an excerpt
# The name of a function or class that is not inside of another one, in the most common languages.
_DEFINITION = re.compile(
    r"^(?:export |default |async |pub |public |static )*(?:class|def|fn|func|function|interface|struct) (\w+)",
    re.MULTILINE,
)
_BLOCK = re.compile(r"^```(?P<language>[\w+#.-]*)[ \t]*\n(?P<text>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_PYTHON = frozenset({"python", "py", "python3"})
_WRITES = re.compile(r"""\bopen\([^()\n]*,\s*(?:mode=)?["'][wax]|\.write_text\(""")
SHELL_LANGUAGES = frozenset({"sh", "bash", "shell"})
# Blocks in these languages are not the text of a file: they show commands, changes or calls.
_OTHER_LANGUAGES = SHELL_LANGUAGES | {"console", "diff", "json"}


def write_call(reply: str, asked: AskedFile, *, may_remove: bool) -> RequestedCall | None:
    """Return a call that writes the code block of a reply to the file; None unless there is exactly one whole block.

    The same block given twice counts as one, because small models repeat themselves. A block that lacks a function or
    class of the file is not whole, unless the task `may_remove` some.
    """
    excluded = _OTHER_LANGUAGES - SHELL_LANGUAGES if is_shell_script(asked.path) else _OTHER_LANGUAGES
    if asked.path.endswith(".json"):
        excluded -= {"json"}
    texts = [block["text"] for block in _BLOCK.finditer(reply) if block["language"].lower() not in excluded]
    if len(set(texts)) != 1 or reply.count("\n```") > 2 * len(texts):
        return None
    text = texts[0]
    if not text.strip() or _lines(text) < MIN_SHARE * _lines(asked.text):
        return None
    if asked.path.endswith(".json") and not _is_json(text):
        return None
    if not may_remove and not _definitions(asked.text) <= _definitions(text):
        return None
    return RequestedCall("write", json.dumps({"path": asked.path, "content": text}, ensure_ascii=False))


def program_call(reply: str, missing: str) -> RequestedCall | None:
    """Return a call that runs the Python program in a reply, if it is the only code and writes the `missing` file."""
    blocks = list(_BLOCK.finditer(reply))
    if len(blocks) != 1 or blocks[0]["language"].lower() not in _PYTHON or not missing or missing.endswith(".py"):
        return None
    program = blocks[0]["text"]
    if not re.search(rf"""["']{re.escape(missing)}["']""", program) or not _WRITES.search(program):
        return None
    command = f"python3 - <<'END_OF_PROGRAM'\n{program}END_OF_PROGRAM"
    return RequestedCall("run", json.dumps({"command": command}, ensure_ascii=False))


def is_shell_script(path: str) -> bool:
    """Return whether a file is a shell script, so that a block of commands may be its text."""
    return path.endswith((".sh", ".bash"))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _definitions(text: str) -> set[str]:
    return set(_DEFINITION.findall(text))


def _lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())
