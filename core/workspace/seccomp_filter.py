"""The seccomp filter of system calls for commands, as a BPF program."""

import errno
import struct
from dataclasses import dataclass

_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST, _SECOND = 0, 4, 16, 24  # offsets in struct seccomp_data; the low halves of the arguments
_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_TTY_PUSH, _TTY_PASTE = 0x5412, 0x541C  # TIOCSTI, TIOCLINUX: they insert input into the terminal
_X32 = 0x40000000
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK, _AF_PACKET, _AF_VSOCK = 1, 2, 10, 16, 17, 40


@dataclass(frozen=True, slots=True)
class _Machine:
    audit: int
    clone: int
    clone3: int
    socket: int
    ioctl: int
    denied: tuple[int, ...]


# Debugging of other processes, kernel keys, bpf, io_uring (it opens files and connects past every filter), mounts and
# namespaces, file handles that open files without a path, modules, swap, clocks, host names.
MACHINES = {
    "x86_64": _Machine(
        *(0xC000003E, 56, 435, 41, 16),
        (
            *(101, 310, 311, 312, 248, 249, 250, 321, 425, 426, 427, 165, 166, 155, 161, 272, 308),
            *(428, 429, 430, 431, 432, 433, 442, 303, 304, 298, 323, 175, 313, 176, 246, 320, 167, 168, 169),
            *(163, 179, 443, 180, 212, 172, 173, 164, 227, 159, 305, 170, 171, 154, 134, 153, 103, 300),
        ),
    ),
    "aarch64": _Machine(
        *(0xC00000B7, 220, 435, 198, 29),
        (
            *(117, 270, 271, 272, 217, 218, 219, 280, 425, 426, 427, 40, 39, 41, 51, 97, 268),
            *(428, 429, 430, 431, 432, 433, 442, 264, 265, 241, 282, 105, 273, 106, 104, 294, 224, 225, 142),
            *(89, 60, 443, 18, 170, 112, 171, 266, 161, 162, 58, 116, 262),
        ),
    ),
}


def filter_program(machine: str, *, sockets: bool = True) -> bytes:
    """Return the filter. `sockets=False` also denies sockets, for launchers without a network namespace."""
    here = MACHINES[machine]
    lines = [_line(_LOAD, _MACHINE), _line(_EQUAL, here.audit, 1, 0), _line(_RETURN, _KILL), _line(_LOAD, _NUMBER)]
    if machine == "x86_64":
        lines += [_line(_AT_LEAST, _X32, 0, 1), _refuse(errno.EPERM)]
    for number in here.denied:
        lines += [_line(_EQUAL, number, 0, 1), _refuse(errno.EPERM)]
    lines += _when(
        here.clone3, [_refuse(errno.ENOSYS)]
    )  # a filter cannot read its flags, which are in memory; libraries fall back to clone
    lines += _when(here.clone, [_line(_LOAD, _FIRST), _line(_ANY_BIT, _NAMESPACES, 0, 1), _refuse(errno.EPERM)])
    lines += _when(here.ioctl, [_line(_LOAD, _SECOND), *_one_of((_TTY_PUSH, _TTY_PASTE), errno.EPERM)])
    families = (
        (_AF_VSOCK, _AF_PACKET) if sockets else (_AF_VSOCK, _AF_PACKET, _AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK)
    )
    lines += _when(here.socket, [_line(_LOAD, _FIRST), *_one_of(families, errno.EACCES)])
    return b"".join([*lines, _line(_RETURN, _ALLOW)])


def _line(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


def _refuse(fault: int) -> bytes:
    return _line(_RETURN, _ERROR | fault)


def _one_of(values: tuple[int, ...], fault: int) -> list[bytes]:
    return [line for value in values for line in (_line(_EQUAL, value, 0, 1), _refuse(fault))]


def _when(number: int, lines: list[bytes]) -> list[bytes]:
    """Return these instructions for one system call; its number is loaded again after them."""
    return [_line(_EQUAL, number, 0, len(lines) + 1), *lines, _line(_LOAD, _NUMBER)]
