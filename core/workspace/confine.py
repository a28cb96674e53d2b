"""A script that runs a command under Landlock and seccomp; it imports nothing else of Journeyman.

This process is the subreaper of the command: it adopts and kills every process that the command leaves behind, so that
none outlives the command or Journeyman. It also supervises system calls that Landlock does not restrict, such as chmod,
which seccomp passes to it. It performs calls on files itself, if the file is in a writable folder, and admits calls on
processes that belong to the command.
"""

import _thread
import ctypes
import errno
import os
import signal
import sys
from pathlib import Path
from struct import error as struct_error
from struct import pack, unpack, unpack_from

# The names are those in the headers of the kernel. A constant with one value has it on all architectures.
_SYS_LANDLOCK_CREATE_RULESET, _SYS_LANDLOCK_ADD_RULE, _SYS_LANDLOCK_RESTRICT_SELF, _SYS_PIDFD_GETFD = 444, 445, 446, 438
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
_SYS_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91}
_CLONE_PARENT, _CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER = 0x8000, 0x20000, 0x8000000, 0x10000000
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
_CAP_LAST_CAP, _LINUX_CAPABILITY_VERSION_3 = 40, 0x20080522
_LANDLOCK_CREATE_RULESET_VERSION, _LANDLOCK_RULE_PATH_BENEATH = 1, 1
# These are the LANDLOCK_ACCESS_FS_... rights.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL_DEV = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_READ_RIGHTS = _EXECUTE | _READ_FILE | _READ_DIR
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV  # the others exist only for folders
_ALL_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}  # by Landlock ABI version
_NEWEST_RIGHTS = (1 << 16) - 1
_ALL_NETWORK = 1 << 0 | 1 << 1  # LANDLOCK_ACCESS_NET_BIND_TCP and LANDLOCK_ACCESS_NET_CONNECT_TCP
_ALL_SCOPES = 1 << 0 | 1 << 1  # LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET and LANDLOCK_SCOPE_SIGNAL
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 1 << 14, 1 << 18
_SECCOMP_SET_MODE_FILTER, _SECCOMP_FILTER_FLAG_NEW_LISTENER, _SECCOMP_USER_NOTIF_FLAG_CONTINUE = 1, 8, 1
_SECCOMP_IOCTL_NOTIF_RECV, _SECCOMP_IOCTL_NOTIF_SEND, _SECCOMP_IOCTL_NOTIF_ID_VALID = 0xC0502100, 0xC0182101, 0x40082102
_NOTIFICATION_BYTES = 80  # sizeof(struct seccomp_notif)
_AT_FDCWD, _AT_SYMLINK_NOFOLLOW, _AT_EMPTY_PATH, _IN_DONT_FOLLOW = -100, 0x100, 0x1000, 0x02000000
_S_IFMT, _S_IFDIR, _PATH_MAX = 0o170000, 0o040000, 4096

libc = ctypes.CDLL(None if os.name == "posix" else "msvcrt", use_errno=True)


def call(number: int, *arguments: object) -> int:
    """Make a system call and return its result; raise OSError if it fails."""
    return checked(libc.syscall(ctypes.c_long(number), *arguments))


def checked(result: int) -> int:
    """Return the result of a C function; raise OSError with its errno if the result is negative."""
    if result < 0:
        fault = ctypes.get_errno()
        raise OSError(fault, os.strerror(fault))
    return result


def version() -> int:
    """Return the Landlock ABI version of this kernel, or 0 if it has no Landlock."""
    try:
        flags = ctypes.c_uint32(_LANDLOCK_CREATE_RULESET_VERSION)
        return call(_SYS_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), flags)
    except OSError:
        return 0


class Order:
    """The parsed arguments of this script: the command to run, and its restrictions."""

    def __init__(self, arguments: list[str]) -> None:
        # Landlock ABI version, bytes of private shared memory (0: no private devices), supervised calls as number=name,
        # seccomp filter in hexadecimal, folder, number of readable and of writable paths; then these paths and the
        # command.
        self.version = int(arguments[0])
        self.shared = int(arguments[1])
        self.supervised = dict(pair.split("=") for pair in arguments[2].split(","))
        self.filter = bytes.fromhex(arguments[3])
        self.folder = arguments[4]
        reads, writes = int(arguments[5]), int(arguments[6])
        self.reads = arguments[7 : 7 + reads]
        self.writes = arguments[7 + reads : 7 + reads + writes]
        self.command = arguments[7 + reads + writes :]


