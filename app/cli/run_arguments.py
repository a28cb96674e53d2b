"""The arguments of the commands that start, continue or schedule runs."""

import argparse

from app.cli.command_parser import AddCommand
from app.cli.json_option import json_option
from app.cli.value_types import duration, nonnegative_number, whole_number
from core.domain.modes import DEFAULT_MODE, MODE_LABELS, MODES, Mode
from core.domain.schedule import MISSED_POLICIES

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
EXIT_CODES = """\
Exit codes:
  0    the run was completed
  1    it failed or ended without doing anything, or the command failed
  2    the arguments are wrong
  3    it is waiting for an answer or a permission
  4    it reached a limit, such as --max-turns
  130  it was stopped
  143  SIGTERM ended the command before it had begun"""
EXAMPLES = """\
Examples:
  journeyman run "Sort the photos in this folder by year." -C ~/photos
  journeyman run - < task.md
  journeyman run "Fix the failing test." -m ollama/qwen3 --max-turns 30 --allow 'run:pytest *'

{}"""


def add_runs(add: AddCommand) -> None:
    _run(add)
    _demo(add)
    _resume(add)
    stop = add("stop", "Stop a run.")
    stop.add_argument("session", metavar="SESSION")
    _schedule(add)
    _worktree(add)


def _run(add: AddCommand) -> None:
    run = add("run", "Start a session with a task and follow it to its end.")
    run.epilog = EXAMPLES.format(EXIT_CODES)
    run.add_argument("task", metavar="TASK", help="What to do; - reads it from standard input")
    run.add_argument("-C", dest="folder", metavar="DIR", default=".", help="Work in DIR (default: the current folder)")
    _model(run)
    agent_help = (
        "Use this agent profile (DATA_DIR/agents/NAME.toml), or this external agent, by its name or its command"
    )
    run.add_argument("--agent", metavar="NAME", default="", help=agent_help)
    run.add_argument("--effort", choices=EFFORTS, default="", help="The reasoning effort of the model")
    run.add_argument(
        "--temperature", type=nonnegative_number, metavar="X", help="The sampling temperature (default: the model's)"
    )
    _limits(run)
    check_help = (
        "A command that must succeed before the run counts as done; repeatable. If it fails, the agent reads its output"
        " and continues, at most twice. The result rates the run"
    )
    run.add_argument("--check", action="append", default=[], metavar="COMMAND", help=check_help)
    seal_help = (
        "Files that the run must not change, such as the tests of --check: a path, a folder or a glob pattern;"
        " repeatable. If it does, it has to revert them before it counts as done"
    )
    run.add_argument("--seal", action="append", default=[], metavar="PATTERN", help=seal_help)
    schema_help = "The final reply must be JSON that matches the JSON Schema in FILE"
    run.add_argument("--schema", metavar="FILE", help=schema_help)
    run.add_argument("--script", metavar="FILE", help="Play a script of replies instead of calling a model")
    run.add_argument("--text-calls", action="store_true", help="Use text-based tool calls, for models without tool use")
    size_help = "Send a full or a compact prompt (default: the setting, initially by the model's window and speed)"
    run.add_argument("--prompt-size", choices=("full", "compact"), default="", help=size_help)
    run.add_argument("--worktree", action="store_true", help="Work in a new git worktree, on a new branch")
    _started_run(run, DEFAULT_MODE)


def _limits(run: argparse.ArgumentParser) -> None:
    tokens_help = "The most tokens of one reply (default: no limit)"
    run.add_argument("--max-output-tokens", type=whole_number, default=0, metavar="N", help=tokens_help)
    cost_help = "End the run at this cost in US dollars, where the model's price is known; 0 means no limit"
    run.add_argument("--max-cost", type=nonnegative_number, metavar="X", help=f"{cost_help} (default: the setting)")
    limit_help = "End the run after N {}; 0 means no limit (default: the setting)"
    total_help = limit_help.format("tokens, sent and received")
    run.add_argument("--max-tokens", type=whole_number, metavar="N", help=total_help)
    run.add_argument("--max-minutes", type=nonnegative_number, metavar="N", help=limit_help.format("minutes"))


def _demo(add: AddCommand) -> None:
    demo = add("demo", "Play the built-in demo in a sample folder. It needs no network and no API key.")
    demo.epilog = EXIT_CODES
    _started_run(demo, "auto")


def _started_run(command: argparse.ArgumentParser, default_mode: Mode) -> None:
    """Add the options that `run` and `demo` share."""
    mode_option(command, default_mode)
    allow_help = "Allow a tool, or only its calls that match a pattern, in this run; repeatable"
    command.add_argument("--allow", action="append", default=[], metavar="TOOL[:PATTERN]", help=allow_help)
    turns_help = "End the run after N turns; 0 means no limit (default: the setting, initially 60)"
    command.add_argument("--max-turns", type=whole_number, metavar="N", help=turns_help)
    _questions(command)
    _waiting(command)
    output_options(command)


def mode_option(command: argparse.ArgumentParser, default: Mode, purpose: str = "What to ask you about") -> None:
    modes = "; ".join(f"{mode}: {label}" for mode, label in MODE_LABELS.items())
    text = f"{purpose} (default: {default}). {modes}"
    command.add_argument("--mode", choices=MODES, default=default, metavar="MODE", help=text)


def script_options(command: argparse.ArgumentParser, condition: str = "") -> None:
    command.add_argument("-m", "--model", metavar="MODEL", default="", help=f"{condition}Use this PROVIDER/MODEL")
    command.add_argument("--script", metavar="FILE", help=f"{condition}Play a script of replies instead")


