"""What can be typed after `journeyman`."""

import argparse
from functools import cache, partial
from pathlib import Path
from typing import NoReturn, get_args

from app.agent_arguments import agent_actions
from app.amounts import amount, count, speed
from app.memory_arguments import memory_actions
from app.server_arguments import server_actions
from app.skill_arguments import proposal_actions, skill_actions
from core import __version__
from core.domain.modes import DEFAULT_MODE, MODE_WORDS, MODES, Mode
from core.domain.schedule import MISSED
from core.settings.schema import Wire

FORMATS = ("md", "html", "json", "atif", "otlp", "perfetto")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
WIRES = get_args(Wire)


class UsageError(Exception):
    """What was typed is not a command."""


class _Parser(argparse.ArgumentParser):
    """Raises instead of exiting: the owner of a folder parses for others and must live on."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}\n{self.format_usage().strip()}")


@cache
def parser() -> argparse.ArgumentParser:
    top = _Parser(prog="journeyman", description="Run an agent in a folder of yours. Without a command: the window.")
    top.add_argument("--version", action="version", version=f"journeyman {__version__}")
    top.add_argument("--home", metavar="DIR", help="the data folder (else JOURNEYMAN_HOME, else the system's place)")
    top.add_argument(
        "--safe",
        action="store_true",
        help="without hooks, schedules, tool servers and what folders bring along; window as at first",
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    _run(commands)
    _models(commands)
    _answering(commands)
    _looking(commands)
    _history(commands)
    _exchange(commands)
    _schedule(commands)
    _worktree(commands)
    _servers(commands)
    _agents(commands)
    _care(commands)
    _memory(commands)
    _skills(commands)
    return top


def _add(commands: "argparse._SubParsersAction[_Parser]", name: str, text: str) -> argparse.ArgumentParser:
    return commands.add_parser(name, help=text, description=text)


def _json(command: argparse.ArgumentParser, text: str = "print one JSON object a line") -> None:
    command.add_argument("--json", action="store_true", help=text)


def _mode(command: argparse.ArgumentParser, usual: Mode) -> None:
    words = "; ".join(f"{mode}: {words}" for mode, words in MODE_WORDS.items())
    text = f"what a person is asked about (else {usual}). {words}"
    command.add_argument("--mode", choices=MODES, default=usual, help=text)
    command.add_argument(
        "--allow", action="append", default=[], metavar="TOOL[:PATTERN]",
        help="allow this run a tool, or what a pattern of it means: --allow write --allow 'run:pytest *'",
    )  # fmt: skip


def _run(commands: "argparse._SubParsersAction[_Parser]") -> None:
    run = _add(commands, "run", "Begin a session with a task and follow it to its end.")
    run.add_argument("task", metavar="TASK")
    run.add_argument("-C", dest="folder", metavar="DIR", default=".", help="the folder to work in (else this one)")
    run.add_argument("--script", metavar="FILE", help="play this script instead of a model")
    run.add_argument("--worktree", action="store_true", help="in a git worktree of its own, on a new branch")
    run.add_argument("--text-calls", action="store_true", help="for models without tool calls: they write them")
    run.add_argument(
        "--agent", metavar="A", default="",
        help="as this agent, a file A.toml in the folder `agents`; or an agent of others, by its name or its command",
    )  # fmt: skip
    run.add_argument(
        "--model", metavar="P/M", default="", help="this model, as PROVIDER/MODEL (else the one that is set)"
    )
    run.add_argument("--effort", choices=EFFORTS, default="", help="how long the model may think")
    run.add_argument("--max-output", type=count, default=0, metavar="N", help="tokens of one reply")
    run.add_argument("--temperature", type=amount, metavar="X", help="how freely the model chooses its words")
    cost = "US dollars, where the price of the model is known; 0 means no limit (else as set)"
    run.add_argument("--max-cost", type=amount, metavar="X", help=cost)
    demo = _add(commands, "demo", "Play the built-in demo in a sample folder. No network, no key.")
    for command in (run, demo):
        _mode(command, DEFAULT_MODE if command is run else "trust")
        command.add_argument(
            "--max-rounds", type=count, metavar="N", help="0 means no limit (else as set, at first 60)"
        )
        command.add_argument("--answer", action="append", default=[], metavar="TEXT", help="answers, in order")
        command.add_argument("--no-questions", action="store_true", help="every question and every request is declined")
        _how_to_ask(command)
        _json(command)
    resume = _add(commands, "resume", "Let an interrupted or waiting run go on.")
    resume.add_argument("session", metavar="SESSION")
    settle = resume.add_mutually_exclusive_group()
    settle.add_argument("--again", dest="settle", action="store_const", const="again", help="run the call again")
    settle.add_argument("--skip", dest="settle", action="store_const", const="skip", help="go on without it")
    settle.add_argument("--end", dest="settle", action="store_const", const="end", help="end the run")
    resume.set_defaults(settle="")
    resume.add_argument("--mode", choices=MODES, default="", help="from now on; what waits is decided by it too")
    resume.add_argument("--answer", action="append", default=[], metavar="TEXT", help="answers, in order")
    resume.add_argument("--no-questions", action="store_true", help="every question and every request is declined")
    _json(resume)


def _models(commands: "argparse._SubParsersAction[_Parser]") -> None:
    models = _add(commands, "models", "List the model servers and their models, or change them.")
    _json(models)
    actions = models.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser)
    add = _add(actions, "add", "Add a model server, or change the one of this name.")
    add.add_argument("name", metavar="NAME", help="what stands before the slash of its models")
    add.add_argument("url", metavar="URL", help="such as http://127.0.0.1:8080/v1")
    add.add_argument("--wire", choices=WIRES, default="chat", help="the format it speaks (else chat)")
    add.add_argument("--plain", action="store_true", help="allow http past this machine: others on the way can read")
    add.add_argument("--variable", metavar="NAME", default="", help="the environment variable that holds its key")
    remove = _add(actions, "remove", "Take away a server that you added, and its key.")
    remove.add_argument("name", metavar="NAME")
    test = _add(actions, "test", "Send a model two tiny requests: does it answer, stream, call tools?")
    test.add_argument("model", metavar="P/M")
    _json(test)
    key = _add(actions, "key", "Give the key of a server: asked for here, or one line of the standard input.")
    key.add_argument("name", metavar="NAME")
    how = key.add_mutually_exclusive_group()
    how.add_argument("--forget", action="store_true", help="forget it")
    how.add_argument("--session", action="store_true", help="keep it only until Journeyman ends")
    key.add_argument("--given", default="", help=argparse.SUPPRESS)  # said by our own process, never typed
    use = _add(actions, "use", "Set the model of new sessions.")
    use.add_argument("model", metavar="P/M")
    proxy = _add(actions, "proxy", "Send requests through a proxy, but not those to this machine.")
    proxy.add_argument("url", metavar="URL", help="its address, or `none`")
    session = _add(actions, "choose", "Let another model go on with a session.")
    session.add_argument("session", metavar="SESSION")
    session.add_argument("model", metavar="P/M")
    session.add_argument("--effort", choices=EFFORTS, default="", help="how long the model may think")


def _how_to_ask(command: argparse.ArgumentParser) -> None:
    """How often the agent may ask, and what becomes of a question that nobody answers."""
    often = "how often the agent may ask: 5, 3 or 1 questions a run (else balanced, 3)"
    command.add_argument("--autonomy", choices=("cautious", "balanced", "decisive"), default="balanced", help=often)
    minutes = "how long a question waits, and this command with it (else it ends with code 3, and the question stays)"
    command.add_argument("--answer-minutes", type=amount, default=0.0, metavar="N", help=minutes)
    then = "after that: pause the run, or go on with the default that the agent stated (else pause)"
    command.add_argument("--unanswered", choices=("pause", "default"), default="pause", help=then)


def _answering(commands: "argparse._SubParsersAction[_Parser]") -> None:
    answer = _add(commands, "answer", "Answer a question, or say whether a call may happen.")
    answer.add_argument("question", metavar="ID", help="of a question or of a request, as `questions` shows it")
    answer.add_argument("text", metavar="TEXT", nargs="?", default="", help="an answer in words")
    answer.add_argument("--option", type=int, metavar="N", default=0, help="the option with this number, from 1")
    answer.add_argument(
        "--decline",
        nargs="?",
        const="",
        metavar="TEXT",
        help="do not answer; refuse a call, for this reason",
    )
    answer.add_argument("--alike", action="store_true", help="the same for requests like it that wait in the session")
    questions = _add(commands, "questions", "List the open questions, and the calls that wait for a word.")
    _json(questions)
    stop = _add(commands, "stop", "Stop a run.")
    stop.add_argument("session", metavar="SESSION")


def _looking(commands: "argparse._SubParsersAction[_Parser]") -> None:
    sessions = _add(commands, "sessions", "List the sessions, the newest first.")
    which = sessions.add_mutually_exclusive_group()
    for name, text in (
        ("archived", "those you archived"), ("trash", "those in the trash"), ("all", "also those you archived"),
    ):  # fmt: skip
        which.add_argument(f"--{name}", dest="which", action="store_const", const=name, default="", help=text)
    sessions.add_argument("--search", metavar="Q", help="only those in which these words occur, and where")
    _json(sessions)
    show = _add(commands, "show", "Show the steps of a session.")
    show.add_argument("session", metavar="SESSION")
    instead = show.add_mutually_exclusive_group()
    instead.add_argument("--failures", action="store_true", help="what went wrong in its runs")
    instead.add_argument("--report", action="store_true", help="each run on one page")
    _json(show, "print its entries, failures or reports, one JSON object a line")
    compare = _add(
        commands, "compare", "Lay two sessions, or runs, side by side: first difference, time, tokens, cost."
    )
    compare.add_argument("a", metavar="A", help="a session, or one run of it as SESSION/1")
    compare.add_argument("b", metavar="B", help="as A")
    _json(compare, "print the pairs of steps, one JSON object a line, then the figures")
    usage = _add(commands, "usage", "Show tokens, cost and time by day, model or folder.")
    usage.add_argument("--by", choices=("day", "model", "folder"), default="day", help="what to add up (else day)")
    usage.add_argument("--days", type=count, default=0, metavar="N", help="only the last N days (else all)")
    usage.add_argument("--csv", action="store_true", help="print a table for other programs")
    _json(usage)
    failures = _add(commands, "failures", "List the runs that went wrong, the newest first.")
    failures.add_argument("--limit", type=count, default=20, metavar="N", help="at most so many (else 20)")
    other = failures.add_mutually_exclusive_group()
    other.add_argument("--repeated", action="store_true", help="errors that came more than once")
    other.add_argument("--by", choices=("tool", "decision"), help="how often what was chosen worked, of how many")
    _json(failures)


def _history(commands: "argparse._SubParsersAction[_Parser]") -> None:
    fork = _add(commands, "fork", "Begin a session with the steps of another; that one is left as it is.")
    fork.add_argument("session", metavar="SESSION")
    fork.add_argument("--at", type=count, default=None, metavar="STEP", help="up to the end of this step (else all)")
    how = fork.add_mutually_exclusive_group()
    how.add_argument("--say", metavar="TEXT", default="", help="go on with this message")
    how.add_argument("--instead", metavar="TEXT", default="", help="send the message of the run in these words")
    how.add_argument("--again", action="store_true", help="let the run be done once more")
    fork.add_argument("--run", type=count, default=0, metavar="N", help="of which run (else the last)")
    fork.add_argument("--model", metavar="NAME", default="", help="with --again: by this model")
    fork.add_argument("--script", metavar="FILE", help="with --again: by this script")
    left_out = "with --again: without this memory or skill, to compare both"
    fork.add_argument("--without", action="append", default=[], metavar="ITEM", help=left_out)
    fork.add_argument("--answer", action="append", default=[], metavar="TEXT", help="answers, in order")
    fork.add_argument("--no-questions", action="store_true", help="every question and every request is declined")
    _json(fork)

    _replay(commands)
    rewind = _add(commands, "rewind", "Put the files that the agent changed back to how they were after a step.")
    rewind.add_argument("session", metavar="SESSION")
    place = rewind.add_mutually_exclusive_group(required=True)
    place.add_argument("--to", type=count, default=None, metavar="STEP", help="after this step; 0 is before the first")
    place.add_argument("--undo", action="store_true", help="take back the last rewind")
    rewind.add_argument("--preview", action="store_true", help="only say what would change")
    rewind.add_argument(
        "--force", action="append", default=[], metavar="FILE", help="also this file that somebody else changed"
    )
    _json(rewind, "print one JSON object a file")
    verdict = _add(commands, "verdict", "Say whether a run was any good.")
    verdict.add_argument("session", metavar="SESSION")
    verdict.add_argument("verdict", choices=("up", "down", "none"), help="none takes it back")
    verdict.add_argument("--note", metavar="TEXT", default="", help="why")
    verdict.add_argument("--tag", action="append", default=[], metavar="TAG", help="to find it by")
    verdict.add_argument("--run", type=count, default=0, metavar="N", help="of which run (else the last)")


def _replay(commands: "argparse._SubParsersAction[_Parser]") -> None:
    replay = _add(commands, "replay", "Play a session from its own record: no model, no key, no effects.")
    replay.add_argument("session", metavar="SESSION")
    pace = replay.add_mutually_exclusive_group()
    pace.add_argument("--speed", type=speed, default=0.0, metavar="X", help="X times as fast as it was (else at once)")
    pace.add_argument("--step", action="store_true", help="wait for Enter before each step")
    _json(replay, "print the entries that are made, one JSON object a line")


def understood(words: list[str]) -> argparse.Namespace:
    """What was typed. `journeyman FILE`, as a double click says it, means `journeyman open FILE`."""
    try:
        return parser().parse_args(words)
    except UsageError:
        place = 2 if words[:1] == ["--home"] else 0
        if not words[place:] or not Path(words[place]).is_file():
            raise
        return parser().parse_args([*words[:place], "open", *words[place:]])


def _exchange(commands: "argparse._SubParsersAction[_Parser]") -> None:
    show = _add(commands, "open", "Open the window, and in it runs of other agents or exported ones, to be read.")
    show.add_argument("files", metavar="FILE", nargs="*")
    export = _add(commands, "export", "Write a session, with its sub-agents, in a format that others read.")
    export.add_argument("session", metavar="SESSION")
    export.add_argument("--as", dest="form", choices=FORMATS, default="md", help="the format (else md)")
    export.add_argument("-o", dest="file", metavar="FILE", default="", help="write to this file (else print it)")
    export.add_argument("--keep-secrets", action="store_true", help="leave keys and passwords in it")
    export.add_argument("--preview", action="store_true", help="only say what would be removed")
    bring = _add(commands, "import", "Import sessions of Journeyman or of other agents; they are only read.")
    bring.add_argument("files", metavar="FILE", nargs="*")
    bring.add_argument("--found", action="store_true", help="list what other agents left on this computer")
    _json(bring)


def _schedule(commands: "argparse._SubParsersAction[_Parser]") -> None:
    schedule = _add(commands, "schedule", "Begin sessions at a time: once, or every so often.")
    actions = schedule.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser, required=True)
    add = _add(actions, "add", "Add one. It begins while the window is open, or `schedule watch` runs.")
    add.add_argument("task", metavar="TASK")
    add.add_argument("-C", dest="folder", metavar="DIR", default=".", help="the folder to work in (else this one)")
    add.add_argument("--worktree", action="store_true", help="each in a git worktree of its own, on a new branch")
    add.add_argument("--at", metavar="TIME", default="", help="first at 18:30, or 2030-01-31 18:30")
    add.add_argument("--every", metavar="N", default="", help="again every 15m, 2h, 1d or 1w (else once)")
    add.add_argument("--missed", choices=MISSED, default="run", help="a time that was missed (else run, once)")
    add.add_argument("--model", metavar="P/M", default="", help="this model (else the one that is set then)")
    add.add_argument("--script", metavar="FILE", help="play this script instead of a model")
    add.add_argument("--mode", choices=MODES, default=DEFAULT_MODE, help=f"what you are asked (else {DEFAULT_MODE})")
    _json(add)
    _json(_add(actions, "list", "List them."))
    remove = _add(actions, "remove", "Remove one; the sessions it began stay.")
    remove.add_argument("schedule", metavar="ID", help="as `schedule list` shows it")
    _json(_add(actions, "watch", "Begin what is due, without a window, until Ctrl+C."))


def _worktree(commands: "argparse._SubParsersAction[_Parser]") -> None:
    worktree = _add(commands, "worktree", "List or remove the git worktrees in which sessions work (`run --worktree`).")
    actions = worktree.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser, required=True)
    listed = _add(actions, "list", "List those of this repository.")
    remove = _add(actions, "remove", "Remove one, with its branch.")
    remove.add_argument("name", metavar="BRANCH", help="or the end of its name")
    remove.add_argument("--discard", action="store_true", help="also what is in no commit, or not merged")
    for action in (listed, remove):
        action.add_argument("-C", dest="folder", metavar="DIR", default=".", help="the repository (else this folder)")
    _json(listed)


def _care(commands: "argparse._SubParsersAction[_Parser]") -> None:
    doctor = _add(commands, "doctor", "Check this computer and the data, and say what to do.")
    doctor.add_argument("--rule", metavar="COMMAND", help="say what would become of this command here, and which rule")
    _json(doctor)
    rules = _add(commands, "rules", "List what you allowed and denied for good, take it back, or try a command on it.")
    actions = rules.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser, required=True)
    _json(_add(actions, "list", "List the rules."))
    revoke = _add(actions, "revoke", "Take a rule back.")
    revoke.add_argument("rule", metavar="RULE", help="its id, as `rules list` shows it")
    test = _add(actions, "test", "Say what would become of a command, and why. Nothing is run.")
    test.add_argument("command_line", metavar="COMMAND", help="the whole command, in quotes: 'git push'")
    test.add_argument("-C", dest="folder", metavar="DIR", default=".", help="as if run in this folder (else this one)")
    test.add_argument("--mode", choices=MODES, default=DEFAULT_MODE, help=f"as if in this mode (else {DEFAULT_MODE})")
    _json(test)
    trust = _add(commands, "trust", "Obey what a folder brings along for agents, as it is now.")
    trust.add_argument("folder", metavar="DIR", nargs="?", default=".", help="the folder (else this one)")
    trust.add_argument("--no", action="store_true", help="obey none of it, and take its files for words of strangers")
    _json(trust)
    backup = _add(commands, "backup", "Make a checked backup of the data now, or put one back.")
    backup.add_argument(
        "--restore", nargs="?", const="", metavar="NAME", help="put back this backup, or the newest good one"
    )
    _add(commands, "compact", "Make the data file as small as it can be.")
    shots = _add(commands, "screenshots", "Take pictures of every screen.")
    shots.add_argument("folder", metavar="DIR")


def _servers(commands: "argparse._SubParsersAction[_Parser]") -> None:
    servers = _add(commands, "mcp", "Programs that bring agents tools of their own (Model Context Protocol).")
    actions = servers.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser, required=True)
    server_actions(partial(_add, actions))


def _agents(commands: "argparse._SubParsersAction[_Parser]") -> None:
    agents = _add(commands, "agents", "Agents of others that work in your folders (Agent Client Protocol).")
    actions = agents.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser, required=True)
    agent_actions(partial(_add, actions))
    acp = _add(commands, "acp", "Be an agent for your editor: it starts this, and speaks over the standard streams.")
    acp.add_argument("--model", metavar="P/M", default="", help="this model (else the one that is set)")
    acp.add_argument("--script", metavar="FILE", help="play this script instead of a model")
    acp.add_argument("--agent", metavar="A", default="", help="as this agent, a file A.toml in the folder `agents`")
    words = f"how much it asks at first (else {DEFAULT_MODE}); the editor can change it"
    acp.add_argument("--mode", choices=MODES, default=DEFAULT_MODE, help=words)


def _memory(commands: "argparse._SubParsersAction[_Parser]") -> None:
    memory = _add(commands, "memory", "Look at what is remembered beyond one session, and change it.")
    actions = memory.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser, required=True)
    memory_actions(partial(_add, actions))


def _skills(commands: "argparse._SubParsersAction[_Parser]") -> None:
    skills = _add(commands, "skills", "Look at the skills that agents can use, add some, and keep them in order.")
    actions = skills.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser, required=True)
    skill_actions(partial(_add, actions))
    proposals = _add(commands, "proposals", "Decide on what agents want to be kept.")
    actions = proposals.add_subparsers(dest="action", metavar="ACTION", parser_class=_Parser, required=True)
    proposal_actions(partial(_add, actions))
