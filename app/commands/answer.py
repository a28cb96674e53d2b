"""The commands `pending`, `answer`, `approve`, `deny` and `stop`."""

import dataclasses

from app.commands.invocation import Invocation
from app.commands.permission_requests import choose_approval, print_request, request_json
from app.commands.questions import parse_answer, print_question
from app.process.exit_codes import DONE
from app.process.output import iso_time
from core.domain.permissions import PendingPermissionRequest
from core.domain.problems import Problem
from core.domain.question import Answer, Question


async def pending(context: Invocation) -> int:
    questions, requests = list(context.engine.open_questions()), list(context.engine.permission_requests())
    for row, question in questions:
        if context.args.json:
            head = {"kind": "question", "session": row.id, "title": row.title}
            context.out.write_json(head | dataclasses.asdict(question) | {"asked_at": iso_time(question.asked_at)})
        else:
            name = f"{row.subagent}: " if row.subagent else ""
            context.out.write(f"{row.id}  {name}{row.title}")
            print_question(context, question)
    for row, request in requests:
        if context.args.json:
            context.out.write_json(request_json(row, request))
        else:
            context.out.write(f"{row.id}  {row.title}")
            print_request(context.out, request)
    if not questions and not requests and not context.args.json:
        context.out.write("No pending questions or permission requests.")
    return DONE


async def answer(context: Invocation) -> int:
    args, engine = context.args, context.engine
    if _pending_requests(context, args.question):
        fix = f"Decide it: journeyman approve {args.question}, or: journeyman deny {args.question}"
        raise Problem(f"{args.question} is a permission request, not a question.", "", fix)
    matches = [question for _, question in engine.open_questions() if question.id == args.question]
    text = args.text or ""
    reply = _parse_answer(matches[0], text, args.option, args.decline) if matches else Answer(text=text)
    return _print_next_step(context, await engine.answer(args.question, reply), "Answered")


async def approve(context: Invocation) -> int:
    args, engine = context.args, context.engine
    pending_request = _named_request(context)
    if args.change is not None:
        session = await engine.allow_changed(args.request, args.given[0] if args.change == "-" else args.change)
        return _print_next_step(context, session, "Approved with your changes")
    chosen = choose_approval(pending_request.request, args.scope, args.option)
    if chosen.option_id:
        session = await engine.choose_option(args.request, chosen.option_id)
    else:
        session = await engine.allow(args.request, chosen.scope, chosen.patterns, include_similar=args.similar)
    return _print_next_step(context, session, "Approved")


async def deny(context: Invocation) -> int:
    _named_request(context)
    args = context.args
    session = await context.engine.deny(args.request, args.reason, include_similar=args.similar)
    return _print_next_step(context, session, "Denied")


async def stop(context: Invocation) -> int:
    session = context.session_id()
    await context.engine.stop(session)
    context.out.write("Stopped.")
    return DONE


def _parse_answer(question: Question, text: str, option: int, decline: str | None) -> Answer:
    if decline is not None:
        return Answer(text=decline, declined=True)
    labels = ", ".join(choice.label for choice in question.options)
    if option:
        if not 1 <= option <= len(question.options):
            fix = f"Choose from 1 to {len(question.options)}: {labels}." if labels else "Answer with TEXT."
            raise Problem(f"There is no option {option}.", "", fix)
        return Answer(option=question.options[option - 1].label)
    return parse_answer(question, text)


def _pending_requests(context: Invocation, name: str) -> list[PendingPermissionRequest]:
    return [pending for _, pending in context.engine.permission_requests() if pending.request.id == name]


def _named_request(context: Invocation) -> PendingPermissionRequest:
    """Return the open permission request that the command names. Raise Problem if there is none."""
    name = context.args.request
    if matches := _pending_requests(context, name):
        return matches[0]
    if any(question.id == name for _, question in context.engine.open_questions()):
        fix = f"Answer it: journeyman answer {name} TEXT"
        raise Problem(f"{name} is a question, not a permission request.", "", fix)
    cause = "It was decided already, or its run has ended."
    raise Problem(f"The permission request {name} is not open.", cause, "List the open ones with `journeyman pending`.")


def _print_next_step(context: Invocation, session: str, action: str) -> int:
    if context.engine.is_active(session):
        context.out.write(f"{action}. The run continues.")
    else:
        context.out.write(f"{action}. Continue with: journeyman resume {context.engine.root_session(session)}")
    return DONE
