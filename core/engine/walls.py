"""How well commands are confined on this computer, proven once, for a person to see before the first command runs."""

from dataclasses import dataclass
from pathlib import Path

from core.domain.consent import Level
from core.domain.problems import Trouble
from core.tools.place import PROOF
from core.workspace.launch import Permit
from core.workspace.sandbox import Sandbox, of_this_machine
from core.workspace.selftest import SAID
from core.workspace.thread import to_its_end


@dataclass(frozen=True, slots=True)
class WallsFound:
    """What the test of the walls showed. `open` is what a command can do all the same; `off` why none runs unasked."""

    name: str
    level: Level
    open: tuple[str, ...] = ()
    off: Trouble | None = None


async def look_at_walls(data: Path) -> WallsFound:
    """Choose and prove them, which the first command then need not wait for."""
    return walls_found(await to_its_end(of_this_machine, data / PROOF))


def walls_found(sandbox: Sandbox) -> WallsFound:
    """In plain values."""
    off, proof = sandbox.off(Permit()), sandbox.proof
    known = tuple(SAID[name] for name in proof.known) if proof else ()
    return WallsFound(sandbox.name, sandbox.level, known, off.trouble if off else None)
