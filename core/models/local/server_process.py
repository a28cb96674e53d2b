"""The process that serves one model file with llama.cpp. The library xllamacpp is imported only here.

`LocalModels` starts this file as a script. The first line of standard input is a JSON object: path, name, key, window,
threads, gpu_layers and temperature. Once the model is loaded, one line of JSON is printed: the URL, or an error. The
process ends when standard input is closed, so it never outlives the program that started it, even if that is killed.
"""

import json
import os
import socket
import sys
import threading
from contextlib import suppress
from typing import Any

NICE = 5  # below other programs, so that the window stays fast
SPIN_COUNT = "1000"
BATCH_TOKENS = 256  # progress is reported after each batch; smaller ones cost time
CACHE_MIB = 512  # memory for the prompts of other sessions, so that switching between sessions does not read them again


def exit_with_parent() -> None:
    """Wait for the end of standard input, then end at once."""
    while os.read(0, 1024):
        pass
    os._exit(0)


def serve(config: dict[str, Any]) -> str:
    """Load the model, and return the URL of its Chat Completions API, which runs in threads of the library."""
    # Threads that wait for each other sleep after a few microseconds: spinning would starve them on a busy computer.
    os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # a debugger would delay the restart after a crash
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
    with suppress(OSError, AttributeError):  # Windows has no os.nice.
        os.nice(NICE)
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # The library must not print among the replies.
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
