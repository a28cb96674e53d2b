"""The command `rate`: stores the user's rating of a run."""

from typing import Literal

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE

RATINGS: dict[str, Literal["up", "down", ""]] = {"good": "up", "bad": "down", "none": ""}


async def rate(context: Invocation) -> int:
    args = context.args
    session = context.session_id()
    rating = RATINGS[args.rating]
    run = await context.engine.history.rate(session, rating, run=args.run, note=args.note, tags=args.tag)
    context.out.write(f"Rated run {run} of {session}: {args.rating}.")
    return DONE