def open_private_devices(size: int) -> None:
    """Give this process private shared memory and terminals, in new namespaces; raise OSError if that is not permitted.

    An ordinary user also needs a new user namespace, in which the user id stays the same.
    """
    user, group = os.getuid(), os.getgid()
    if os.geteuid() == 0:
        checked(libc.unshare(_CLONE_NEWNS | _CLONE_NEWIPC))
    else:
        checked(libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWIPC))
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY)
            os.write(descriptor, text.encode())
            os.close(descriptor)
    checked(libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_PRIVATE | _MS_REC), None))
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV)
    checked(libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", flags, f"size={size},mode=1777".encode()))
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NOEXEC)
    checked(libc.mount(b"devpts", b"/dev/pts", b"devpts", flags, b"newinstance,ptmxmode=0666,mode=0600"))
    os.close(os.open("/dev/pts/ptmx", os.O_PATH))


def drop_capabilities() -> None:
    """Permanently drop every capability, including those that root would regain when it executes a program."""
    for number in range(_CAP_LAST_CAP + 1):
        libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    header, no_capabilities = pack("Ii", _LINUX_CAPABILITY_VERSION_3, 0), bytes(24)
    call(_SYS_CAPSET[os.uname().machine], ctypes.c_char_p(header), ctypes.c_char_p(no_capabilities))


