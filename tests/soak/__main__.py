"""Soak test: run random scripts with faults, kills and restarts for a while, and check every invariant after each."""

import argparse
import random
import socket
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.process_health import FROZEN_MS
from tests.soak.resident import Resident
from tests.soak.script_generator import ScriptGenerator
from tests.soak.soaked_folder import InvariantViolated, SoakedFolder

MOST_MB, MOST_HANDLES = 20.0, 4


def main(words: list[str]) -> int:
    read = argparse.ArgumentParser(prog="dev.py soak", description=__doc__)
    read.add_argument("--minutes", type=float, default=60.0)
    read.add_argument("--seed", type=int, default=int(time.time()), help="seed of all random choices")
    asked = read.parse_args(words)
    print(f"seed {asked.seed}, {asked.minutes:g} minutes", flush=True)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        return soak(Path(folder), listener, asked.minutes, random.Random(asked.seed))


def soak(folder: Path, listener: socket.socket, minutes: float, chance: random.Random) -> int:
    """Return exit code 0 if every invariant held and neither memory nor handles grew."""
    scripts = ScriptGenerator(chance, listener.getsockname()[1])
    resident = Resident(folder / "window", chance, scripts)
    place, homes, cycles = SoakedFolder(folder / "0", chance, scripts), 0, 0
    began = time.monotonic()
    end, minute = began + minutes * 60, 0
    events = effects = 0
    try:
        while time.monotonic() < end:
            resident.run_once()
            place.run_once()
            cycles += 1
            if (gone := int((time.monotonic() - began) / 60)) > minute:
                minute = gone
                print(f"minute {minute}: {cycles} cycles; window: {resident.describe_size()}", flush=True)
            if cycles % 25 == 0:  # start over: with hundreds of sessions the checks would take longer than the runs
                print(f"{cycles} cycles; {dict(place.counts)}", flush=True)
                events, effects = events + place.counts["events"], effects + place.counts["effects"]
                homes += 1
                place = SoakedFolder(folder / str(homes), chance, scripts)
        resident.end()
    except (InvariantViolated, AssertionError) as broken:
        print(f"FAILED after {cycles} cycles: {broken}")
        return 1
    finally:
        if resident.process.poll() is None:
            resident.process.kill()
            resident.process.wait()
    events, effects = events + place.counts["events"], effects + place.counts["effects"]
    return report(
        resident,
        was_port_reached(listener),
        f"{cycles} cycles, {homes + 1} data folders, {events} events, {effects} effects",
    )


def report(resident: Resident, out: bool, done: str) -> int:
    """Print the results; return exit code 0 if all are within their limits."""
    grown, handles = resident.growth() if resident.sizes else (0.0, 0)
    stalls = [ms for ms in resident.stalls() if ms >= FROZEN_MS]
    print(f"{done}, {resident.runs} runs in one window")
    print(
        f"O1-O7, O9, O11: 0 violations; O8: {'PORT REACHED' if out else 'no port reached'}; "
        f"O10: {len(stalls)} stalls {stalls}"
    )
    print(
        f"the window grew by {grown:.1f} MB and {handles} handles (from {resident.sizes[:1]} to {resident.sizes[-1:]})"
    )
    return int(out or bool(stalls) or grown > MOST_MB or handles > MOST_HANDLES)


def was_port_reached(listener: socket.socket) -> bool:
    """Return whether a sandboxed command reached a port of this machine (O8)."""
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
