"""Creates copies of the sample folder, in which the demo and the first task work."""

import shutil
from importlib import resources
from pathlib import Path

from core.domain.problems import Problem


def sample_folder(home: Path) -> Path:
    """Create and return a new copy of the sample folder in the data folder `home`; raise Problem on failure."""
    number = 1
    while (folder := home / "demo" / f"letters-{number}").exists():
        number += 1
    with resources.as_file(resources.files("resources") / "demo" / "letters") as source:
        try:
            shutil.copytree(source, folder)
        except OSError as error:  # possibly shutil.Error, whose argument is a list of errors
            shutil.rmtree(folder, ignore_errors=True)
            why = error.strerror or str(error.args[0][0][2])
            do = "Free some space there, or choose another data folder with --data-dir."
            raise Problem(f"The sample folder {folder} cannot be created.", why, do) from error
    return folder
