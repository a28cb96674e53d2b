"""The command `rate`: stores the user's rating of a run."""

from typing import Literal

from app.commands.invocation import Invocation
from app.commands.run_follower import find_session_id
from app.process.exit_codes import DONE

RATINGS: dict[str, Literal["up", "down", ""]] = {"good": "up", "bad": "down", "none": ""}


async def rate(context: Invocation) -> int:
    typed = context.args
    session = find_session_id(context.engine, typed.session)
    rating = RATINGS[typed.rating]
    run = await context.engine.history.rate(session, rating, run=typed.run, note=typed.note, tags=tuple(typed.tag))
    context.out.write(f"Rated run {run} of {session}: {typed.rating}.")
    return DONE
