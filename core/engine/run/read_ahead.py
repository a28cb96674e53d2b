"""Makes calls that are certainly needed without asking the model, for models that get a compact prompt.

Before the first request for a message, the files that the message is about are read. These are the files that it
names, and if it names none that exists, those that contain an identifier or a version that it names. If it names no
file at all, and the folder has only a few short ones, these are read. If it says that tests fail, they are run first,
and the files that they are about are read. After a change, the command that has to succeed is run.

Small models edit files from memory instead of reading them. The calls are recorded like those of a reply, so they take
the same way through permissions, the timeline and a replay, and show the model what a call looks like.
"""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from core.domain.events import READ_AHEAD, Replied, ToolCall
from core.domain.ids import call_id
from core.domain.problems import Problem
from core.domain.text import Text
from core.domain.tiers import ModelChoice
from core.engine.run.context_budget import request_event
from core.engine.run.project_tests import imported_files
from core.engine.run.run_context import RunContext
from core.engine.run.task_reminder import files_to_repair, missing_file, task_check
from core.engine.state.compaction import USER
from core.models.catalog import SCRIPTED
from core.models.work_phrases import check_command, is_test_file, named_files, reports_failing_tests
from core.models.written_call_reader import task_of
from core.timeline.context_item import RESULTS_PREFIX
from core.tools.edit import EDIT
from core.tools.folder_walk import FolderWalk
from core.tools.read import READ
from core.tools.read_before_edit import normalized_path
from core.tools.run import RUN
from core.tools.tool import NOTHING_CHANGED
from core.tools.write import WRITE
from core.workspace.broker import FileBroker

RESULTS_OF_RUN = f"{RESULTS_PREFIX}{RUN.name}"
CHANGES = (f"{RESULTS_PREFIX}{WRITE.name}", f"{RESULTS_PREFIX}{EDIT.name}")
MAX_FILES = 4
MAX_BYTES = 4_000
MAX_DATA_BYTES = 500  # limit for files with DATA_SUFFIXES, which the agent had better search with commands
DATA_SUFFIXES = (".csv", ".jsonl", ".log", ".tsv", ".txt")
MAX_MESSAGE_CHARS = 4_000  # only this much of a user message is searched for file names and identifiers
CHECK_NOTE = "Journeyman ran the command that has to pass according to your message."
TESTS_NOTE = "Journeyman ran the tests that your message is about before it asked the model."
FAILURE_NOTE = "Journeyman read the files that the failure is about."
NOTE = "Journeyman read the files that your message names before it asked the model."
ONLY_FILES_NOTE = "Journeyman read the only files of the folder before it asked the model."
MAX_ONLY_FILES = 3
MIN_WORDS = 4  # a shorter message, such as a greeting, may be about no file at all
MAX_SEARCHED = 500  # number of files searched for the identifiers in a message
_COMMAND = re.compile(r"`[^`\n]*`")
_VERSION = r"(?<![\w.])\d+(?:\.\d+){2,}(?!\w)"
_IDENTIFIER = re.compile(
    rf"{_VERSION}|(?<![\w./-])(?:[A-Za-z]+(?:_\w+)+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)(?![\w./-]*[\w/])"
)


async def read_ahead(run: RunContext, choice: ModelChoice) -> bool:
    """Record calls that read the files that queued user messages are about. Return whether any were recorded."""
    if not _can_call(run, choice, READ.name):
        return False
    context = run.tool_context
    texts = [run.full_text(message.text) for message in run.conversation.queued if message.category == USER]
    known, note = set(run.read_digests), NOTE
    names = await asyncio.to_thread(_files_to_read, texts, context.folder, context.broker, known)
    if not names and not known:
        note = ONLY_FILES_NOTE
        names = await asyncio.to_thread(_only_files, texts, context.folder, context.broker)
    if names:
        await _record_calls(run, choice, READ.name, [{"path": name} for name in names], note)
    return bool(names)


async def run_tests_ahead(run: RunContext, choice: ModelChoice) -> bool:
    """If queued user messages say that tests fail, record a call that runs them. Return whether it was recorded.

    Also if they name a command that fails, but no file outside of it.
    """
    broker = run.tool_context.broker
    task = "\n".join(run.full_text(message.text) for message in run.conversation.queued if message.category == USER)
    names_command = bool(check_command(task))
    if not _can_call(run, choice, RUN.name) or not (names_command or reports_failing_tests(task)):
        return False
    prose = _COMMAND.sub(" ", task[:MAX_MESSAGE_CHARS])
    if names_command and any(_short_text(name, broker) for name in named_files(prose)):
        return False
    command = await asyncio.to_thread(task_check, run.conversation, task, broker)
    if command:
        await _record_calls(run, choice, RUN.name, [{"command": command}], TESTS_NOTE)
    return bool(command)


