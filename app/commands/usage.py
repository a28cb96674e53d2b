"""The command `usage`: prints tokens, cost and time by day, model, folder or agent profile."""

from collections.abc import Sequence
from datetime import timedelta

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE
from core.domain.clock import SECOND, now
from core.domain.memory import DAY
from core.store.usage import UsageRow
from core.timeline.usage_export import usage_csv, usage_metrics
from core.timeline.usage_totals import UsageTotals, group_usage, sum_usage

DEFAULT_AGENT = "(default)"  # the name that is printed for runs without an agent profile


async def usage(context: Invocation) -> int:
    args, out = context.args, context.out
    rows = await _usage_rows(context)
    if args.csv:
        out.write(usage_csv(rows).rstrip("\n"))
    elif args.prometheus:
        out.write(usage_metrics(rows).rstrip("\n"))
    elif args.json:
        for total in group_usage(rows, args.by):
            out.write_json({args.by: total.name, **_plain(total)})
    elif rows:
        _print_table(context, rows)
    else:
        out.write("No usage.")
    return DONE


async def _usage_rows(context: Invocation) -> Sequence[UsageRow]:
    """Return the usage of the last days that --days names, or of all days."""
    days = context.args.days
    if not days:
        return await context.engine.model_usage(0, 0)
    now_us = now()
    since = max(0, now_us - int(timedelta(days=days).total_seconds()) * SECOND)
    return await context.engine.model_usage(since, now_us + DAY)


def _print_table(context: Invocation, rows: Sequence[UsageRow]) -> None:
    """Print one line for each group, and one for all of them."""
    totals = group_usage(rows, context.args.by)
    if context.args.by == "agent":
        totals = [total if total.name else total._replace(name=DEFAULT_AGENT) for total in totals]
    width = max(len(total.name) for total in totals)
    for total in (*totals, sum_usage(rows, "all")):
        tokens = f"{total.tokens:>12,} tokens" if total.counted else f"{'tokens unknown':>19}"
        replies = f"{total.replies:6} {'reply' if total.replies == 1 else 'replies':7}"
        usage_text = f"{replies}  {tokens}  {_cost(total):>22}  {_time(total)}"
        context.out.write(f"{total.name:{width}}  {usage_text}")


def _plain(total: UsageTotals) -> dict[str, object]:
    """Return the totals as a JSON object. Unknown tokens and costs are null, so that they are not mistaken for 0."""
    plain = {name: value for name, value in total._asdict().items() if name not in {"name", "time"}}
    if not total.counted:
        plain |= dict.fromkeys(("input", "output", "cached"))
    return plain | {"cost": total.cost if total.priced else None, "seconds": total.time / SECOND}


def _cost(total: UsageTotals) -> str:
    if not total.priced:
        return "cost unknown"
    return f"${total.cost:.4f}" + (" + unknown" if total.unpriced else "")


def _time(total: UsageTotals) -> str:
    return f"{total.time / SECOND:.0f} s"