def confine(order: Order) -> int:
    """Restrict this process and its future children; return the notification descriptor of the seccomp filter."""
    rights = _ALL_RIGHTS.get(order.version, _NEWEST_RIGHTS)
    network = _ALL_NETWORK if order.version >= 4 else 0
    scopes = _ALL_SCOPES if order.version >= 6 else 0
    attributes = pack("QQQ", rights, network, scopes)  # struct landlock_ruleset_attr, which grew in versions 4 and 6
    size = 24 if order.version >= 6 else 16 if order.version >= 4 else 8
    rules = call(_SYS_LANDLOCK_CREATE_RULESET, ctypes.c_char_p(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    for paths, allowed in ((order.reads, _READ_RIGHTS), (order.writes, rights)):
        for path in paths:
            try:
                descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            applicable = allowed & rights
            if os.fstat(descriptor).st_mode & _S_IFMT != _S_IFDIR:
                applicable &= _FILE_RIGHTS
            beneath = ctypes.c_char_p(pack("=Qi", applicable, descriptor))
            kind = ctypes.c_int(_LANDLOCK_RULE_PATH_BENEATH)
            call(_SYS_LANDLOCK_ADD_RULE, ctypes.c_int(rules), kind, beneath, ctypes.c_uint32(0))
            os.close(descriptor)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    call(_SYS_LANDLOCK_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0))
    os.close(rules)
    lines = ctypes.create_string_buffer(order.filter, len(order.filter))
    program = ctypes.c_char_p(pack("HxxxxxxP", len(order.filter) // 8, ctypes.addressof(lines)))
    mode, flags = ctypes.c_uint(_SECCOMP_SET_MODE_FILTER), ctypes.c_ulong(_SECCOMP_FILTER_FLAG_NEW_LISTENER)
    return call(_SYS_SECCOMP[os.uname().machine], mode, flags, program)


class Supervisor:
    """Answers the supervised system calls of the command, one after the other."""

    def __init__(self, order: Order, listener: int) -> None:
        self._names = {int(number): name for number, name in order.supervised.items()}
        self._listener = listener
        self._own = os.getpid()
        self._folders = []
        for path in order.writes:
            descriptor = os.open(path, os.O_PATH)
            if os.fstat(descriptor).st_mode & _S_IFMT == _S_IFDIR:
                self._folders.append(_path_of(descriptor))
            os.close(descriptor)

    def serve(self) -> None:
        """Answer system calls until this process ends."""
        request = ctypes.create_string_buffer(_NOTIFICATION_BYTES)
        while True:
            ctypes.memset(request, 0, _NOTIFICATION_BYTES)
            if libc.ioctl(self._listener, ctypes.c_ulong(_SECCOMP_IOCTL_NOTIF_RECV), request) < 0:
                if ctypes.get_errno() in (errno.EINTR, errno.ENOENT):  # ENOENT: the calling process was killed
                    continue
                return
            id_, thread, _, number, _, _, *arguments = unpack("QIIiIQ6Q", request.raw)
            self._id = id_
            value, fault, flags = 0, 0, 0
            try:
                value = self._decide(self._names[number], thread, arguments)
                flags = _SECCOMP_USER_NOTIF_FLAG_CONTINUE if value < 0 else 0
            except OSError as error:
                fault = -(error.errno or errno.EPERM)
            # Malformed arguments, which the kernel would refuse as well.
            except (ValueError, IndexError, OverflowError, struct_error):
                fault = -errno.EINVAL
            answer = ctypes.c_char_p(pack("QqiI", id_, max(value, 0), fault, flags))
            libc.ioctl(self._listener, ctypes.c_ulong(_SECCOMP_IOCTL_NOTIF_SEND), answer)

    def _decide(self, name: str, thread: int, arguments: list[int]) -> int:
        """Perform or admit a system call; raise OSError to refuse it.

        Return the result of a performed call, or -1 to let the kernel execute an admitted one.
        """
        first, second = _signed(arguments[0]), _signed(arguments[1])
        match name:
            case "kill":
                return self._admit_group(thread, first) if first <= 0 else self._admit(first)
            case "tkill" | "rt_sigqueueinfo":
                return self._admit(first)
            case "tgkill" | "rt_tgsigqueueinfo":
                return self._admit(second)
            case "setpriority":
                return self._admit(second if first == 0 else 0)
            case "ioprio_set":
                return self._admit(second if first == 1 else 0)
            case "prlimit64" | "sched_setparam" | "sched_setscheduler" | "sched_setaffinity" | "sched_setattr":
                return self._admit(first)
            case _:
                return self._perform(name, thread, arguments)

    def _admit(self, pid: int) -> int:
        if pid <= 0 or not self._descends(pid):
            raise PermissionError(errno.EPERM, "")
        return -1

    def _admit_group(self, thread: int, group: int) -> int:
        """Admit a signal to a process group if all its processes belong to the command; refuse a signal to everyone."""
        if group == -1:
            raise PermissionError(errno.EPERM, "")
        group_id = os.getpgid(thread) if group == 0 else -group
        members = [pid for pid in _numbers("/proc") if _group_of(pid) == group_id]
        if not members:
            raise ProcessLookupError(errno.ESRCH, "")
        for pid in members:
            self._admit(pid)
        return -1

    def _descends(self, pid: int) -> bool:
        """Return whether a process or thread descends from this process, which also adopts orphans."""
        while pid > 1:
            pid = int(_status(pid, b"PPid:"))
            if pid == self._own:
                return True
        return False

    def _perform(self, name: str, thread: int, arguments: list[int]) -> int:
        """Perform a system call on a file in a writable folder and return its result; raise OSError for other files."""
        base, path, values, flags = _arguments(name, arguments)
        memory = os.open(f"/proc/{thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
        target = -1
        try:
            text = None if path == 0 else os.pread(memory, _PATH_MAX, path).split(b"\0", 1)[0]
            target = _open_target(thread, base, text, flags)
            times = _times(name, memory, values[0]) if name in _TIMES else None
            if not self._is_writable(_path_of(target)):
                raise PermissionError(errno.EPERM, "")
            notification = ctypes.c_char_p(pack("Q", self._id))
            checked(libc.ioctl(self._listener, ctypes.c_ulong(_SECCOMP_IOCTL_NOTIF_ID_VALID), notification))
            link = f"/proc/self/fd/{target}"
            if "chmod" in name and values[0] & 0o222 and _is_pack(_path_of(target)):
                raise PermissionError(errno.EPERM, "")
            if name in _TIMES:
                checked(libc.utimensat(_AT_FDCWD, ctypes.c_char_p(link.encode()), times and ctypes.c_char_p(times), 0))
            elif name == "truncate":
                os.truncate(link, unpack("q", pack("Q", values[0]))[0])
            elif name == "inotify_add_watch":
                return _watch(thread, _signed(arguments[0]), link, values[0])
            elif "chown" in name:
                os.chown(link, _signed(values[0]), _signed(values[1]))
            else:
                Path(link).chmod(values[0] & 0o7777)
            return 0
        finally:
            os.close(memory)
            if target >= 0:
                os.close(target)

    def _is_writable(self, path: str) -> bool:
        """Return whether a path of an open file is in a writable folder, or names a pipe or socket."""
        return path.startswith(("pipe:[", "socket:[")) or any(
            path == folder or path.startswith(f"{folder}/") for folder in self._folders
        )


_TIMES = ("utime", "utimes", "futimesat", "utimensat")


def _arguments(name: str, arguments: list[int]) -> tuple[int, int, list[int], int]:
    """Return the folder descriptor, the address of the path, the remaining arguments, and fchmodat2-style flags.

    For a call without a path, the address is 0 and the descriptor is that of the file itself.
    """
    first = _signed(arguments[0])
    match name:
        case "chmod" | "chown" | "utime" | "utimes" | "truncate":
            return _AT_FDCWD, arguments[0] or 1, arguments[1:3], 0
        case "lchown":
            return _AT_FDCWD, arguments[0] or 1, arguments[1:3], _AT_SYMLINK_NOFOLLOW
        case "fchmod" | "fchown":
            return first, 0, arguments[1:3], 0
        case "fchmodat":
            return first, arguments[1] or 1, arguments[2:3], 0
        case "futimesat":
            return first, arguments[1], arguments[2:3], 0
        case "fchmodat2":
            return first, arguments[1] or 1, arguments[2:3], arguments[3]
        case "fchownat":
            return first, arguments[1] or 1, arguments[2:4], arguments[4]
        case "utimensat":
            return first, arguments[1], arguments[2:3], arguments[3]
        case _:  # inotify_add_watch, the only other supervised call
            flags = _AT_SYMLINK_NOFOLLOW if arguments[2] & _IN_DONT_FOLLOW else 0
            return _AT_FDCWD, arguments[1] or 1, arguments[2:3], flags


def _open_target(thread: int, base: int, path: bytes | None, flags: int) -> int:
    """Open the file that a path means for the given thread, as O_PATH; `base` is its folder descriptor for the path."""
    own = f"/proc/{thread}"
    start = f"{own}/cwd" if base == _AT_FDCWD else f"{own}/fd/{base}"
    if path is None and base == _AT_FDCWD:
        raise OSError(errno.EFAULT, "")
    if not path and (path is None or flags & _AT_EMPTY_PATH):
        return os.open(start, os.O_PATH | os.O_CLOEXEC)
    # These paths must mean the calling thread, not this process.
    for prefix in (b"/proc/self/", b"/proc/thread-self/", b"/dev/fd/"):
        if path.startswith(prefix):
            path = own.encode() + (b"/fd/" if prefix == b"/dev/fd/" else b"/") + path[len(prefix) :]
    open_flags = os.O_PATH | os.O_CLOEXEC | (os.O_NOFOLLOW if flags & _AT_SYMLINK_NOFOLLOW else 0)
    if path.startswith(b"/"):
        return os.open(path, open_flags)
    folder = os.open(start, os.O_PATH | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        return os.open(path, open_flags, dir_fd=folder)
    finally:
        os.close(folder)


def _times(name: str, memory: int, address: int) -> bytes | None:
    """Return access and modification time from the memory of the caller, as two struct timespec; None for "now"."""
    if address == 0:
        return None
    if name == "utime":
        read, changed = unpack("qq", os.pread(memory, 16, address))
        return pack("qqqq", read, 0, changed, 0)
    times = os.pread(memory, 32, address)
    if name == "utimensat":
        return times
    read, read_us, changed, changed_us = unpack("qqqq", times)
    return pack("qqqq", read, read_us * 1000, changed, changed_us * 1000)


def _watch(thread: int, descriptor: int, path: str, mask: int) -> int:
    """Add a watch on `path` to the inotify instance open as `descriptor` in the given thread; return its number."""
    process = os.pidfd_open(int(_status(thread, b"Tgid:")))
    try:
        inotify = call(_SYS_PIDFD_GETFD, ctypes.c_int(process), ctypes.c_int(descriptor), ctypes.c_uint(0))
    finally:
        os.close(process)
    try:
        mask &= ~_IN_DONT_FOLLOW & 0xFFFFFFFF  # `path` is /proc/self/fd/N, a link that must be followed
        return checked(libc.inotify_add_watch(inotify, ctypes.c_char_p(path.encode()), ctypes.c_uint32(mask)))
    finally:
        os.close(inotify)


def _status(pid: int, field: bytes) -> bytes:
    """Return a field of /proc/PID/status of a process or thread; raise ProcessLookupError if it has ended."""
    try:
        descriptor = os.open(f"/proc/{pid}/status", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise ProcessLookupError(errno.ESRCH, "") from error
    try:
        return os.read(descriptor, 4096).split(field, 1)[1].split(b"\n", 1)[0]
    finally:
        os.close(descriptor)


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return -1


def _is_pack(path: str) -> bool:
    """Return whether a file is a pack or pack index of a git repository, which must stay read-only."""
    return path.endswith((".pack", ".idx")) and "/objects/pack/" in path


def _path_of(descriptor: int) -> str:
    """Return the path of an open file, or a text such as `pipe:[123]` for one without a path."""
    return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - the text as it is


def _numbers(folder: str) -> list[int]:
    return [int(name) for name in os.listdir(folder) if name.isdigit()]  # noqa: PTH208 - only the names are needed


def _signed(word: int) -> int:
    """Return the low 32 bits of an argument as a signed integer, because the kernel ignores the rest of an int."""
    return int(unpack_from("i", pack("Q", word))[0])


def end_children() -> None:
    """Kill all child processes, and the orphans that this subreaper adopts meanwhile, until none is left."""
    while True:
        for task in _numbers("/proc/self/task"):
            for pid in Path(f"/proc/self/task/{task}/children").read_bytes().split():
                os.kill(int(pid), signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
            # Reap all that have ended, so that the next pass lists only living ones.
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return


def stop(number: int, frame: object) -> None:
    end_children()
    os._exit(128 + number)


def run(order: Order) -> None:
    """Run the command as a child process, kill what it leaves behind, and exit with its exit code."""
    signal.signal(signal.SIGTERM, stop)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if order.shared:
        open_private_devices(order.shared)
    drop_capabilities()
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    listener_read, listener_write = os.pipe()
    go_read, go_write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            os.close(go_write)
            os.setsid()  # a signal to the command's process group must not reach this process
            os.write(listener_write, b"%d" % confine(order))
            os.read(go_read, 1)
            os.chdir(order.folder)
            os.execv(order.command[0], order.command)
        except OSError as error:
            os.write(2, f"The command could not be sandboxed: {error}\n".encode())
        finally:
            os._exit(126)
    os.close(listener_write)
    if listener_number := os.read(listener_read, 16):
        process = os.pidfd_open(child)
        listener = call(_SYS_PIDFD_GETFD, ctypes.c_int(process), ctypes.c_int(int(listener_number)), ctypes.c_uint(0))
        supervisor = Supervisor(order, listener)
        # Block it in the new thread: Python handles signals in the main thread.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        _thread.start_new_thread(supervisor.serve, ())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.write(go_write, b".")
    while True:
        pid, status = os.wait()
        if pid == child:
            break
    end_children()
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def serve(descriptor: int) -> None:
    """Fork a process for each order that arrives on a socket, until the socket is closed.

    Each new process is a child of this script's parent. An order consists of two descriptors, for input and output, and
    of the arguments and environment, serialized with `marshal`.
    """
    import _socket
    import marshal

    connection = _socket.socket(fileno=descriptor)
    while True:
        head, attached, _, _ = connection.recvmsg(8, 64)
        if not head:
            return
        input_fd, output_fd = unpack("2i", attached[0][2])
        body, size = b"", unpack("Q", head)[0]
        while len(body) < size:
            body += connection.recv(min(size - len(body), 1 << 20)) or sys.exit()
        zero = ctypes.c_long(0)
        child = libc.syscall(
            ctypes.c_long(_SYS_CLONE[os.uname().machine]), ctypes.c_long(_CLONE_PARENT | signal.SIGCHLD), *[zero] * 4
        )
        if child == 0:
            connection.close()
            os.setsid()
            for number, source in enumerate((input_fd, output_fd, output_fd)):
                os.dup2(source, number)
            os.close(input_fd)
            os.close(output_fd)
            arguments, environment = marshal.loads(body)
            os.environ.clear()
            os.environ.update(environment)
            run(Order(arguments))
        os.close(input_fd)
        os.close(output_fd)
        connection.sendall(pack("i", child if child > 0 else -ctypes.get_errno()))


def main(arguments: list[str]) -> None:
    """Run one order; or `serve` orders from a socket; or `try` whether private devices are permitted."""
    if arguments == ["try"]:
        open_private_devices(1 << 20)
    elif arguments[0] == "serve":
        serve(int(arguments[1]))
    else:
        run(Order(arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
