"""The processes of a command: starts the first one, and kills it with everything that it has started."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Mapping
from secrets import token_hex
from typing import IO

from core.domain.problems import Problem
from core.workspace import job_object, process_tree
from core.workspace.launcher import CommandLimits, ProcessLaunch, StartedProcess

MARKER_VARIABLE = "JOURNEYMAN_CALL"  # in the environment of all processes of a command


class CommandProcess:
    """The first process of a command and all that it has started. They end together.

    `output` is the read end of the pipe for its output. The lifeline is the write end of another pipe: a launcher can
    let the process end when it is closed, which also happens if Journeyman is killed.
    """

    def __init__(self, launch: ProcessLaunch, limits: CommandLimits) -> None:
        """Start the process, or raise Problem."""
        self._launch = launch
        self._marker = token_hex(8)
        self._was_killed = False
        self._exited_normally = False  # and not because of a signal
        self._process, self.output, self._lifeline = _start(launch, {MARKER_VARIABLE: self._marker})
        self._job = self._assign_to_job(limits) if launch.scope == "job" else 0

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_for_exit(self) -> None:
        """Block until the process has exited. On POSIX its pid is not reused before `reap`."""
        if hasattr(os, "waitid"):
            status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            self._exited_normally = status is not None and status.si_code == os.CLD_EXITED
        else:
            self._process.wait()
        if self._launch.info_fd >= 0:
            process_tree.await_namespace(self._launch.info_fd)

    def kill(self) -> None:
        """Kill all processes of the command. They may still be ending afterwards."""
        self._was_killed = True
        self._kill_all()

    def reap(self) -> int:
        """Kill the processes that are left after the first one has exited, and return its exit code."""
        self._kill_all()
        exit_code = self._process.wait()
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
        """Kill the processes that belong to the scope of the launch (see ProcessScope)."""
        match self._launch.scope:
            case "job":
                self._close_job()
            case "namespace":
                self._kill_namespace()
            case "tree":
                process_tree.kill_tree(self.pid)
                if not self._exited_normally:  # otherwise no descendant is left: it adopts them and ends last
                    self._kill_escaped()
            case "group":
                process_tree.kill_group(self.pid)  # first, so that no shell reports that its children were killed
                process_tree.kill_tree(self.pid)
                self._kill_escaped()

    def _close_job(self) -> None:
        job, self._job = self._job, 0
        if job:
            job_object.close_job(job)

    def _kill_namespace(self) -> None:
        """Kill every descendant.

        The first process in the namespace dies with bubblewrap, but not before it has requested that from the kernel.
        """
        for pid in (*process_tree.descendants(self.pid), self.pid):
            process_tree.kill_process(pid)
        if self._was_killed:
            self._kill_marked()

    def _kill_escaped(self) -> None:
        """Kill processes that are no longer descendants: those of the process group, and those that left it."""
        process_tree.kill_group(self.pid)
        self._kill_marked()

    def _kill_marked(self) -> None:
        process_tree.kill_marked(f"{MARKER_VARIABLE}={self._marker}".encode())


def _start(launch: ProcessLaunch, variables: Mapping[str, str]) -> tuple[StartedProcess, IO[bytes], int]:
    """Start the process, or raise Problem. Return it with the read end of its output and its lifeline.

    The ends of pipes that belong to the child are always closed here, ours only if the process cannot be started.
    """
    with contextlib.ExitStack() as child_ends, contextlib.ExitStack() as our_ends:
        for descriptor in launch.descriptors:
            child_ends.callback(os.close, descriptor)
        if launch.info_fd >= 0:
            our_ends.callback(os.close, launch.info_fd)
        try:
            # Pipes of our own: with asyncio's pipes, waiting would last until every child process has closed them.
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
        our_ends.pop_all()  # From now on they belong to the caller.
    return process, os.fdopen(output_read, "rb"), lifeline


def _pipe(read_end: contextlib.ExitStack, write_end: contextlib.ExitStack) -> tuple[int, int]:
    """Return the read end and the write end of a new pipe, which these stacks close."""
    read, write = os.pipe()
    read_end.callback(os.close, read)
    write_end.callback(os.close, write)
    return read, write


def _open_stdin(data: bytes | None) -> int:
    """Return a descriptor to read the data from: a temporary file, because a pipe blocks if nobody reads it."""
    if data is None:
        return os.open(os.devnull, os.O_RDONLY)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return os.dup(file.fileno())
