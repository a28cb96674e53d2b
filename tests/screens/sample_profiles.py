"""Sample agent profiles for the screenshots of the settings."""

from pathlib import Path
from typing import Final

from core.engine.prompting.profile_files import ProfileFile
from core.engine.prompting.profiles import AgentProfile

_FOLDER: Final = Path("~/.local/share/journeyman/agents")
_PROOFREADER: Final = AgentProfile(
    "proofreader", "Reads letters before they are sent", tools=("read", "find", "search", "edit"), tier="small"
)
_REVIEWER: Final = AgentProfile("reviewer", role="A reviewer who changes nothing", model="ollama/qwen3:32b", tools=())
PROFILES: Final = (
    ProfileFile("gardener", _FOLDER / "gardener.toml", error="The agent profile 'gardener' cannot be read."),
    ProfileFile("proofreader", _FOLDER / "proofreader.toml", profile=_PROOFREADER),
    ProfileFile("reviewer", _FOLDER / "reviewer.toml", profile=_REVIEWER),
)
