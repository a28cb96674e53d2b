"""Tool calls of other agents, under the names these give their tools, and how the timeline shows them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from core.domain.steps import first_line

STEP_KINDS: Mapping[str, str] = MappingProxyType(
    {
        name: kind
        for kind, names in {
            "command": "bash shell exec exec_command run run_command command execute_bash terminal local_shell cmd "
            "unified_exec write_stdin shell_command python ipython execute_ipython_cell bash_session container.exec "
            "execute execute_command developer__shell",
            "read": "read read_file readfile view cat open open_file notebookread view_image",
            "write": "write write_file write_to_file writefile create create_file file_write",
            "edit": "edit edit_file multiedit str_replace str_replace_editor str_replace_based_edit_tool apply_patch "
            "patch notebookedit file_edit file_editor text_editor apply_diff replace_in_file strreplacefile strreplace "
            "applypatch insert_content search_and_replace developer__text_editor",
            "find": "glob list ls find list_dir list_files find_file",
            "search": "grep search search_file search_files search_dir codesearch codebase_search",
            "fetch": "webfetch fetch websearch web_search web_fetch browse browser fetch_url fetchurl searchweb",
            "delegate": "task agent delegate spawn_agent new_task delegate_task",
            "todo": "todowrite todo update_plan task_tracker todoread plan settodolist update_todo_list todo_write",
            "decision": "think decide",
            "question": "",
        }.items()
        for name in names.split()
    }
)
# The arguments of a call that the timeline shows, the most descriptive first.
OBJECT_ARGUMENTS = (
    "command",
    "cmd",
    "file_path",
    "path",
    "filePath",
    "filename",
    "notebook_path",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
    "code",
    "name",
    "thought",
)


@dataclass(frozen=True, slots=True)
class ForeignCall:
    """A tool call in a transcript. `tool` is the name in the transcript's program; `arguments` is JSON."""

    id: str
    tool: str
    arguments: str = ""


def call_object(call: ForeignCall) -> str:
    """Return the text that the timeline shows for a call: its command or path, or else its first text argument.

    The name of a tool that the timeline does not know precedes the text.
    """
    try:
        arguments = json.loads(call.arguments) if call.arguments else {}
    except (ValueError, RecursionError):
        arguments = call.arguments
    text = _main_argument(arguments)
    if not STEP_KINDS.get(call.tool.lower()):
        text = f"{call.tool}: {text}" if text else call.tool
    return first_line(text)


def _main_argument(arguments: Any) -> str:
    """Return the most descriptive argument of a call as text; empty if there is none."""
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, dict):
        return ""
    argument = next(filter(None, map(arguments.get, OBJECT_ARGUMENTS)), None)
    if argument is None:
        argument = next((value for value in arguments.values() if isinstance(value, str) and value), "")
    return " ".join(map(str, argument)) if isinstance(argument, list) else str(argument)


def plain_text(content: Any) -> str:
    """Return the text of message content, which is a string, a part, or a list of parts. Other parts are left out."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return ""
    parts = (part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, str | dict))
    return "\n".join(part for part in parts if isinstance(part, str) and part)
