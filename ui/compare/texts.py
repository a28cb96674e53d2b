"""The texts of a comparison. They state what differs, and do not guess at causes."""

from typing import Final

from PySide6.QtCore import QCoreApplication

from core.domain.clock import SECOND
from core.domain.steps import Step, verb
from core.timeline.run_alignment import AlignedPair, Alignment, RunTotals
from core.timeline.used_knowledge import UsedKnowledge
from ui.base.step_presentation import changed_line_badges, plural, status_style
from ui.base.step_presentation import translate as translate_step_label
from ui.compare.lines import ComparisonLine, is_equal, totals_delta
from ui.style.number_formats import amount, duration, money
from ui.text.visible import visible

MAX_LISTED: Final = 3  # items listed for each side; if there are more, the last one is the number of the others
MAX_MEMORY_LENGTH: Final = 70  # characters of a memory that are shown


def tr(text: str) -> str:
    return QCoreApplication.translate("compare", text)


def step_verb(step: Step) -> str:
    """Return the verb of a step, in the user's language."""
    return translate_step_label(verb(step.kind, step.status))


def step_figure(step: Step) -> str:
    """Return the text at the right of a step: the numbers of changed lines, or else the duration."""
    if line_counts := changed_line_badges(step):
        return " ".join(badge.text for badge in line_counts)
    return duration(max(0, step.ended_at - step.started_at) if step.ended_at else 0)


def step_numbers(pair: AlignedPair) -> str:
    """Return the step number of a pair; if the two sides have different numbers, both."""
    numbers = [str(step.number) for step in (pair.a, pair.b) if step]
    return " · ".join(dict.fromkeys(numbers))  # an equal number is not repeated


def pair_note(pair: AlignedPair) -> str:
    """Return what distinguishes two steps that look alike; "" if their texts already differ."""
    return tr("with other arguments") if pair.differs_in_arguments else ""


def fold_text(line: ComparisonLine, alignment: Alignment) -> str:
    parts = []
    if line.steps:
        parts.append(tr("1 equal step") if line.steps == 1 else tr("{} equal steps").format(line.steps))
    if line.precedes_difference and alignment.first_difference is not None:
        pair = alignment.pairs[alignment.first_difference]
        parts.append(tr("first difference at step {}").format(step_numbers(pair)))
    return " · ".join(parts)


def accessible_line_text(line: ComparisonLine, alignment: Alignment) -> str:
    """Return the text of a line for screen readers."""
    if line.pair is None:
        return fold_text(line, alignment)
    left, right, number = line.pair.a, line.pair.b, step_numbers(line.pair)
    if is_equal(line.pair) and left and right and left.object == right.object:
        return tr("Step {number}, in both: {step}").format(number=number, step=_step_text(left))
    sides = [tr("left: {}").format(_step_text(left)), tr("right: {}").format(_step_text(right))]
    if note := pair_note(line.pair):
        sides.append(note)
    # Thoughts count as equal whatever their texts.
    template = tr("Step {number}, equal. {sides}") if is_equal(line.pair) else tr("Step {number}, different. {sides}")
    return template.format(number=number, sides=", ".join(sides))


def _step_text(step: Step | None) -> str:
    if step is None:
        return tr("nothing")
    parts = (
        f"{step_verb(step)} {visible(step.object)}".strip(),
        step_figure(step),
        translate_step_label(status_style(step.status).label).lower(),
    )
    return ", ".join(part for part in parts if part)


def totals_line(totals: RunTotals) -> str:
    """Return the totals of a run, such as `61 steps · 2 failed · 9m 20s · 212k tok · $0.41`."""
    parts = [
        plural(totals.steps, "step", "steps"),
        tr("{} failed").format(totals.failed) if totals.failed else "",
        duration(round(totals.seconds * SECOND)),
        tr("{} tok").format(amount(totals.tokens)) if totals.tokens else "",
        tr("cost unknown") if totals.cost is None else money(totals.cost),
    ]
    return " · ".join(part for part in parts if part)


def delta_line(alignment: Alignment) -> str:
    """Return how the totals of the right run differ from those of the left one."""
    delta = totals_delta(alignment.a, alignment.b)
    parts = [
        _sign(delta.steps) + plural(abs(delta.steps), "step", "steps"),
        _sign(delta.seconds) + (duration(round(abs(delta.seconds) * SECOND)) or "0s"),
        _sign(delta.tokens) + tr("{} tok").format(amount(abs(delta.tokens))),
        tr("cost unknown") if delta.cost is None else _sign(delta.cost) + money(abs(delta.cost)),
    ]
    return " · ".join(parts)


def learned_lines(alignment: Alignment) -> list[str]:
    """Return a sentence for each side that used memories or skills that the other side did not use."""
    only_left = alignment.used_a.without(alignment.used_b)
    only_right = alignment.used_b.without(alignment.used_a)
    sentences = (
        (tr("Only the left session used {}."), only_left),
        (tr("Only the right session used {}."), only_right),
    )
    return [sentence.format(_knowledge_list(used)) for sentence, used in sentences if used.memories or used.skills]


def _knowledge_list(used: UsedKnowledge) -> str:
    """Return the first memories and skills and the number of the others, such as `the memory “…” and 2 more …`."""
    parts = [tr("the memory “{}”").format(_shortened(text)) for text in used.memories.values()]
    skill_text = tr("the skill {name} {version}")
    parts += [skill_text.format(name=name, version=version) for name, version in used.skills.items()]
    if len(parts) > MAX_LISTED:
        listed = parts[: MAX_LISTED - 1]
        parts = [*listed, tr("{} more memories and skills").format(len(parts) - len(listed))]
    *others, last = parts
    return tr(" and ").join((", ".join(others), last)) if others else last


def _shortened(text: str) -> str:
    text = visible(" ".join(text.split())).rstrip(".")
    return text if len(text) <= MAX_MEMORY_LENGTH else text[: MAX_MEMORY_LENGTH - 1] + "…"


def _sign(delta: float) -> str:
    if delta == 0:
        return "±"
    return "+" if delta > 0 else "−"
