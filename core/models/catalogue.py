"""Every model there is, by name."""

from core.domain.problems import Problem
from core.models.model import Model
from core.models.script import read_script
from core.models.scripted import Scripted

SCRIPTED = "scripted"


def model_for(name: str, script: str) -> Model:
    """The model a run was started with."""
    if name == SCRIPTED:
        return Scripted(read_script(script))
    raise Problem(f"There is no model {name!r}.", "", f"The models are: {SCRIPTED}.")
