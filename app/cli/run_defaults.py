"""Options of `run` whose defaults are environment variables."""

import argparse
from collections.abc import Mapping

RUN_VARIABLES = {
    "JOURNEYMAN_MODEL": "--model",
    "JOURNEYMAN_TEMPERATURE": "--temperature",
    "JOURNEYMAN_MAX_OUTPUT_TOKENS": "--max-output-tokens",
}


def with_run_defaults(argv: list[str], args: argparse.Namespace, environ: Mapping[str, str]) -> list[str]:
    """Return the arguments; those of `run` with the options that only our environment sets.

    They are added here, because the process that holds the data folder may have another environment.
    """
    if args.command != "run":
        return argv
    is_set = {
        "--model": bool(args.model or args.agent or args.script),  # a profile may name a model
        "--temperature": args.temperature is not None,
        "--max-output-tokens": any(word.startswith("--max-output-tokens") for word in argv),
    }
    names = [name for name, option in RUN_VARIABLES.items() if environ.get(name) and not is_set[option]]
    defaults = [f"{RUN_VARIABLES[name]}={environ[name]}" for name in names]
    # Directly after the command, because an option at the end may follow `--`. In `--data-dir run run TASK`, the first
    # `run` is the name of the data folder.
    start = 2 if argv[0] == "--data-dir" else 0
    after_command = argv.index("run", start) + 1
    return [*argv[:after_command], *defaults, *argv[after_command:]]
