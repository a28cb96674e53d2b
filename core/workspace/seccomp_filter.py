"""The seccomp filters for commands, as BPF programs."""

import errno
import struct
from collections.abc import Iterable

from core.workspace.syscall_numbers import SYSCALL_NUMBERS

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # supported architectures, with their AUDIT_ARCH value

_SECCOMP_RET_ALLOW = 0x7FFF0000
_SECCOMP_RET_USER_NOTIF = 0x7FC00000
_SECCOMP_RET_KILL_PROCESS = 0x80000000
_SECCOMP_RET_ERRNO = 0x00050000
# BPF instructions. The last three are jumps.
_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K
_EQUAL = 0x15  # BPF_JMP | BPF_K | BPF_JEQ
_AT_LEAST = 0x35  # BPF_JMP | BPF_K | BPF_JGE
_ANY_BIT = 0x45  # BPF_JMP | BPF_K | BPF_JSET
# Offsets in struct seccomp_data.
_NUMBER = 0
_MACHINE = 4
_FIRST = 16
_SECOND = 24
_THIRD = 32
_FOURTH = 40
_CLONE_NEW_ANY = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_X32_SYSCALL_BIT = 0x40000000
_AF_UNIX = 1
_AF_INET = 2
_AF_INET6 = 10
_AF_NETLINK = 16
_TIOCSTI = 0x5412
_TIOCLINUX = 0x541C
_TERMINAL_INPUT = (_TIOCSTI, _TIOCLINUX)  # they inject input into the terminal
_FS_IOC_SETFLAGS = 0x40086602
_FS_IOC_FSSETXATTR = 0x401C5820
_FILE_FLAGS = (_FS_IOC_SETFLAGS, _FS_IOC_FSSETXATTR)  # they need no write access to the file
_F_SETOWN = 8
_F_SETSIG = 10
_F_SETOWN_EX = 15
_SIGNAL_OWNER = (_F_SETOWN, _F_SETSIG, _F_SETOWN_EX)  # by which the kernel sends any signal to any process
_PER_LINUX = 0
_PER_LINUX32 = 8
_UNAME26 = 0x20000
_ADDR_NO_RANDOMIZE = 0x40000
_QUERY = 0xFFFFFFFF
_PERSONALITIES = (_PER_LINUX, _PER_LINUX32, _UNAME26, _UNAME26 | _PER_LINUX32, _ADDR_NO_RANDOMIZE, _QUERY)
# The setuid and setgid bits, and the calls that can set them, with their mode argument. Other users could run a setuid
# program of a command outside the sandbox.
_S_ISUID = 0o4000
_S_ISGID = 0o2000
_MODES = {
    "chmod": _SECOND,
    "fchmod": _SECOND,
    "fchmodat": _THIRD,
    "fchmodat2": _THIRD,
    "creat": _SECOND,
    "mknod": _SECOND,
    "mknodat": _THIRD,
}
# Calls that can create a file, with their flags and mode arguments.
_CREATING = {"open": (_SECOND, _THIRD), "openat": (_THIRD, _FOURTH)}
_O_ACCMODE = 0o3
_O_WRONLY = 0o1
_O_RDWR = 0o2
_O_CREAT = 0o100
_O_TRUNC = 0o1000
_O_TMPFILE = 0o20000000
# Calls on all processes of a user, with the value of their first argument: PRIO_USER, IOPRIO_WHO_USER.
_ALL_PROCESSES_OF_A_USER = {"setpriority": 2, "ioprio_set": 3}

