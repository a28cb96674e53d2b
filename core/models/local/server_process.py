"""A script that serves one model file with llama.cpp, the only file that imports the library xllamacpp.

`LocalModels` starts it. The first line of standard input is a JSON object: path, name, key, window, threads, gpu_layers
and temperature. After loading the model, the script prints one line of JSON with a URL or an error. It ends when
standard input is closed, so it never outlives the program that started it, even if that is killed.
"""

import json
import os
import socket
import sys
import threading
from contextlib import suppress
from typing import Any

NICE = 5  # lower priority than other programs, so that the window stays responsive
SPIN_COUNT = "1000"
BATCH_TOKENS = 256  # tokens; progress is reported after each batch, but small batches are slow
CACHE_MIB = 512  # memory for cached prompts, so that switching between sessions does not read them again


def exit_with_parent() -> None:
    """Block until standard input is closed, then exit the process immediately."""
    while os.read(0, 1024):
        pass
    os._exit(0)


def serve(config: dict[str, Any]) -> str:
    """Load the model and return the URL of its Chat Completions API, which runs in threads of the library."""
    # Let waiting threads sleep after a few microseconds, because spinning would slow each other down on a busy
    # computer.
    os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # collecting a backtrace would delay the restart after a crash
    from xllamacpp import CommonParams, Server

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    params = CommonParams()
    params.model.path = config["path"]
    params.model_alias = {config["name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.api_keys = [config["key"]]
    params.ui = False
    params.n_ctx = config["window"]
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    params.n_gpu_layers = config["gpu_layers"]
    if config["temperature"] >= 0:
        params.sampling.temp = config["temperature"]
    params.cache_ram_mib = CACHE_MIB
    params.use_jinja = True
    params.cpuparams.n_threads = config["threads"]
    params.cpuparams_batch.n_threads = config["threads"]
    serve.server = Server(params)  # type: ignore[attr-defined]  # kept until the process ends
    return f"http://127.0.0.1:{port}/v1"


def main() -> None:
    with suppress(OSError, AttributeError):  # Windows has no os.nice
        os.nice(NICE)
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of the library must not mix with the replies
    config = json.loads(sys.stdin.buffer.readline())
    watch = threading.Thread(target=exit_with_parent, daemon=True)
    watch.start()
    try:
        reply = {"url": serve(config)}
    except ImportError as error:
        reply = {"error": f"{error}.", "missing": "xllamacpp"}
    except (RuntimeError, ValueError, OSError, MemoryError) as error:
        reply = {"error": str(error) or type(error).__name__}
    replies.write(json.dumps(reply) + "\n")
    replies.flush()
    if "url" in reply:
        watch.join()


if __name__ == "__main__":
    main()
