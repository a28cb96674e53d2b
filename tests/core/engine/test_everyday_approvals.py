"""How many approvals a benign day of work needs: forty tasks in each mode, without and with saved rules."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.domain.modes import MODES, Mode
from core.domain.permissions import Denied, NeedsApproval
from core.domain.rules import PermissionRule
from core.engine.policy.policy import evaluate_call
from core.engine.policy.proposed_call import ProposedCall
from tests.core.engine.policy_calls import FACTS, act, rule
from tests.core.engine.trap_commands import KEPT

# The calls of one task per line: r reads a file, w writes one, $ runs a command.
TASKS = """
r notes.md | w letter.md
r app.py | r test_app.py | w app.py | $ pytest -q
$ git status | $ git diff | $ git log --oneline -5
r README.md | w README.md
r data.csv | $ python summarize.py | w summary.md
$ ls -la | r Makefile | $ make test
r src/a.py | w src/a.py | $ ruff check src | $ mypy src
r package.json | $ npm test
r a.txt | r b.txt | r c.txt | w all.txt
$ git log -p src/app.py | r src/app.py
$ grep -rn TODO src | w todo.md
r config.toml | w config.toml | $ pytest -q tests/test_config.py
r main.go | w main.go | $ go test ./...
r lib.rs | w lib.rs | $ cargo test
$ find . -name '*.md' | r docs/a.md | w docs/index.md
r index.html | w index.html | w style.css
$ wc -l *.txt | w counts.txt
r schema.sql | w schema.sql
r invoice.txt | w invoice-2.txt | w invoice-3.txt
$ git add -A | $ git commit -m 'Fix the date'
r test_x.py | $ pytest -x -q | w x.py | $ pytest -x -q
$ du -sh . | $ df -h
r plan.md | w plan.md
$ python -m pytest -q | r report.txt
r tsconfig.json | $ npx tsc --noEmit
r letter.md | w letter.md | $ wc -w letter.md
$ head -20 log.txt | $ tail -20 log.txt | w findings.md
r a.py | w a.py | $ ruff format a.py
$ git branch -a | $ git show HEAD
r recipe.md | w shopping.md
$ sort names.txt | w sorted.txt
r old.py | w new.py | $ rm old.py
$ git diff --stat | w CHANGELOG.md
r talk.md | w slides.md
r Makefile | w Makefile | $ make
$ cargo build | $ cargo clippy
r api.py | r models.py | w api.py | $ pytest -q
$ git push
$ pip install requests
r photos.csv | $ cut -d, -f2 photos.csv | w table.md
""".strip().splitlines()


def calls(task: str) -> list[ProposedCall]:
    made = []
    for part in task.split(" | "):
        kind, what = part[0], part[2:]
        if kind == "r":
            made.append(act("read", path=what))
        elif kind == "w":
            made.append(act("write", path=what, content="x"))
        else:
            made.append(act("run", command=what))
    return made


def count_approvals(mode: Mode, rules: Sequence[PermissionRule]) -> Counter[str]:
    """Count the calls that needed approval or were denied, with every approval given once only."""
    found: Counter[str] = Counter()
    for task in TASKS:
        facts = FACTS
        for call in calls(task):
            verdict = evaluate_call(call, mode, rules, (), facts)
            found["asked"] += isinstance(verdict, NeedsApproval)
            found["denied"] += isinstance(verdict, Denied)
            if call.access == "write":
                facts = replace(facts, changed_files=facts.changed_files | set(call.subjects))
    return found


RULES = tuple(rule(pattern) for pattern in KEPT)
MOST = {"ask-all": 103, "ask": 57, "accept-edits": 27, "plan": 0, "auto": 3}
WITH_RULES = {"ask-all": 68, "ask": 35, "accept-edits": 5, "plan": 0, "auto": 3}


@pytest.mark.parametrize("mode", MODES)
def test_a_benign_day_needs_few_approvals(mode: Mode) -> None:
    assert len(TASKS) == 40
    without, kept = count_approvals(mode, ()), count_approvals(mode, RULES)
    assert without["asked"] <= MOST[mode], without
    assert kept["asked"] <= WITH_RULES[mode], kept
    assert mode == "plan" or not without["denied"]