async def read_failed_files(run: RunContext, choice: ModelChoice) -> bool:
    """If the last call was a failed check, record calls that read the files that the task or its output is about.

    Return whether any were recorded. Tests are left out if there is other code, because their output shows what they
    demand, and a small model confuses the two. Files that the model has already read are not read again.
    """
    messages = run.conversation.messages
    broker = run.tool_context.broker
    if not _can_call(run, choice, READ.name) or run.conversation.queued or not messages:
        return False
    if messages[-1].category != RESULTS_OF_RUN or not messages[-1].failed:
        return False
    task = task_of(run.request())
    named = [normalized_path(name) for name in named_files(task[:MAX_MESSAGE_CHARS])]
    paths = dict.fromkeys((*named, *await asyncio.to_thread(files_to_repair, run.conversation, task, broker)))
    short = [path for path in paths if _short_text(path, broker)]
    wanted = [path for path in short if not is_test_file(path)] or short
    names = [path for path in wanted if path not in run.read_digests][:MAX_FILES]
    if names:
        await _record_calls(run, choice, READ.name, [{"path": name} for name in names], FAILURE_NOTE)
    return bool(names)


async def check_ahead(run: RunContext, choice: ModelChoice) -> bool:
    """If the last call changed a file, record a call that runs the command that has to succeed.

    Return whether a call was recorded.
    """
    messages = run.conversation.messages
    if not _can_call(run, choice, RUN.name) or run.conversation.queued or not messages:
        return False
    last = messages[-1]
    if last.category not in CHANGES or last.failed or last.text.head.endswith(NOTHING_CHANGED):
        return False
    command = task_check(run.conversation, task_of(run.request()), run.tool_context.broker)
    if not command:
        return False
    await _record_calls(run, choice, RUN.name, [{"command": command}], CHECK_NOTE)
    return True


def _can_call(run: RunContext, choice: ModelChoice, tool: str) -> bool:
    start = run.conversation.start
    if start is None or not run.has_compact_prompt or start.reviewed_session or run.is_replay:
        return False
    return choice.model != SCRIPTED and (not run.tools or tool in run.tools)


async def _record_calls(
    run: RunContext, choice: ModelChoice, tool: str, arguments: Sequence[Mapping[str, str]], note: str
) -> None:
    """Record a request and a reply with these calls, as if the model had made them, so that the run executes them."""
    turn = run.conversation.total_turns + 1
    calls = tuple(
        ToolCall(call_id(turn, number), tool, Text(json.dumps(each, ensure_ascii=False)))
        for number, each in enumerate(arguments, 1)
    )
    await run.record(request_event(run, choice), Replied(calls=calls, stop_reason=READ_AHEAD, note=note))


def _files_to_read(texts: Sequence[str], folder: Path, broker: FileBroker, known: set[str]) -> list[str]:
    """Return the paths of up to MAX_FILES short text files that the texts name, without the `known` paths.

    The files that a named test imports are added, because a task about a test is mostly about these. If the texts name
    none and nothing is known, return the files that contain an identifier from the texts.
    """
    texts = [text[:MAX_MESSAGE_CHARS] for text in texts]
    names = dict.fromkeys(normalized_path(name) for text in texts for name in named_files(text))
    named = [name for name in names if _short_text(name, broker)]
    tested = [path for name in named if is_test_file(name) for path in imported_files(name, broker)]
    found = [name for name in dict.fromkeys((*named, *tested)) if name not in known and _short_text(name, broker)]
    identifiers = {match[0].encode() for text in texts for match in _IDENTIFIER.finditer(text)}
    if identifiers and not found and not known:
        contains = re.compile(rb"(?<!\w)(?:%s)(?!\w)" % b"|".join(map(re.escape, sorted(identifiers)))).search
        paths = ("/".join(path) for path in islice(FolderWalk(folder).files(), MAX_SEARCHED))
        found = [path for path in paths if contains(_short_text(path, broker))]
        found = found if len(found) <= MAX_FILES else []  # the identifiers are too common
    return found[:MAX_FILES]


def _only_files(texts: Sequence[str], folder: Path, broker: FileBroker) -> list[str]:
    """Return the paths of all files of the folder, if they are few and short and the texts name no file; else [].

    A file that they ask to create does not count.
    """
    names_file = any(named_files(text) and not missing_file(text, broker) for text in texts)
    if names_file or sum(len(text.split()) for text in texts) < MIN_WORDS:
        return []
    paths = ["/".join(path) for path in islice(FolderWalk(folder).files(), MAX_ONLY_FILES + 1)]
    return paths if len(paths) <= MAX_ONLY_FILES and all(_short_text(path, broker) for path in paths) else []


def _short_text(name: str, broker: FileBroker) -> bytes:
    """Return the contents of a file if it is text and short enough to be read ahead, otherwise b""."""
    try:
        status = broker.stat(name)
        limit = MAX_DATA_BYTES if name.endswith(DATA_SUFFIXES) else MAX_BYTES
        body = broker.read(name, allow_secrets=False) if status and 0 < status.st_size <= limit else b""
    except Problem:  # a folder, a link, a file with secrets, or a path outside the folder
        return b""
    return b"" if b"\0" in body else body