def output_options(command: argparse.ArgumentParser) -> None:
    verbosity = command.add_mutually_exclusive_group()
    verbosity.add_argument(
        "-q", "--quiet", action="store_true", help="Print only replies, questions and errors, not the steps"
    )
    verbosity.add_argument(
        "-v", "--verbose", action="store_true", help="Also print reasoning and the output of each tool call"
    )
    verbosity.add_argument("--json", action="store_true", help="Print each event as a JSON object, one per line")


def answer_options(command: argparse.ArgumentParser, *, scope: str = "", may_ask: bool = False) -> None:
    """Add the options that answer questions.

    `scope` ends their help texts; with `may_ask`, an option revokes the --no-questions of the run's start.
    """
    answer_help = "Answer the next question with TEXT, an option's label or its number; repeatable"
    command.add_argument("--answer", action="append", default=[], metavar="TEXT", help=answer_help)
    decline_help = f"Decline every question and deny every permission request{scope}"
    declining = command.add_mutually_exclusive_group()
    declining.add_argument("--no-questions", action="store_true", default=None, help=decline_help)
    if may_ask:
        ask_help = f"Ask, although the run was started with --no-questions{scope}"
        declining.add_argument("--questions", dest="no_questions", action="store_false", default=None, help=ask_help)


def _model(command: argparse.ArgumentParser) -> None:
    text = "The model, as PROVIDER/MODEL (default: the setting)"
    command.add_argument("-m", "--model", metavar="MODEL", default="", help=text)


def _questions(command: argparse.ArgumentParser) -> None:
    answer_options(command)
    autonomy_help = (
        "How often the agent and its sub-agents may ask together: 5, 3 or 1 questions per run (default: balanced, 3)"
    )
    levels = ("cautious", "balanced", "decisive")
    command.add_argument("--autonomy", choices=levels, default="balanced", help=autonomy_help)


def _waiting(command: argparse.ArgumentParser) -> None:
    timeout_help = (
        "Wait this long for an answer or a permission decision, such as 90s, 10m or 2h (default: exit with code"
        " 3 at once; with an external agent, 10m for a permission decision). What is open stays open"
    )
    command.add_argument("--answer-timeout", type=duration, default=0.0, metavar="DURATION", help=timeout_help)
    unanswered_help = (
        "After --answer-timeout: pause the run, or continue with the default that the agent gave (default: pause)"
    )
    command.add_argument("--unanswered", choices=("pause", "default"), default="pause", help=unanswered_help)


def _resume(add: AddCommand) -> None:
    resume = add("resume", "Continue an interrupted, paused or waiting run.")
    resume.epilog = f"--abort exits with code 0.\n\n{EXIT_CODES}"
    session_choice = resume.add_mutually_exclusive_group(required=True)
    session_choice.add_argument("session", metavar="SESSION", nargs="?", default="")
    session_choice.add_argument(
        "--last", action="store_true", help="The session that was active last, of those that can resume"
    )
    settle = resume.add_mutually_exclusive_group()
    for name, text in (
        ("retry", "If a tool call was interrupted: run it again"),
        ("skip", "If a tool call was interrupted: continue without running it again"),
        ("abort", "End the run"),
    ):
        settle.add_argument(f"--{name}", dest="settle", action="store_const", const=name, help=text)
    resume.set_defaults(settle="")
    mode_help = "Change the mode from now on; it also decides the pending permission requests"
    resume.add_argument("--mode", choices=MODES, default="", metavar="MODE", help=f"{mode_help}: {', '.join(MODES)}")
    answer_options(resume, scope=", in this command only", may_ask=True)
    output_options(resume)


def _schedule(add: AddCommand) -> None:
    schedule = add("schedule", "Start sessions at a time, once or repeatedly.")
    action = schedule.group(default="list")
    json_option(action("list", "List the schedules."))
    new = action("add", "Add a schedule. It starts sessions while the window is open or `schedule watch` runs.")
    new.add_argument("task", metavar="TASK", help="What to do; - reads it from standard input")
    new.add_argument("-C", dest="folder", metavar="DIR", default=".", help="Work in DIR (default: the current folder)")
    new.add_argument("--at", metavar="TIME", default="", help="First at TIME: 18:30, or '2030-01-31 18:30'")
    new.add_argument("--every", metavar="INTERVAL", default="", help="Repeat every 15m, 2h, 1d or 1w (default: once)")
    missed_help = "When the time passed while Journeyman was closed: run once, or skip it (default: run)"
    new.add_argument("--missed", choices=MISSED_POLICIES, default="run", help=missed_help)
    _model(new)
    new.add_argument("--script", metavar="FILE", help="Play a script of replies instead of calling a model")
    mode_option(new, DEFAULT_MODE)
    new.add_argument("--worktree", action="store_true", help="Give each session a new git worktree, on a new branch")
    json_option(new)
    remove = action("remove", "Remove a schedule. The sessions it started stay.")
    remove.add_argument("schedule", metavar="ID", help="The ID that `schedule list` shows")
    json_option(action("watch", "Start the sessions that are due, without a window, until Ctrl+C."))


def _worktree(add: AddCommand) -> None:
    worktree = add("worktree", "List or remove the git worktrees of sessions (see `run --worktree`).")
    action = worktree.group(default="list")
    listed = action("list", "List the worktrees of sessions in a repository.")
    remove = action("remove", "Remove a worktree and its branch.")
    remove.add_argument("name", metavar="BRANCH", help="The branch, or the end of its name")
    remove.add_argument("--discard", action="store_true", help="Also lose changes that are not committed or not merged")
    for command in (listed, remove):
        folder_help = "The repository (default: the current folder)"
        command.add_argument("-C", dest="folder", metavar="DIR", default=".", help=folder_help)
    json_option(listed)
