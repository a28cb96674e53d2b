"""`usage`: tokens, cost and time by day, model or folder."""

from datetime import timedelta

from app.commands.context import Context
from app.commands.exits import DONE
from core.domain.clock import SECOND, now
from core.timeline.spending import Sum, as_csv, grouped, total


async def usage(context: Context) -> int:
    typed, out = context.typed, context.out
    since = max(0, now() - int(timedelta(days=typed.days).total_seconds()) * SECOND) if typed.days else 0
    rows = await context.engine.used(since)
    if typed.csv:
        out.write(as_csv(rows).rstrip("\n"))
        return DONE
    sums = grouped(rows, typed.by)
    if typed.json:
        for one in sums:
            out.json({typed.by: one.name, **_plain(one)})
        return DONE
    if not rows:
        out.write("No model was asked for anything in this time.")
        return DONE
    wide = max(len(one.name) for one in sums)
    for one in (*sums, total(rows, "all")):
        out.write(
            f"{one.name:{wide}}  {one.replies:6} replies  {one.tokens:>12,} tokens  {_cost(one):>22}  {_time(one)}"
        )
    return DONE


def _plain(one: Sum) -> dict[str, object]:
    """A cost that is not known is null, and so never taken for nothing."""
    plain = {name: value for name, value in one._asdict().items() if name not in {"name", "time"}}
    return plain | {"cost": one.cost if one.priced else None, "seconds": one.time / SECOND}


def _cost(one: Sum) -> str:
    if not one.priced:
        return "cost unknown"
    return f"${one.cost:.4f}" + (" + unknown" if one.unpriced else "")


def _time(one: Sum) -> str:
    return f"{one.time / SECOND:.0f} s"
