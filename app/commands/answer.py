"""The commands `pending`, `answer`, `approve`, `deny` and `stop`."""

import dataclasses

from app.commands.invocation import Invocation
from app.commands.permission_requests import approval, print_request, request_json
from app.commands.run_follower import answer_of, find_session_id, print_question
from app.process.exit_codes import DONE
from app.process.output import iso_time
from core.domain.permissions import PendingPermissionRequest
from core.domain.problems import Problem
from core.domain.question import Answer, Question


async def pending(context: Invocation) -> int:
    asked, requested = list(context.engine.open_questions()), list(context.engine.permission_requests())
    for row, question in asked:
        if context.args.json:
            head = {"kind": "question", "session": row.id, "title": row.title}
            context.out.write_json(head | dataclasses.asdict(question) | {"asked_at": iso_time(question.asked_at)})
        else:
            name = f"{row.subagent}: " if row.subagent else ""
            context.out.write(f"{row.id}  {name}{row.title}")
            print_question(context, question)
    for row, waiting in requested:
        if context.args.json:
            context.out.write_json(request_json(row, waiting))
        else:
            context.out.write(f"{row.id}  {row.title}")
            print_request(context.out, waiting)
    if not asked and not requested and not context.args.json:
        context.out.write("No pending questions or permission requests.")
    return DONE


async def answer(context: Invocation) -> int:
    typed, engine = context.args, context.engine
    if _requested(context, typed.question):
        do = f"Decide it: journeyman approve {typed.question}, or: journeyman deny {typed.question}"
        raise Problem(f"{typed.question} is a permission request, not a question.", "", do)
    asked = [question for _, question in engine.open_questions() if question.id == typed.question]
    given = _answer(asked[0], typed.text, typed.option, typed.decline) if asked else Answer(text=typed.text)
    return _tell_next(context, await engine.answer(typed.question, given), "Answered")


async def approve(context: Invocation) -> int:
    typed, engine = context.args, context.engine
    waiting = _request(context)
    option, scope, patterns = approval(waiting.request, typed.scope, typed.option)
    if option:
        session = await engine.choose_option(typed.request, option)
    else:
        session = await engine.allow(typed.request, scope, patterns, include_similar=typed.similar)
    return _tell_next(context, session, "Approved")


async def deny(context: Invocation) -> int:
    _request(context)
    typed = context.args
    session = await context.engine.deny(typed.request, typed.reason, include_similar=typed.similar)
    return _tell_next(context, session, "Denied")


async def stop(context: Invocation) -> int:
    session = find_session_id(context.engine, context.args.session)
    await context.engine.stop(session)
    context.out.write("Stopped.")
    return DONE


def _answer(question: Question, text: str, option: int, decline: str | None) -> Answer:
    if decline is not None:
        return Answer(text=decline, declined=True)
    labels = ", ".join(each.label for each in question.options)
    if option:
        if not 1 <= option <= len(question.options):
            do = f"Choose from 1 to {len(question.options)}: {labels}." if labels else "Answer with TEXT."
            raise Problem(f"There is no option {option}.", "", do)
        return Answer(option=question.options[option - 1].label)
    given = answer_of(question, text)
    if given.text and not question.free_text and not question.sub_questions:
        raise Problem("This question takes one of its options.", f"They are: {labels}.", "Choose one with --option N.")
    return given


def _requested(context: Invocation, name: str) -> list[PendingPermissionRequest]:
    return [each for _, each in context.engine.permission_requests() if each.request.id == name]


def _request(context: Invocation) -> PendingPermissionRequest:
    """Return the permission request that the command names."""
    name = context.args.request
    if found := _requested(context, name):
        return found[0]
    if any(question.id == name for _, question in context.engine.open_questions()):
        do = f"Answer it: journeyman answer {name} TEXT"
        raise Problem(f"{name} is a question, not a permission request.", "", do)
    why = "It was decided already, or its run has ended."
    raise Problem(f"The permission request {name} is not open.", why, "List the open ones with `journeyman pending`.")


def _tell_next(context: Invocation, session: str, did: str) -> int:
    if context.engine.is_active(session):
        context.out.write(f"{did}. The run continues.")
    else:
        context.out.write(f"{did}. Continue with: journeyman resume {context.engine.root_session(session)}")
    return DONE