# Denied in every sandbox: debugging other processes, kernel keys, bpf, io_uring (which opens files and connects past
# every filter), mounts, namespaces, file handles (which open files without a path), modules, swap, clocks, host names.
_DENIED = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise", "process_mrelease"),
    *("migrate_pages", "move_pages", "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "mount", "umount2", "pivot_root", "chroot", "unshare"),
    *("setns", "open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"),
    *("name_to_handle_at", "open_by_handle_at", "init_module", "finit_module", "delete_module", "kexec_load"),
    *("kexec_file_load", "swapon", "swapoff", "reboot", "acct", "quotactl", "quotactl_fd", "nfsservctl"),
    *("lookup_dcookie", "iopl", "ioperm", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "sethostname"),
    *("setdomainname", "modify_ldt", "uselib", "vhangup", "syslog", "fanotify_init"),
)
# IPC objects that a namespace separates from those of other programs, but Landlock does not.
_SHARED_MEMORY = (
    *("shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop"),
    *("msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink"),
)
_EXTENDED_ATTRIBUTES = (
    *("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"),
    *("setxattrat", "removexattrat", "file_setattr"),
)
# Calls that Landlock cannot restrict. The supervisor performs them if the file is in a writable folder.
_METADATA = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"),
    *("utime", "utimes", "futimesat", "utimensat", "inotify_add_watch"),
)
# Calls that the supervisor admits on processes of the command. Their first argument is a pid, or 0 for the caller.
_PROCESS_LIMITS = ("prlimit64", "sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr")
_SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
# First Landlock ABI versions that restrict signals and truncate.
_SCOPES_SIGNALS = 6
_KNOWS_TRUNCATION = 3


def number_of(name: str, machine: str) -> int:
    """Return the number of a system call; -1 if the architecture does not have it."""
    return SYSCALL_NUMBERS[name][list(MACHINES).index(machine)]


def supervised_calls(machine: str, version: int) -> dict[int, str]:
    """Return the system calls, by number, that the filter passes to the supervisor under this Landlock ABI version."""
    names = [*_METADATA, *_PROCESS_LIMITS, *_ALL_PROCESSES_OF_A_USER]
    if version < _SCOPES_SIGNALS:
        names += _SIGNALS
    if version < _KNOWS_TRUNCATION:
        names.append("truncate")
    return {number: name for name in names if (number := number_of(name, machine)) >= 0}


def bubblewrap_filter(machine: str) -> bytes:
    """Return the filter for bubblewrap, whose namespaces already separate processes, files and networks."""
    sockets = [_load(_FIRST)]
    for family in (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK):
        sockets += [_line(_EQUAL, family, 0, 1), _return(_SECCOMP_RET_ALLOW)]
    return _with_common_rules(machine, _when(machine, "socket", [*sockets, _refuse(errno.EACCES)]))


def landlock_filter(machine: str, version: int) -> bytes:
    """Return the filter for commands that only this Landlock ABI version separates; it also denies all sockets."""
    supervised = supervised_calls(machine, version)
    lines = _deny(machine, ["socket"], errno.EACCES)
    lines += _deny(machine, _SHARED_MEMORY, errno.EPERM) + _deny(machine, _EXTENDED_ATTRIBUTES, errno.ENOTSUP)
    lines += _when(machine, "ioctl", [_load(_SECOND), *_refuse_values(_FILE_FLAGS, errno.EPERM)])
    for name in _PROCESS_LIMITS:
        lines += _when(machine, name, [_load(_FIRST), _line(_EQUAL, 0, 1, 0), _return(_SECCOMP_RET_USER_NOTIF)])
    for name, user in _ALL_PROCESSES_OF_A_USER.items():
        own = [_load(_FIRST), *_refuse_values((user,), errno.EPERM), _load(_SECOND), _line(_EQUAL, 0, 1, 0)]
        lines += _when(machine, name, [*own, _return(_SECCOMP_RET_USER_NOTIF)])
    conditional = (*_PROCESS_LIMITS, *_ALL_PROCESSES_OF_A_USER)
    for number, name in supervised.items():
        if name not in conditional:
            lines += [_line(_EQUAL, number, 0, 1), _return(_SECCOMP_RET_USER_NOTIF)]
    if version < _SCOPES_SIGNALS:
        lines += _deny(machine, ["pidfd_send_signal"], errno.EPERM)
        lines += _when(machine, "fcntl", [_load(_SECOND), *_refuse_values(_SIGNAL_OWNER, errno.EPERM)])
    if version < _KNOWS_TRUNCATION:
        for name, flags in (("open", _SECOND), ("openat", _THIRD)):
            lines += _when(machine, name, _refuse_truncation(flags))
    return _with_common_rules(machine, lines)


