"""The command `usage`: prints tokens, cost and time by day, model, folder or agent profile."""

from datetime import timedelta

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE
from core.domain.clock import SECOND, now
from core.domain.memory import DAY
from core.timeline.usage_export import usage_csv, usage_metrics
from core.timeline.usage_totals import UsageTotals, group_usage, sum_usage

DEFAULT_AGENT = "(default)"  # the name that is printed for runs without an agent profile


async def usage(context: Invocation) -> int:
    args, out = context.args, context.out
    now_us = now()
    since = max(0, now_us - int(timedelta(days=args.days).total_seconds()) * SECOND) if args.days else 0
    rows = await context.engine.model_usage(since, now_us + DAY if args.days else 0)
    if args.csv:
        out.write(usage_csv(rows).rstrip("\n"))
        return DONE
    if args.prometheus:
        out.write(usage_metrics(rows).rstrip("\n"))
        return DONE
    sums = group_usage(rows, args.by)
    if args.by == "agent" and not args.json:
        sums = [total if total.name else total._replace(name=DEFAULT_AGENT) for total in sums]
    if args.json:
        for total in sums:
            out.write_json({args.by: total.name, **_plain(total)})
        return DONE
    if not rows:
        out.write("No usage.")
        return DONE
    width = max(len(total.name) for total in sums)
    for total in (*sums, sum_usage(rows, "all")):
        tokens = f"{total.tokens:>12,} tokens" if total.counted else f"{'tokens unknown':>19}"
        replies = f"{total.replies:6} {'reply' if total.replies == 1 else 'replies':7}"
        usage_text = f"{replies}  {tokens}  {_cost(total):>22}  {_time(total)}"
        out.write(f"{total.name:{width}}  {usage_text}")
    return DONE


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
