"""Server processes for tests: started until a line of output says they are ready, killed with their process group."""

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

GIVE_UP_S = 120.0


@contextlib.contextmanager
def serving(command: Sequence[str], ready: str, log: Path, env: Mapping[str, str] | None = None) -> Iterator[str]:
    """Start a server; yields the first group that `ready` matches in its output. If it fails, `log` has the output."""
    quiet = {name: value for name, value in os.environ.items() if name.lower() not in ("http_proxy", "https_proxy")}
    with subprocess.Popen(
        [*command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env={**quiet, **(env or {})},
        start_new_session=True,
    ) as process:
        late = threading.Timer(GIVE_UP_S, end, [process])
        draining = threading.Thread(target=_drain, args=(process,))
        late.start()
        try:
            place = _heard(process, ready, log)
            late.cancel()
            draining.start()
            yield place
        finally:
            late.cancel()
            end(process)
            late.join()
            if draining.is_alive():
                draining.join()


def end(process: subprocess.Popen[str]) -> None:
    """End a process and its children."""
    with contextlib.suppress(ProcessLookupError):
        if os.name == "nt":
            process.terminate()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _drain(process: subprocess.Popen[str]) -> None:
    """Read a server's output until it ends: a server that logs its requests stops once the pipe is full."""
    assert process.stdout is not None
    while process.stdout.read(65_536):
        pass


def _heard(process: subprocess.Popen[str], ready: str, log: Path) -> str:
    said = []
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line)
        if found := re.search(ready, line):
            return found.group(1) if found.groups() else ""
    log.write_text("".join(said), encoding="utf-8")
    raise AssertionError(f"The server ended before it was ready. Its output:\n{''.join(said)[-3000:]}")
