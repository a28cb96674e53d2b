"""Runs a command under Landlock and seccomp, as a script of its own that imports nothing of Journeyman.

It stays the parent of every process that the command leaves behind and kills them, so that none outlives the command
or Journeyman.
"""

import ctypes
import json
import os
import signal
import struct
import sys
from pathlib import Path
from types import FrameType

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every machine
_DEATH_SIGNAL, _SECCOMP, _SUBREAPER, _NO_NEW_RIGHTS = 1, 22, 36, 38
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read file, read folder
_FILE = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15  # the rights that apply to files
_ALL = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}  # by version of the Landlock ABI
_NEWEST = (1 << 16) - 1

libc = ctypes.CDLL(None if os.name == "posix" else "msvcrt", use_errno=True)


def call(number: int, *arguments: object) -> int:
    """Make a system call; raise OSError if it fails."""
    found = int(libc.syscall(ctypes.c_long(number), *arguments))
    if found < 0:
        fault = ctypes.get_errno()
        raise OSError(fault, os.strerror(fault))
    return found


def version() -> int:
    """Return the Landlock ABI version of this kernel; 0 without Landlock."""
    try:
        return call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except OSError:
        return 0


def confine(reads: list[str], writes: list[str], program: bytes) -> None:
    """Restrict this process and its children to these paths, without network."""
    found = version()
    rights = _ALL.get(found, _NEWEST)
    attributes = struct.pack("QQQ", rights, 3 if found >= 4 else 0, 3 if found >= 6 else 0)
    size = 24 if found >= 6 else 16 if found >= 4 else 8
    rules = call(_CREATE, ctypes.c_char_p(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    for places, allowed in ((reads, _READ), (writes, rights)):
        for place in places:
            try:
                descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            some = allowed & rights if Path(place).is_dir() else allowed & rights & _FILE
            beneath = struct.pack("=Qi", some, descriptor)
            call(_ADD, ctypes.c_int(rules), ctypes.c_int(1), ctypes.c_char_p(beneath), ctypes.c_uint32(0))
            os.close(descriptor)
    libc.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0)
    call(_RESTRICT, ctypes.c_int(rules), ctypes.c_uint32(0))
    os.close(rules)
    lines = ctypes.create_string_buffer(program, len(program))
    filter_ = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(lines))
    if libc.prctl(_SECCOMP, 2, ctypes.c_char_p(filter_), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no filter")


def end_children() -> None:
    """Kill children until none is left. Orphans become children of this process, which is their subreaper."""
    while True:
        found = Path("/proc/self/task").glob("*/children")
        for pid in [int(pid) for place in found for pid in place.read_text().split()]:
            os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def stop(number: int, frame: FrameType | None) -> None:
    end_children()
    os._exit(128 + number)


def main(words: list[str]) -> None:
    """Run the command that `words[0]` describes as JSON: paths to read and write, filter, folder and command."""
    order = json.loads(words[0])
    signal.signal(signal.SIGTERM, stop)
    libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            confine(order["reads"], order["writes"], bytes.fromhex(order["filter"]))
            os.chdir(order["folder"])
            os.execv(order["command"][0], order["command"])
        except OSError as error:
            os.write(2, f"The command could not be sandboxed: {error}\n".encode())
            os._exit(126)
    while True:
        pid, status = os.wait()
        if pid == child:
            break
    end_children()
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(sys.argv[1:])
