"""What a comparison says: what differed, never why."""

from typing import Final

from PySide6.QtCore import QCoreApplication

from core.domain.clock import SECOND
from core.domain.steps import Step, verb
from core.timeline.align import Alignment, Pair, Totals
from ui.compare.lines import Line, delta, same
from ui.figures import amount, duration, money
from ui.looks import badges, plural, status_look, words
from ui.visible import visible

NAMED: Final = 3
LONGEST: Final = 70


def tr(text: str) -> str:
    return QCoreApplication.translate("compare", text)


def name(step: Step) -> str:
    """The verb of a row."""
    return words(verb(step.kind, step.status))


def figure(step: Step) -> str:
    """What stands at the right of a row: what changed in a file, else how long it took."""
    changed = [badge.text for badge in badges(step) if badge.text[:1] in "+−"]
    return " ".join(changed) or duration(max(0, step.ended - step.began) if step.ended else 0)


def number(pair: Pair) -> str:
    """The steps as a person counts them, in both runs where they are not the same."""
    left, right = (str(step.number) if step else "" for step in (pair.a, pair.b))
    return left if left == right or not right else f"{left} · {right}" if left else right


def fold_words(line: Line, found: Alignment) -> str:
    parts = []
    if line.steps:
        parts.append(tr("1 equal step") if line.steps == 1 else tr("{} equal steps").format(line.steps))
    if line.first and found.first is not None:
        pair = found.pairs[found.first]
        parts.append(tr("first difference at step {}").format(number(pair)))
    return " · ".join(parts)


def spoken(line: Line, found: Alignment) -> str:
    """A line as a screen reader says it."""
    if line.pair is None:
        return fold_words(line, found)
    sides = [tr("left: {}").format(_side(line.pair.a)), tr("right: {}").format(_side(line.pair.b))]
    if same(line.pair) and line.pair.a:
        return tr("Step {number}, in both: {what}").format(number=number(line.pair), what=_side(line.pair.a))
    return tr("Step {number}, different. {sides}").format(number=number(line.pair), sides=", ".join(sides))


def _side(step: Step | None) -> str:
    if step is None:
        return tr("nothing")
    parts = (f"{name(step)} {visible(step.object)}".strip(), figure(step), words(status_look(step.status).word).lower())
    return ", ".join(part for part in parts if part)


def totals_line(one: Totals, *, priced: bool) -> str:
    """`61 steps · 2 failed · 9m 20s · 212k tok · $0.41`."""
    parts = [
        plural(one.steps, "step", "steps"),
        tr("{} failed").format(one.failed) if one.failed else "",
        duration(round(one.seconds * SECOND)),
        tr("{} tok").format(amount(one.tokens)) if one.tokens else "",
        money(one.cost) if priced else "",
    ]
    return " · ".join(part for part in parts if part)


def delta_line(found: Alignment, *, priced: bool) -> str:
    """What the right run has more or less."""
    more = delta(found.a, found.b)
    parts = [
        _signed(more.steps, str(abs(more.steps)), tr("{} steps")),
        _signed(more.seconds, duration(round(abs(more.seconds) * SECOND)) or "0s", "{}"),
        _signed(more.tokens, amount(abs(more.tokens)), tr("{} tok")),
        _signed(more.cost, money(abs(more.cost)), "{}") if priced else tr("cost unknown"),
    ]
    return " · ".join(parts)


def learnt_lines(found: Alignment) -> list[str]:
    """What memory and skills only one of them had."""
    left, right = found.learnt_a.without(found.learnt_b), found.learnt_b.without(found.learnt_a)
    said = []
    for form, had in ((tr("Only the left one had {}."), left), (tr("Only the right one had {}."), right)):
        parts = [tr("the memory “{}”").format(_short(text)) for text in had.memories.values()]
        parts += [tr("the skill {name} {version}").format(name=n, version=v) for n, v in had.skills.items()]
        if len(parts) > NAMED:
            parts[NAMED - 1 :] = [tr("{} more memories and skills").format(len(parts) - NAMED + 1)]
        if parts:
            said.append(form.format(tr(" and ").join(filter(None, (", ".join(parts[:-1]), parts[-1])))))
    return said


def _short(text: str) -> str:
    text = visible(" ".join(text.split())).rstrip(".")
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _signed(more: float, words_: str, form: str) -> str:
    sign = "+" if more > 0 else "−" if more < 0 else "±"
    return sign + form.format(words_)
