"""`answer`, `questions` and `stop`."""

import dataclasses

from app.commands.consenting import consent_json, decide, tell_consent
from app.commands.context import Context
from app.commands.exits import DONE
from app.commands.follow import chosen, session_named, tell_question
from app.output import moment
from core.domain.problems import Problem
from core.domain.question import Answer, Question


async def answer(context: Context) -> int:
    typed, engine = context.typed, context.engine
    if bool(typed.text) + bool(typed.option) + (typed.decline is not None) != 1:
        raise Problem("Give one answer.", "", "Type a text, --option N, or --decline.")
    waiting = [each for _, each in engine.consents() if each.request.id == typed.question]
    asked = [question for _, question in engine.questions() if question.id == typed.question]
    if waiting:
        session = await decide(context, waiting[0])
    else:
        given = _answer(asked[0], typed) if asked else Answer(text=typed.text)
        session = await engine.answer(typed.question, given)
    if engine.going(session):
        context.out.write("Answered. The run goes on.")
    else:
        context.out.write(f"Answered. Go on with: journeyman resume {engine.root(session)}")
    return DONE


def _answer(question: Question, typed: object) -> Answer:
    if getattr(typed, "decline", None) is not None:
        return Answer(text=getattr(typed, "decline", ""), declined=True)
    number: int = getattr(typed, "option", 0)
    if number:
        if not 1 <= number <= len(question.options):
            raise Problem(f"There is no option {number}.", f"The question has {len(question.options)}.", "")
        return Answer(option=question.options[number - 1].label)
    given = chosen(question, getattr(typed, "text", ""))
    if given.text and not question.free_text and not question.parts:
        labels = ", ".join(option.label for option in question.options)
        raise Problem("This question takes one of its options.", f"They are: {labels}.", "Choose one with --option N.")
    return given


async def questions(context: Context) -> int:
    for row, question in context.engine.questions():
        if context.typed.json:
            plain = dataclasses.asdict(question)
            told = {"kind": "question", "session": row.id, "title": row.title, **plain}
            context.out.json(told | {"asked": moment(question.asked)})
        else:
            name = f"{row.called}: " if row.called else ""
            context.out.write(f"{row.id}  {name}{row.title}")
            tell_question(context, question)
    for row, waiting in context.engine.consents():
        if context.typed.json:
            context.out.json(consent_json(row, waiting))
        else:
            context.out.write(f"{row.id}  {row.title}")
            tell_consent(context, waiting)
    return DONE


async def stop(context: Context) -> int:
    session = session_named(context.engine, context.typed.session)
    await context.engine.stop(session)
    context.out.write("Stopped.")
    return DONE
