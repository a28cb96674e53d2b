"""Nudges: messages to a model that ends its work without having begun or finished it."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from core.domain.events import ExpectedReply
from core.domain.external_agents import is_external_agent
from core.domain.problems import Problem
from core.engine.run.run_context import RunContext
from core.engine.run.task_reminder import code_to_write, existing_file, missing_file, shortened, task_check
from core.engine.run.work_done import (
    check_state,
    has_acted,
    has_asked,
    has_ever_acted,
    has_just_looked,
    is_denied,
    left_over,
)
from core.models.code_block import is_shell_script
from core.models.work_phrases import (
    asks_for_question,
    asks_for_work,
    asks_how,
    claims_work,
    implies_work,
    is_about_folder,
    promises_work,
)
from core.models.written_call_reader import find_written_calls, task_of
from core.tools.argument_check import argument_fault
from core.tools.catalogue import ASK
from core.tools.edit import EDIT
from core.tools.read import READ
from core.tools.run import RUN
from core.tools.write import WRITE

NUDGE_PREFIX = "[Your reply called no tool"
PROMISE_NUDGE = f"{NUDGE_PREFIX}, so nothing happened. {{}} If the task is done, say what you did.]"
IDLE_NUDGE = f"{NUDGE_PREFIX}, and no change has been made for this task. {{}} If no change is needed, say why.]"
EMPTY_NUDGE = (
    f"{NUDGE_PREFIX} and is empty, and your last call changed nothing. The task is: {{0}} Call edit or write.]"
)
LEFT_NUDGE = f"{NUDGE_PREFIX}, but {{0}}. The task is: {{1}} Call edit for that file.]"
CHECK_NUDGE = f"{NUDGE_PREFIX}, and `{{0}}` has not been run since the last change. Call run with this command.]"
FAILED_CHECK_NUDGE = f"{NUDGE_PREFIX}, but `{{0}}` still fails. {{1}}]"
CODE_TEXT = "Give the whole new text of {} in one code block."
WHOLE_NUDGE = f"{NUDGE_PREFIX}, and no change has been made for this task. {CODE_TEXT}]"
PART_NUDGE = f"{NUDGE_PREFIX}, and its code is not a whole file. {CODE_TEXT}]"
REWRITE = "Call write with the whole corrected text of the file."
CORRECT = "Call edit or write to correct the file."
SHORT_BYTES = 1_500  # a small model rewrites files up to this size more reliably than it edits them
CODE_NUDGE = f"{NUDGE_PREFIX}: code in a reply changes no file. Call write with the whole new text of the file.]"
LOOK_NUDGE = (
    f"{NUDGE_PREFIX}, and you have not looked into any file. The task is: {{}} Call run or read first, then answer.]"
)
QUESTION_NUDGE = (
    f"{NUDGE_PREFIX}, and you have not asked the user. The task tells you to. Call ask_user with the question.]"
)
COMMAND_NUDGE = f"{NUDGE_PREFIX}: a command in a reply is not run. Call run with it.]"
MISSING_NUDGE = f"{NUDGE_PREFIX}, and {{0}} does not exist. The task asks for it. Create it now: call write or run.]"
NEXT_CALL = "Only tool calls have an effect. Your next reply must call one of these tools: {}."
_COMMAND_BLOCK = re.compile(r"^```(?:sh|bash|shell)\n(?:.*\n)+?```", re.MULTILINE)
_CODE_BLOCK = re.compile(r"^```(?!sh\b|bash\b|shell\b|console\b|text\b|diff\b)\w+\n(?:.*\n){2,}?```", re.MULTILINE)
_OFFER = re.compile(r"\byou (?:can|could|may|need to|should) (?:now )?(?:use|run|execute)\b", re.IGNORECASE)
MAX_NUDGES = 4  # for each user message, to a small model; other models get one
MAX_CHECKS = 2  # how often the same nudge about a check command may be sent


class Nudge(NamedTuple):
    """A message (`text`) to a model that stopped too early, with its reason as shown to the user.

    `expected` is the reply that the message asks for; by default, a call of any tool.
    """

    text: str
    reason: str
    expected: ExpectedReply = ExpectedReply("call")


class _Correction(NamedTuple):
    """The instruction to rewrite or edit a file, and the reply that it asks for."""

    instruction: str
    expected: ExpectedReply


def due_nudge(run: RunContext) -> Nudge | None:
    """Return the nudge to send after a reply without tool calls, or None if the run may end.

    A model gets one nudge for each user message: if its call written as text is invalid, if it only announces work, or
    if it did nothing although the task asks for work. A small model gets up to MAX_NUDGES, and also for code shown
    instead of written, a required question not asked, a required file that is missing, and a check not run.
    """
    conversation = run.conversation
    since = conversation.task_seq
    nudges = [
        message.text.head
        for message in conversation.messages
        if message.seq > since and message.expected_reply and message.expected_reply.kind != "schema"
    ]
    max_nudges = MAX_NUDGES if run.has_compact_prompt else 1
    if len(nudges) >= max_nudges or not _can_be_nudged(run):
        return None
    return _LastReply(run, since).choose_nudge(nudges)


def _can_be_nudged(run: RunContext) -> bool:
    """Return whether a message that asks for a tool call could help the model to go on with its task."""
    conversation = run.conversation
    if is_external_agent(run.model_name):  # External agents have their own tools, which the nudges do not name.
        return False
    if conversation.start and conversation.start.reviewed_session:
        return False
    if conversation.has_new_input or is_denied(conversation):
        return False
    return bool(run.request().tools)


class _LastReply:
    """The reply without tool calls that ended a task. `since` is the sequence number of the user's last message."""

    def __init__(self, run: RunContext, since: int) -> None:
        self._run = run
        self._since = since
        self._conversation = run.conversation
        self._files = run.tool_context.broker
        self._request = run.request()
        self._text = run.last_reply_text()
        self._task = task_of(self._request)
        self._check = task_check(self._conversation, self._task, self._files) if run.has_compact_prompt else ""
        self._has_acted = has_acted(self._conversation, since, self._check)

    def choose_nudge(self, previous: list[str]) -> Nudge | None:
        """Return the first applicable nudge that is not in `previous`; one about a check may be repeated."""
        check: Nudge | None = None
        candidates: list[Nudge] = []
        if self._run.has_compact_prompt:
            check = self._about_check(self._check)
            candidates += self._about_missing_parts()
        if check and previous.count(check.text) < MAX_CHECKS:
            candidates.append(check)
        else:
            candidates += self._about_missing_work()
        return next((nudge for nudge in candidates if nudge.text not in previous or nudge == check), None)

    def _about_missing_work(self) -> Iterator[Nudge]:
        """Yield the nudges that apply because nothing was done, in the order in which to send them."""
        call = NEXT_CALL.format(", ".join(tool.name for tool in self._request.tools))
        code = self._code_to_write() if self._run.has_compact_prompt else ""
        if error := find_written_calls(self._text, self._request, argument_fault).fault:
            text = f"{NUDGE_PREFIX}: the call in your reply is not valid. {error}]"
            yield Nudge(text, f"the call as text is not valid: {error}")
        elif promises_work(self._text):
            yield Nudge(PROMISE_NUDGE.format(call), "the model announced work but called no tool")
        elif code and not self._has_acted:
            reason = "the model ended without a change, and the task asks for one"
            yield Nudge(WHOLE_NUDGE.format(code), reason, _whole_text(code))
            yield Nudge(IDLE_NUDGE.format(call), reason)
        elif not self._has_acted and self._text and _words(self._text) == _words(self._task):
            yield Nudge(PROMISE_NUDGE.format(call), "the model repeated your message as its reply")
        elif (self._asks_for_work() or missing_file(self._task, self._files)) and not self._has_acted:
            reason = "the model ended without a change or a command, and the task asks for one"
            yield Nudge(IDLE_NUDGE.format(call), reason)
        elif self._run.has_compact_prompt and self._has_not_looked():
            reason = "the model answered without looking into the files that your message is about"
            yield Nudge(LOOK_NUDGE.format(shortened(self._task)), reason, _call(RUN.name, READ.name))
        elif self._run.has_compact_prompt and self._claims_work_falsely():
            reason = "the model reports work as done, and nothing has been changed or run"
            yield Nudge(IDLE_NUDGE.format(call), reason)

    def _claims_work_falsely(self) -> bool:
        return claims_work(self._task, self._text) and not has_ever_acted(self._conversation)

    def _about_missing_parts(self) -> Iterator[Nudge]:
        """Yield the nudges to a small model that did not complete its work, such as code shown but not written."""
        can_ask = any(tool.name == ASK for tool in self._request.tools)
        if can_ask and asks_for_question(self._task) and not has_asked(self._conversation, self._since):
            yield Nudge(QUESTION_NUDGE, "the task asks for a question to you, and there was none", _call(ASK))
        code = self._code_to_write()
        shows_commands = bool(_COMMAND_BLOCK.search(self._text))
        shows_script = shows_commands and is_shell_script(code)
        shows_code = (shows_script or _CODE_BLOCK.search(self._text)) and not self._check_passed
        if shows_code and code:
            reason = "the code in the reply is not the whole text of a file"
            yield Nudge(PART_NUDGE.format(code), reason, _whole_text(code))
        elif shows_code and asks_for_work(self._task):
            reason = "the model showed code in its reply instead of writing it into a file"
            yield Nudge(CODE_NUDGE, reason, _call(WRITE.name))
        is_for_user = shows_script or asks_how(self._task)
        if shows_commands and not is_for_user and (not self._has_acted or _OFFER.search(self._text)):
            yield Nudge(COMMAND_NUDGE, "the model showed a command in its reply instead of running it", _call(RUN.name))
        if missing := missing_file(self._task, self._files):
            expected = ExpectedReply("call", (WRITE.name, RUN.name), missing)
            yield Nudge(MISSING_NUDGE.format(missing), f"the task asks for {missing}, which does not exist", expected)
        if left := left_over(self._conversation, self._task, self._since):
            yield Nudge(LEFT_NUDGE.format(left, shortened(self._task)), left, _call(EDIT.name))
        if asks_for_work(self._task) and not self._text.strip() and has_just_looked(self._conversation):
            text = EMPTY_NUDGE.format(shortened(self._task))
            reason = "the reply is empty after a call that changed nothing"
            yield Nudge(text, reason, _call(EDIT.name, WRITE.name))

    def _about_check(self, command: str) -> Nudge | None:
        """Return the nudge if the check command failed or was not run since the last change of a file, else None.

        `command` is the check that the task names; "" if it names none.
        """
        if not command:
            return None
        state = check_state(self._conversation, command, self._since)
        if state.failed:
            reason = f"{command} fails, and the model has changed nothing since"
            correction = self._how_to_correct(state.last_change)
            return Nudge(FAILED_CHECK_NUDGE.format(command, correction.instruction), reason, correction.expected)
        if state.last_change and not state.passed:
            reason = f"{command} has not been run since the last change"
            return Nudge(CHECK_NUDGE.format(command), reason, _call(RUN.name))
        return None

    def _how_to_correct(self, arguments: str) -> _Correction:
        """Return how to correct the file that the call with these JSON arguments has changed last."""
        if code := self._code_to_write():
            return _Correction(CODE_TEXT.format(code), _whole_text(code))
        with suppress(ValueError, TypeError, KeyError, Problem):
            status = self._files.stat(json.loads(arguments)["path"])
            if status is not None and status.st_size <= SHORT_BYTES:
                return _Correction(REWRITE, _call(WRITE.name))
        return _Correction(CORRECT, _call(EDIT.name, WRITE.name))

    def _asks_for_work(self) -> bool:
        """Return whether the task asks for work; for small models, which a nudge helps, also whether it may."""
        return implies_work(self._task) if self._run.has_compact_prompt else asks_for_work(self._task)

    def _has_not_looked(self) -> bool:
        """Return whether the task is about files in the folder, and no tool has been called in this session."""
        if asks_how(self._task) or any(message.role == "tool" for message in self._conversation.messages):
            return False
        return is_about_folder(self._task) or existing_file(self._task, self._files)

    @property
    def _check_passed(self) -> bool:
        return bool(self._check) and check_state(self._conversation, self._check, self._since).passed

    def _code_to_write(self) -> str:
        return code_to_write(self._conversation, self._task, self._files)


def _call(*tools: str) -> ExpectedReply:
    return ExpectedReply("call", tools)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _whole_text(path: str) -> ExpectedReply:
    return ExpectedReply("file", path=path)