def _with_common_rules(machine: str, special_lines: list[bytes]) -> bytes:
    """Return a complete filter: the rules common to all sandboxes, then the special instructions of one."""
    lines = [
        _load(_MACHINE),
        _line(_EQUAL, MACHINES[machine], 1, 0),
        _return(_SECCOMP_RET_KILL_PROCESS),
        _load(_NUMBER),
    ]
    if machine == "x86_64":
        lines += [_line(_AT_LEAST, _X32_SYSCALL_BIT, 0, 1), _refuse(errno.EPERM)]
    lines += _deny(machine, _DENIED, errno.EPERM)
    # Their arguments are in memory, where a filter cannot read them. After ENOSYS, libraries use clone and openat.
    lines += _deny(machine, ["clone3", "openat2"], errno.ENOSYS)
    for name, mode in _MODES.items():
        lines += _when(machine, name, [_load(mode), _line(_ANY_BIT, _S_ISUID | _S_ISGID, 0, 1), _refuse(errno.EPERM)])
    for name, (flags, mode) in _CREATING.items():
        privileged = [_load(mode), _line(_ANY_BIT, _S_ISUID | _S_ISGID, 0, 1), _refuse(errno.EPERM)]
        lines += _when(
            machine, name, [_load(flags), _line(_ANY_BIT, _O_CREAT | _O_TMPFILE, 0, len(privileged)), *privileged]
        )
    lines += _when(machine, "clone", [_load(_FIRST), _line(_ANY_BIT, _CLONE_NEW_ANY, 0, 1), _refuse(errno.EPERM)])
    lines += _when(machine, "ioctl", [_load(_SECOND), *_refuse_values(_TERMINAL_INPUT, errno.EPERM)])
    usual = [line for value in _PERSONALITIES for line in (_line(_EQUAL, value, 0, 1), _return(_SECCOMP_RET_ALLOW))]
    lines += _when(machine, "personality", [_load(_FIRST), *usual, _refuse(errno.EPERM)])
    return b"".join([*lines, *special_lines, _return(_SECCOMP_RET_ALLOW)])


def _deny(machine: str, names: Iterable[str], fault: int) -> list[bytes]:
    numbers = [number for name in names if (number := number_of(name, machine)) >= 0]
    return [line for number in numbers for line in (_line(_EQUAL, number, 0, 1), _refuse(fault))]


def _refuse_values(values: Iterable[int], fault: int) -> list[bytes]:
    return [line for value in values for line in (_line(_EQUAL, value, 0, 1), _refuse(fault))]


def _refuse_truncation(flags: int) -> list[bytes]:
    """Return instructions that refuse O_TRUNC unless the file is opened for writing.

    Landlock before ABI version 3 does not restrict truncation. `flags` is the argument with the flags.
    """
    return [
        *(_load(flags), _line(_ANY_BIT, _O_TRUNC, 0, 4), _line(_AND, _O_ACCMODE), _line(_EQUAL, _O_WRONLY, 2, 0)),
        *(_line(_EQUAL, _O_RDWR, 1, 0), _refuse(errno.EPERM)),
    ]


def _when(machine: str, name: str, lines: list[bytes]) -> list[bytes]:
    """Return instructions that run `lines` for one system call only and then load the call's number again."""
    number = number_of(name, machine)
    return [] if number < 0 else [_line(_EQUAL, number, 0, len(lines) + 1), *lines, _load(_NUMBER)]


def _load(offset: int) -> bytes:
    """Load a field of struct seccomp_data; of an argument only the low half, because the tested ones are ints."""
    return _line(_LOAD, offset)


def _line(code: int, value: int, skipped_if_true: int = 0, skipped_if_false: int = 0) -> bytes:
    """Return a BPF instruction; a jump skips one of these numbers of instructions, depending on its condition."""
    return struct.pack("HBBI", code, skipped_if_true, skipped_if_false, value)


def _return(action: int) -> bytes:
    return _line(_RETURN, action)


def _refuse(fault: int) -> bytes:
    return _return(_SECCOMP_RET_ERRNO | fault)
