"""Serves a GGUF file with llama.cpp: python serve_gguf.py FILE NAME PORT CONTEXT_TOKENS THREADS.

It is run by the Python of an xllamacpp environment.
"""

import sys
import threading

from xllamacpp import CommonParams, Server


def serve(path: str, name: str, port: int, context_tokens: int, threads: int) -> None:
    """Serve the model on loopback until the process ends."""
    params = CommonParams()
    params.model.path = path
    params.model_alias = {name}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = context_tokens
    params.n_parallel = 1
    params.use_jinja = True
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    server = Server(params)
    print(f"serving {server.listening_address}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    path, name, *numbers = sys.argv[1:]
    serve(path, name, *map(int, numbers))
