"""The command `usage`: prints tokens, cost and time by day, model or folder."""

from datetime import timedelta

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE
from core.domain.clock import SECOND, now
from core.domain.memory import DAY
from core.timeline.usage_totals import UsageTotals, group_usage, sum_usage, usage_csv


async def usage(context: Invocation) -> int:
    typed, out = context.args, context.out
    at = now()
    since = max(0, at - int(timedelta(days=typed.days).total_seconds()) * SECOND) if typed.days else 0
    rows = await context.engine.model_usage(since, at + DAY if typed.days else 0)
    if typed.csv:
        out.write(usage_csv(rows).rstrip("\n"))
        return DONE
    sums = group_usage(rows, typed.by)
    if typed.json:
        for one in sums:
            out.write_json({typed.by: one.name, **_plain(one)})
        return DONE
    if not rows:
        out.write("No usage.")
        return DONE
    wide = max(len(one.name) for one in sums)
    for one in (*sums, sum_usage(rows, "all")):
        out.write(
            f"{one.name:{wide}}  {one.replies:6} replies  {one.tokens:>12,} tokens  {_cost(one):>22}  {_time(one)}"
        )
    return DONE


def _plain(one: UsageTotals) -> dict[str, object]:
    """Return the sums as JSON. An unknown cost is null, so that it is not mistaken for 0."""
    plain = {name: value for name, value in one._asdict().items() if name not in {"name", "time"}}
    return plain | {"cost": one.cost if one.priced else None, "seconds": one.time / SECOND}


def _cost(one: UsageTotals) -> str:
    if not one.priced:
        return "cost unknown"
    return f"${one.cost:.4f}" + (" + unknown" if one.unpriced else "")


def _time(one: UsageTotals) -> str:
    return f"{one.time / SECOND:.0f} s"
