"""Where a bundle starts: as the program, or as the Python inside of it, for scripts of ours that run between walls."""

import os
import runpy
import sys


def main() -> int:
    """`-I…` and a script is how we call a Python of our own; nobody else has a use for it."""
    os.environ.pop("LD_LIBRARY_PATH", None)  # for us; other programs have libraries of their own
    for name in ("stdout", "stderr"):  # a program without a terminal has neither
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - for the whole process
    words = sys.argv[1:]
    if words and words[0].startswith("-I"):
        sys.argv = words[1:]
        while sys.argv[0].startswith("-"):
            del sys.argv[0]
        runpy.run_path(sys.argv[0], run_name="__main__")
        return 0
    from app.main import main as journeyman

    return journeyman(words[2:] if words[:2] == ["-m", "app"] else words)


if __name__ == "__main__":
    sys.exit(main())
