"""`transformers serve` with random weights: its stream has no end marker, and it rejects unknown fields."""

import contextlib
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.servers.process import serving
from tests.servers.real import environment

VERSION, TORCH = "5.23.0", "2.13.0"


@contextlib.contextmanager
def serve_transformers(folder: Path) -> Iterator[tuple[str, str]]:
    """Serve a model; yields the URL and the name of the model."""
    programs = environment(f"transformers-{VERSION}", f"torch=={TORCH}", f"transformers[serving]=={VERSION}")
    model = folder / "tiny"
    maker = Path(__file__).with_name("tiny_model.py")
    done = subprocess.run([programs / "python", maker, model], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(programs / "transformers"), "serve", str(model), "--host", "127.0.0.1", "--port", str(port)]
    env = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder), "HF_HUB_DISABLE_TELEMETRY": "1"}
    with serving([*command, "--device", "cpu"], r"Uvicorn running on", folder / "transformers.log", env):
        yield f"http://127.0.0.1:{port}/v1", str(model)
