"""Starts the first process of a command, and kills it together with all its descendants."""

import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from secrets import token_hex
from typing import IO, NamedTuple

from core.domain.problems import Problem
from core.workspace import job_object, process_tree
from core.workspace.launcher import CommandLimits, ProcessLaunch, StartedProcess

MARKER_VARIABLE = "JOURNEYMAN_CALL"  # environment variable that marks all processes of a command


class _StartedCommand(NamedTuple):
    """A started process, the read end of its output, and the write end of the pipe that is its lifeline."""

    process: StartedProcess
    output: IO[bytes]
    lifeline: int


class CommandProcess:
    """The first process of a command and all its descendants, which end together.

    `output` is the read end of the pipe for stdout and stderr. The private lifeline is the write end of another pipe:
    the command can notice on its standard input that it is closed, which also happens if Journeyman is killed.
    """

    def __init__(self, launch: ProcessLaunch, limits: CommandLimits) -> None:
        """Start the process, or raise Problem."""
        self._launch = launch
        self._marker = token_hex(8)
        self._was_killed = False
        self._reap_lock = threading.Lock()
        self._is_reaped = False
        self._exited_normally = False  # False also after an exit because of a signal
        self._process, self.output, self._lifeline = _start(launch, {MARKER_VARIABLE: self._marker})
        self._job = self._assign_to_job(limits) if launch.scope == "job" else 0

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_for_exit(self) -> None:
        """Block until the first process has exited, without reaping it, so that on POSIX its pid is not reused."""
        if hasattr(os, "waitid"):
            status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            self._exited_normally = status is not None and status.si_code == os.CLD_EXITED
        else:
            self._process.wait()
        if self._launch.info_fd >= 0:
            process_tree.await_namespace(self._launch.info_fd)

    def kill(self) -> None:
        """Kill all processes of the command; callable from any thread. They may still be ending when this returns."""
        with self._reap_lock:
            if not self._is_reaped:  # afterwards the pid may belong to another process
                self._was_killed = True
                self._kill_all()

    def reap(self) -> int:
        """Kill the remaining processes after the first one has exited, and return its exit code."""
        with self._reap_lock:
            self._kill_all()
            exit_code = self._process.wait()
            self._is_reaped = True
        os.close(self._lifeline)
        return exit_code

    def _assign_to_job(self, limits: CommandLimits) -> int:
        assert isinstance(self._process, subprocess.Popen)  # On Windows there is no fork.
        try:
            return job_object.assign_to_job(self._process, limits)
        except BaseException:
            self._process.kill()
            self._process.wait()
            self.output.close()
            os.close(self._lifeline)
            raise

    def _kill_all(self) -> None:
        """Kill the processes that belong to the command according to its ProcessScope."""
        match self._launch.scope:
            case "job":
                self._close_job()
            case "namespace":
                self._kill_namespace()
            case "tree":
                process_tree.kill_tree(self.pid)
                # The confining process adopts and kills all descendants before it exits normally.
                if not self._exited_normally:
                    self._kill_escaped()
            case "group":
                process_tree.kill_group(self.pid)  # the whole group first, so that no shell reports killed children
                process_tree.kill_tree(self.pid)
                self._kill_escaped()

    def _close_job(self) -> None:
        job, self._job = self._job, 0
        if job:
            job_object.close_job(job)

    def _kill_namespace(self) -> None:
        """Kill every descendant, not only bubblewrap.

        The first process in the namespace dies with bubblewrap only after it has asked the kernel for that, early in
        its life.
        """
        for pid in (*process_tree.descendants(self.pid), self.pid):
            process_tree.kill_process(pid)
        if self._was_killed:
            self._kill_marked()

    def _kill_escaped(self) -> None:
        """Kill processes that are no longer descendants, by their process group and by their marker variable."""
        process_tree.kill_group(self.pid)
        self._kill_marked()

    def _kill_marked(self) -> None:
        process_tree.kill_marked(f"{MARKER_VARIABLE}={self._marker}".encode())


def _start(launch: ProcessLaunch, variables: Mapping[str, str]) -> _StartedCommand:
    """Start the process, or raise Problem.

    The child's ends of the pipes are always closed in this process; our ends only if the start fails.
    """
    with contextlib.ExitStack() as child_ends, contextlib.ExitStack() as our_ends:
        for descriptor in launch.descriptors:
            child_ends.callback(os.close, descriptor)
        if launch.info_fd >= 0:
            our_ends.callback(os.close, launch.info_fd)
        try:
            # os.pipe rather than asyncio's pipes, whose wait() returns only after every child process has closed them.
            output_read, output_write = _pipe(our_ends, child_ends)
            lifeline_read, lifeline = _pipe(child_ends, our_ends)
            stdin = _open_stdin(launch.stdin_data)
            child_ends.callback(os.close, stdin)
            environment = {**launch.environment, **variables}
            process: StartedProcess
            if launch.fork:
                process = launch.fork(environment, stdin, output_write)
            else:
                process = subprocess.Popen(
                    launch.argv,
                    cwd=launch.folder,
                    stdin=lifeline_read if launch.stdin_is_watchdog else stdin,
                    stdout=output_write,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    start_new_session=True,
                    pass_fds=launch.descriptors,
                )
        except OSError as error:
            fix = "Check that the folder still exists."
            raise Problem("The command cannot be started.", f"{error}.", fix) from error
        our_ends.pop_all()  # from now on the caller closes them
    return _StartedCommand(process, os.fdopen(output_read, "rb"), lifeline)


def _pipe(read_end: contextlib.ExitStack, write_end: contextlib.ExitStack) -> tuple[int, int]:
    """Return the read and the write end of a new pipe; each is closed by its exit stack."""
    read, write = os.pipe()
    read_end.callback(os.close, read)
    write_end.callback(os.close, write)
    return read, write


def _open_stdin(data: bytes | None) -> int:
    """Return a descriptor from which a child can read the data, or /dev/null for None.

    The data is in a temporary file, because writing to a pipe blocks if the child does not read.
    """
    if data is None:
        return os.open(os.devnull, os.O_RDONLY)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return os.dup(file.fileno())
