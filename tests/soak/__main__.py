"""Soak: random scripts, faults, kills and restarts for so many minutes, with every oracle after each of them."""

import argparse
import random
import socket
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.health import FROZEN_MS
from tests.soak.place import Broken, Place
from tests.soak.resident import Resident
from tests.soak.scripts import Scripts

MOST_MB, MOST_HANDLES = 20.0, 4


def main(words: list[str]) -> int:
    read = argparse.ArgumentParser(prog="dev.py soak", description=__doc__)
    read.add_argument("--minutes", type=float, default=60.0)
    read.add_argument("--seed", type=int, default=int(time.time()), help="says what is done, in which order")
    asked = read.parse_args(words)
    print(f"seed {asked.seed}, {asked.minutes:g} minutes", flush=True)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        return soak(Path(folder), listener, asked.minutes, random.Random(asked.seed))


def soak(folder: Path, listener: socket.socket, minutes: float, chance: random.Random) -> int:
    """0 when nothing broke and nothing grew."""
    scripts = Scripts(chance, listener.getsockname()[1])
    resident = Resident(folder / "window", chance, scripts)
    place, homes, turns = Place(folder / "0", chance, scripts), 0, 0
    began = time.monotonic()
    end, minute = began + minutes * 60, 0
    facts = effects = 0
    try:
        while time.monotonic() < end:
            resident.go()
            place.go()
            turns += 1
            if (gone := int((time.monotonic() - began) / 60)) > minute:
                minute = gone
                print(f"minute {minute}: {turns} turns; the window {resident.size_in_words()}", flush=True)
            if turns % 25 == 0:  # a home of hundreds of sessions would be looked at for longer than it is used
                print(f"{turns} turns; {dict(place.counts)}", flush=True)
                facts, effects = facts + place.counts["facts"], effects + place.counts["effects"]
                homes += 1
                place = Place(folder / str(homes), chance, scripts)
        resident.end()
    except (Broken, AssertionError) as broken:
        print(f"BROKEN after {turns} turns: {broken}")
        return 1
    finally:
        if resident.process.poll() is None:
            resident.process.kill()
            resident.process.wait()
    facts, effects = facts + place.counts["facts"], effects + place.counts["effects"]
    return told(resident, got_out(listener), f"{turns} turns, {homes + 1} homes, {facts} facts, {effects} effects")


def told(resident: Resident, out: bool, done: str) -> int:
    """The figures, and whether they are good."""
    grown, handles = resident.growth() if resident.sizes else (0.0, 0)
    stalls = [ms for ms in resident.stalls() if ms >= FROZEN_MS]
    print(f"{done}, {resident.runs} runs in one window")
    print(f"O1-O7, O9, O11: 0 breaks; O8: {'REACHED' if out else 'nobody got out'}; O10: {len(stalls)} stalls {stalls}")
    print(
        f"the window grew by {grown:.1f} MB and {handles} handles (from {resident.sizes[:1]} to {resident.sizes[-1:]})"
    )
    return int(out or bool(stalls) or grown > MOST_MB or handles > MOST_HANDLES)


def got_out(listener: socket.socket) -> bool:
    """O8: whether a command reached a port of this machine."""
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
