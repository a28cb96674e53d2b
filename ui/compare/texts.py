"""The texts of a comparison. They state what differs, and do not guess at causes."""

from typing import Final

from PySide6.QtCore import QCoreApplication

from core.domain.clock import SECOND
from core.domain.steps import Step, verb
from core.timeline.run_alignment import AlignedPair, Alignment, RunTotals
from ui.base.step_presentation import badges, plural, status_style, translate
from ui.compare.lines import ComparisonLine, is_equal, totals_delta
from ui.style.number_formats import amount, duration, money
from ui.text.visible import visible

NAMED: Final = 3
LONGEST: Final = 70


def tr(text: str) -> str:
    return QCoreApplication.translate("compare", text)


def step_verb(step: Step) -> str:
    """Return the verb of a step, in the user's language."""
    return translate(verb(step.kind, step.status))


def step_figure(step: Step) -> str:
    """Return the figure at the right of a step: the changed lines, or else the duration."""
    changed = [badge.text for badge in badges(step) if badge.text[:1] in "+−"]
    return " ".join(changed) or duration(max(0, step.ended_at - step.started_at) if step.ended_at else 0)


def step_numbers(pair: AlignedPair) -> str:
    """Return the step number, or both numbers if they differ between the runs."""
    left, right = (str(step.number) if step else "" for step in (pair.a, pair.b))
    return left if left == right or not right else f"{left} · {right}" if left else right


def fold_text(line: ComparisonLine, found: Alignment) -> str:
    parts = []
    if line.steps:
        parts.append(tr("1 equal step") if line.steps == 1 else tr("{} equal steps").format(line.steps))
    if line.first and found.first_difference is not None:
        pair = found.pairs[found.first_difference]
        parts.append(tr("first difference at step {}").format(step_numbers(pair)))
    return " · ".join(parts)


def accessible_line_text(line: ComparisonLine, found: Alignment) -> str:
    """Return the text of a line for screen readers."""
    if line.pair is None:
        return fold_text(line, found)
    sides = [tr("left: {}").format(_side(line.pair.a)), tr("right: {}").format(_side(line.pair.b))]
    if is_equal(line.pair) and line.pair.a:
        return tr("Step {number}, in both: {what}").format(number=step_numbers(line.pair), what=_side(line.pair.a))
    return tr("Step {number}, different. {sides}").format(number=step_numbers(line.pair), sides=", ".join(sides))


def _side(step: Step | None) -> str:
    if step is None:
        return tr("nothing")
    parts = (
        f"{step_verb(step)} {visible(step.object)}".strip(),
        step_figure(step),
        translate(status_style(step.status).label).lower(),
    )
    return ", ".join(part for part in parts if part)


def totals_line(one: RunTotals, *, priced: bool) -> str:
    """Return the totals of a run, such as `61 steps · 2 failed · 9m 20s · 212k tok · $0.41`."""
    parts = [
        plural(one.steps, "step", "steps"),
        tr("{} failed").format(one.failed) if one.failed else "",
        duration(round(one.seconds * SECOND)),
        tr("{} tok").format(amount(one.tokens)) if one.tokens else "",
        money(one.cost) if priced else "",
    ]
    return " · ".join(part for part in parts if part)


def delta_line(found: Alignment, *, priced: bool) -> str:
    """Return how the totals of the right run differ from those of the left one."""
    more = totals_delta(found.a, found.b)
    parts = [
        _signed(more.steps, plural(abs(more.steps), "step", "steps"), "{}"),
        _signed(more.seconds, duration(round(abs(more.seconds) * SECOND)) or "0s", "{}"),
        _signed(more.tokens, amount(abs(more.tokens)), tr("{} tok")),
        _signed(more.cost, money(abs(more.cost)), "{}") if priced else tr("cost unknown"),
    ]
    return " · ".join(parts)


def learned_lines(found: Alignment) -> list[str]:
    """Return one sentence for each side that used memories or skills which the other side did not use."""
    left, right = found.used_a.without(found.used_b), found.used_b.without(found.used_a)
    lines = []
    for form, had in ((tr("Only the left session used {}."), left), (tr("Only the right session used {}."), right)):
        parts = [tr("the memory “{}”").format(_short(text)) for text in had.memories.values()]
        parts += [tr("the skill {name} {version}").format(name=n, version=v) for n, v in had.skills.items()]
        if len(parts) > NAMED:
            parts[NAMED - 1 :] = [tr("{} more memories and skills").format(len(parts) - NAMED + 1)]
        if parts:
            lines.append(form.format(tr(" and ").join(filter(None, (", ".join(parts[:-1]), parts[-1])))))
    return lines


def _short(text: str) -> str:
    text = visible(" ".join(text.split())).rstrip(".")
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _signed(more: float, words_: str, form: str) -> str:
    sign = "+" if more > 0 else "−" if more < 0 else "±"
    return sign + form.format(words_)
