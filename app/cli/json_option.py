"""The option `--json`, which many commands share."""

import argparse


def json_option(command: argparse.ArgumentParser, text: str = "Print one JSON object per line") -> None:
    command.add_argument("--json", action="store_true", help=text)
