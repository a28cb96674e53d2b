"""The system prompt of a run: the agent and its working style, the user's own instructions and skills."""

from collections.abc import Sequence
from pathlib import Path

from core.engine.prompting.instructions import LoadedInstructions
from core.engine.prompting.profiles import AgentProfile, profile_prompt
from core.engine.prompting.prompt_templates import fill_replaceable_template, fill_template, join_sections
from core.engine.prompting.skills_section import skills_section
from core.engine.services.skills import SkillOffer


def system_prompt(
    role_prompt: str, instructions: Sequence[LoadedInstructions], usable_skills: Sequence[SkillOffer]
) -> str:
    """Return the whole system prompt. `role_prompt` is its first part, an `agent_prompt` or a `review_prompt`.

    Project instructions and the skills of the folder are left out; they are in the session context.
    """
    return join_sections(
        role_prompt,
        _own_instructions_section(instructions),
        fill_template("untrusted_data"),
        skills_section([offer for offer in usable_skills if offer.row.source != "folder"], "skills"),
    )


def agent_prompt(profile: AgentProfile, home: Path, *, compact: bool) -> str:
    """Return the part of the system prompt that describes the agent and its working style."""
    role = profile.role.strip()
    values = {"name": profile.name, "role": f" {role}" if role else ""}
    if compact:
        return join_sections(fill_replaceable_template(home, "compact", **values), profile_prompt(profile))
    return join_sections(
        fill_replaceable_template(home, "agent", **values),
        profile_prompt(profile),
        fill_replaceable_template(home, "manners", **values),
    )


def review_prompt(home: Path) -> str:
    """Return the part of the system prompt that describes the review of a session."""
    return fill_replaceable_template(home, "review")


def _own_instructions_section(instructions: Sequence[LoadedInstructions]) -> str:
    """Return the section with the user's own instructions, which apply in every folder; "" if there are none."""
    texts = [loaded.text for loaded in instructions if loaded.is_own and loaded.text]
    if not texts:
        return ""
    return fill_template("own_instructions", text="\n\n".join(texts))
