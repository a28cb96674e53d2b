"""Computes embeddings with a model in the GGUF format. Imported only in the process of `embedder_process`."""

import os
import secrets
from collections.abc import Sequence
from functools import partial
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

import numpy as np

CONTEXT_TOKENS = 512  # no known embedding model supports fewer
# A longer text is cut, because llama.cpp refuses one with more tokens than the context. A token stands for one or more
# characters in all but rare scripts, and the model adds a few tokens of its own.
MAX_CHARS = 500
MIN_LENGTH = 1e-9  # avoids division by zero for an embedding of only zeros


class GgufEmbeddings:
    """An embedding model from a GGUF file, loaded by llama.cpp.

    Attributes:
        fingerprint: a hash of the file, with which the model's embeddings are stored.
        dimensions: how many numbers an embedding has.
    """

    query_prompt = document_prompt = ""  # the GGUF format has no fields for prompts

    def __init__(self, path: Path) -> None:
        # Else llama.cpp, when it aborts, attaches a debugger to this process to print a stack trace.
        os.environ.setdefault("GGML_NO_BACKTRACE", "1")
        from xllamacpp import CommonParams, Server

        self.fingerprint = _fingerprint(path)
        params = CommonParams()
        params.model.path = str(path)
        params.embedding = True
        # xllamacpp always serves its model over HTTP too. We call it only within this process, so the server is closed
        # to other processes: it is local, and no one else knows its key.
        params.hostnames = ["127.0.0.1"]
        params.port = 0  # the system chooses a free one
        params.api_keys = [secrets.token_urlsafe(32)]
        params.ui = False
        params.n_parallel = 1
        params.n_ctx = params.n_batch = params.n_ubatch = CONTEXT_TOKENS
        params.n_gpu_layers = 0
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # leaves the other processor cores free
        try:
            self._server: Any = Server(params)
        except RuntimeError as error:
            raise ValueError(f"{path.name} cannot be loaded: {error}") from error
        self.dimensions = len(self.embed(["dimensions"])[0])

    def embed(self, texts: Sequence[str]) -> Any:
        """Return an array with one row per text: its embedding, normalized to length 1."""
        # An empty text is refused if the model adds no tokens of its own, but a space is a token.
        reply = self._server.handle_embeddings({"input": [text[:MAX_CHARS] or " " for text in texts]})
        if "data" not in reply:
            raise ValueError(str(reply.get("error") or reply))
        rows = [item["embedding"] for item in sorted(reply["data"], key=lambda item: int(item["index"]))]
        vectors = np.array(rows, np.float32)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), MIN_LENGTH)


def _fingerprint(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, partial(blake2b, digest_size=8)).hexdigest()
