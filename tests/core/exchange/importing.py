"""A process that imports a file, to be killed: python -m tests.core.exchange.importing DATABASE FILE."""

import asyncio
import sys
from pathlib import Path

from tests.core.exchange.home import home


async def main(database: Path, file: Path) -> None:
    """A line for each part that is written."""
    async with home(database) as made:

        def hear(done: int, size: int) -> None:
            sys.stdout.write(f"{done} {size}\n")
            sys.stdout.flush()

        await made.desk.bring(file, hear)
        await made.desk.make_findable()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
