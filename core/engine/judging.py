"""Judge a call with what is so now: the rules, the mode of the session, what the run has read and changed."""

from functools import cache, partial
from typing import Any

from core.domain.consent import Asks, Level, Verdict
from core.domain.events import RunStarted
from core.domain.ids import run_id
from core.domain.problems import Problem
from core.engine.consent import Facts, act_of, judge
from core.engine.grants import read_grants
from core.engine.work import Work
from core.store.rule_book import RuleBook
from core.tools.seen import digest
from core.tools.tool import Tool
from core.workspace.broker import Broker


async def judged(book: RuleBook, run: Work, tool: Tool, call: str, parameters: Any) -> Verdict:
    """The verdict of this moment. Raises Problem where the call names what cannot be looked at."""
    web = run.place.web
    act, start, rules = act_of(tool, parameters, call, web.host if web else ""), run.talk.start, book.now().rules
    assert start is not None
    grants = read_grants(start.allow, run_id(run.session, run.talk.run))
    kept = None if rules is None else (*rules, *grants.rules)

    def of(level: Level) -> Verdict:
        return judge(
            act, start.mode, kept, tuple(run.talk.rights.taint), _facts(run, start, level, tool.touches == "runs")
        )

    if tool.touches == "runs":
        return of((await run.place.proven()).level)
    verdict = of("verified")  # files are confined by their broker, whatever holds commands
    return of((await run.place.proven()).level) if isinstance(verdict, Asks) else verdict


def _facts(run: Work, start: RunStarted, level: Level, runs: bool) -> Facts:
    name = run_id(run.session, run.talk.run)
    return Facts(
        session=run.session,
        run=name,
        workspace=str(run.place.folder),
        data=str(run.place.data),
        level=level,
        changed=frozenset(run.talk.rights.changed) if runs else frozenset(),
        hosts=run.place.out.hosts,
        granted=read_grants(start.allow, name).tools,
        agent=start.role,
        real=cache(run.place.broker.real),
        holds=partial(_holds, run.place.broker),
    )


def _holds(broker: Broker, name: str) -> str:
    """What cannot be read cannot have been shown either."""
    try:
        return digest(broker.read(name)) if broker.look(name) else ""
    except Problem:
        return ""
