"""The arguments of the commands that read, compare, rate, fork, rewind and replay sessions."""

from app.cli.command_parser import AddCommand
from app.cli.json_option import json_option
from app.cli.run_arguments import answer_options, output_options, script_options
from app.cli.value_types import positive_number, whole_number


def add_sessions(add: AddCommand) -> None:
    _reading(add)
    _statistics(add)
    _fork(add)
    _rewind(add)
    replay = add("replay", "Replay a session from its event log: no model, no API key, no effects.")
    replay.add_argument("session", metavar="SESSION")
    pace = replay.add_mutually_exclusive_group()
    pace.add_argument(
        "--speed", type=positive_number, default=0.0, metavar="X", help="Play at X times the speed (default: at once)"
    )
    pace.add_argument("--step", action="store_true", help="Wait for Enter before each step")
    json_option(replay, "Print each event that is made as a JSON object, one per line")


def _reading(add: AddCommand) -> None:
    sessions = add("sessions", "List the sessions, newest first.")
    subset = sessions.add_mutually_exclusive_group()
    for name, text in (
        ("archived", "Only archived sessions"),
        ("trash", "Only sessions in the trash"),
        ("all", "Archived sessions too"),
    ):
        subset.add_argument(f"--{name}", dest="which", action="store_const", const=name, default="", help=text)
    search_help = (
        "Only sessions that contain these words, and where. Filters: folder:NAME, model:NAME, status:NAME,"
        " date:today|week|month|YYYY-MM-DD, after:DATE, before:DATE, kind:NAME (a kind of step, such as command)"
    )
    sessions.add_argument("--search", metavar="TEXT", help=search_help)
    json_option(sessions)
    show = add("show", "Show the steps of a session.")
    show.add_argument("session", metavar="SESSION")
    view = show.add_mutually_exclusive_group()
    view.add_argument("--failures", action="store_true", help="Show only the failed calls of its runs")
    view.add_argument("--report", action="store_true", help="Show a summary of each run")
    json_option(show, "Print its events, failures or reports, one JSON object per line")
    compare = add("compare", "Compare two sessions or runs: first difference, time, tokens and cost.")
    compare.add_argument("a", metavar="A", help="A session, or one of its runs as SESSION/1")
    compare.add_argument("b", metavar="B", help="The same")
    json_option(compare, "Print the pairs of steps, one JSON object per line, then the totals")


def _statistics(add: AddCommand) -> None:
    failures = add("failures", "List the failed runs, newest first.")
    limit_help = "At most N lines; 0 means no limit (default: 20)"
    failures.add_argument("--limit", type=whole_number, default=20, metavar="N", help=limit_help)
    view = failures.add_mutually_exclusive_group()
    view.add_argument("--repeated", action="store_true", help="List the errors that occurred more than once")
    by_help = "Show the success rate of each tool or decision, and of how many calls"
    view.add_argument("--by", choices=("tool", "decision"), help=by_help)
    json_option(failures)
    usage = add("usage", "Show tokens, cost and time by day, model, folder or agent profile.")
    usage.add_argument(
        "--by", choices=("day", "model", "folder", "agent"), default="day", help="Group by (default: day)"
    )
    usage.add_argument("--days", type=whole_number, default=0, metavar="N", help="Only the last N days (default: all)")
    usage.add_argument("--csv", action="store_true", help="Print CSV, one row per reply")
    metrics_help = "Print the totals of each model as metrics for Prometheus"
    usage.add_argument("--prometheus", action="store_true", help=metrics_help)
    json_option(usage)
    rate = add("rate", "Rate a run. Ratings are what memories and skills are measured by.")
    rate.add_argument("session", metavar="SESSION")
    rate.add_argument("rating", choices=("good", "bad", "none"), help="none removes the rating")
    rate.add_argument("--note", type=str, metavar="TEXT", help="The reason (default: as rated before)")
    rate.add_argument(
        "--tag", type=str, action="append", metavar="TAG", help="A tag; repeatable (default: as rated before)"
    )
    rate.add_argument("--run", type=whole_number, default=0, metavar="N", help="Rate run N (default: the last)")


def _fork(add: AddCommand) -> None:
    fork = add("fork", "Start a session with the steps of another, which stays as it is.")
    fork.add_argument("session", metavar="SESSION")
    fork.add_argument(
        "--at", type=whole_number, default=None, metavar="STEP", help="Fork after this step (default: the last)"
    )
    start = fork.add_mutually_exclusive_group()
    start.add_argument("--say", metavar="TEXT", default="", help="Continue with this message")
    start.add_argument("--edit", metavar="TEXT", default="", help="Send TEXT in the place of the run's first message")
    start.add_argument("--retry", action="store_true", help="Do the run again from its start")
    fork.add_argument(
        "--run", type=whole_number, default=0, metavar="N", help="With --edit or --retry: run N (default: the last)"
    )
    script_options(fork, "With --retry: ")
    without_help = "With --retry: without this memory or skill, to compare the two; repeatable"
    fork.add_argument("--without", action="append", default=[], metavar="ITEM", help=without_help)
    answer_options(fork, may_ask=True)
    output_options(fork)


def _rewind(add: AddCommand) -> None:
    rewind = add("rewind", "Revert the files that the agent changed to their state after a step.")
    rewind.add_argument("session", metavar="SESSION")
    rewind.missing_hint = (
        "Name a step that `journeyman show SESSION` lists: `journeyman rewind SESSION --to STEP`. 0 is before the "
        "first step, and --undo undoes the last rewind."
    )
    target = rewind.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "--to", type=whole_number, default=None, metavar="STEP", help="After this step; 0 is before the first"
    )
    target.add_argument("--undo", action="store_true", help="Undo the last rewind")
    rewind.add_argument("-n", "--dry-run", action="store_true", help="Only show what would change")
    force_help = "Also revert this file, which was changed since by something else; repeatable"
    rewind.add_argument("--force", action="append", default=[], metavar="FILE", help=force_help)
    json_option(rewind, "Print one JSON object per file")
