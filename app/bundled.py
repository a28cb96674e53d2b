"""The entry point of a bundled installation: runs the program, or acts as Python for our own sandboxed scripts."""

import os
import runpy
import sys


def main() -> int:
    """Run `journeyman`. If the first argument starts with `-I`, act as `python -I… SCRIPT` and run the script instead.

    Our own scripts are started with `sys.executable`, which is this program in a bundled installation.
    """
    os.environ.pop("LD_LIBRARY_PATH", None)  # the folder of our libraries, which child processes must not load
    for name in ("stdout", "stderr"):  # a program without a console has no standard streams
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - open until exit
    argv = sys.argv[1:]
    if argv and argv[0].startswith("-I"):
        sys.argv = argv[1:]
        while sys.argv[0].startswith("-"):
            del sys.argv[0]
        runpy.run_path(sys.argv[0], run_name="__main__")
        return 0
    from app.main import main as journeyman
    from core.workspace.program_search import leave_projects_out_of_path

    leave_projects_out_of_path()
    return journeyman(argv[2:] if argv[:2] == ["-m", "app"] else argv)


if __name__ == "__main__":
    sys.exit(main())
