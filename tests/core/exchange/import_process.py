"""Imports a file in a process that a test kills: python -m tests.core.exchange.import_process DATABASE FILE."""

import asyncio
import sys
from pathlib import Path

from tests.core.exchange.home import home


async def main(database: Path, file: Path) -> None:
    """Print a line for each batch written."""
    async with home(database) as made:

        def hear(done: int, size: int) -> None:
            sys.stdout.write(f"{done} {size}\n")
            sys.stdout.flush()

        await made.exchange.import_file(file, hear)
        await made.exchange.index_backlog()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
