"""The section of a prompt that lists the skills, shortened to a limit."""

from collections.abc import Sequence
from itertools import accumulate

from core.domain.skill import DESCRIPTION_LIMIT, SKILL_SOURCES, SkillRow
from core.domain.visible import visible
from core.engine.prompting.prompt_templates import fill_template
from core.engine.services.skills import SkillOffer

SKILLS_MAX_CHARS = 4_000  # limit for the lines of one list, without the line breaks
DESCRIPTION_MAX_CHARS = (DESCRIPTION_LIMIT, DESCRIPTION_LIMIT // 3, 0)  # tried in this order until all skills fit


def skills_section(skills: Sequence[SkillOffer], template_name: str) -> str:
    """Return the section that lists the skills, within `SKILLS_MAX_CHARS`; "" if there are none for models.

    If the list is too long, descriptions are shortened first, then omitted, and finally the least used skills are
    omitted. The order does not depend on the use, so that the section rarely changes and stays in prompt caches.
    """
    rows = [offer.row for offer in skills if not offer.row.user_only]
    if not rows:
        return ""
    by_importance = sorted(rows, key=_importance)
    description_chars = _description_chars(by_importance)
    included = _first_that_fit(by_importance, description_chars)
    lines = [_line(row, description_chars) for row in sorted(included, key=_place_in_list)]
    if len(included) < len(rows):
        lines.append(f"and {len(rows) - len(included)} more")
    return fill_template(template_name, list="\n".join(lines))


def _importance(row: SkillRow) -> tuple[bool, int, int, str]:
    """Return a sort key by which the skills to omit last come first."""
    return (not row.pinned, SKILL_SOURCES.index(row.source), -row.use_count, row.name)


def _place_in_list(row: SkillRow) -> tuple[bool, str]:
    """Return a sort key for the order in the prompt."""
    return (not row.pinned, row.name)


def _description_chars(rows: Sequence[SkillRow]) -> int:
    """Return the greatest length of descriptions with which all skills fit; 0 if they do not fit with any."""
    for max_chars in DESCRIPTION_MAX_CHARS:
        if sum(len(_line(row, max_chars)) for row in rows) <= SKILLS_MAX_CHARS:
            return max_chars
    return 0


def _first_that_fit(rows: Sequence[SkillRow], description_chars: int) -> list[SkillRow]:
    """Return as many skills, from the first one on, as fit into the list."""
    sizes = accumulate(len(_line(row, description_chars)) for row in rows)
    return [row for row, size in zip(rows, sizes, strict=True) if size <= SKILLS_MAX_CHARS]


def _line(row: SkillRow, description_chars: int) -> str:
    if not description_chars:
        return f"- {row.name}"
    return f"- {row.name}: {_shortened(row.description, description_chars)}"


def _shortened(description: str, max_chars: int) -> str:
    """Return the description on one line of at most `max_chars` characters."""
    line = " ".join(visible(description).split())
    if len(line) <= max_chars:
        return line
    return line[: max_chars - 1].rstrip() + "…"
