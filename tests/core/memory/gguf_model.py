"""Writes the tiny embedding models of the tests in the GGUF format."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from core.memory.bert import WEIGHTS, _tensors
from tests.core.memory.small_model import HEADS, INNER, WIDTH

UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
FLOATS, ALIGNMENT = 0, 32
NAMES = {
    "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
    "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
}  # fmt: skip


def gguf_model(folder: Path) -> Path:
    """Write the model of a folder as a file next to it."""
    tensors = _tensors((folder / WEIGHTS).read_bytes())
    pieces = (folder / "vocab.txt").read_text().splitlines()
    last = {piece: number for number, piece in enumerate(pieces)}  # the file format allows each piece only once
    pieces = [piece if last[piece] == number else f"[unused{number}]" for number, piece in enumerate(pieces)]
    layers = json.loads((folder / "config.json").read_text())["num_hidden_layers"]
    path = folder.with_suffix(".gguf")
    values: dict[str, tuple[int, Any]] = {
        "general.architecture": (STRING, "bert"), "general.name": (STRING, "Tiny"),
        "bert.context_length": (UINT32, 64), "bert.embedding_length": (UINT32, WIDTH),
        "bert.feed_forward_length": (UINT32, INNER), "bert.block_count": (UINT32, layers),
        "bert.attention.head_count": (UINT32, HEADS), "bert.attention.layer_norm_epsilon": (FLOAT32, 1e-12),
        "bert.attention.causal": (BOOL, False), "bert.pooling_type": (UINT32, 1),
        "tokenizer.ggml.model": (STRING, "bert"), "tokenizer.ggml.token_type_count": (UINT32, 2),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, [spelled(piece) for piece in pieces])),
        "tokenizer.ggml.token_type": (ARRAY, (INT32, [1] * len(pieces))),
        "tokenizer.ggml.padding_token_id": (UINT32, 0), "tokenizer.ggml.unknown_token_id": (UINT32, 1),
        "tokenizer.ggml.bos_token_id": (UINT32, 2), "tokenizer.ggml.cls_token_id": (UINT32, 2),
        "tokenizer.ggml.seperator_token_id": (UINT32, 3), "tokenizer.ggml.mask_token_id": (UINT32, 4),
    }  # fmt: skip
    head, body = b"", b""
    for name, (kind, value) in values.items():
        head += packed(STRING, name) + struct.pack("<I", kind) + packed(kind, value)
    for name, tensor in tensors.items():
        data = np.asarray(tensor, np.float32)
        head += packed(STRING, renamed(name)) + struct.pack("<I", data.ndim)
        head += struct.pack(f"<{data.ndim}QIQ", *reversed(data.shape), FLOATS, len(body))
        body += padded(data.tobytes())
    path.write_bytes(padded(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(values)) + head) + body)
    return path


def spelled(piece: str) -> str:
    """Return a piece as llama.cpp spells it: the start of a word is marked, not its continuation."""
    if piece.startswith("["):
        return piece
    return piece[2:] if piece.startswith("##") else f"\u2581{piece}"


def renamed(name: str) -> str:
    """Return the name of a tensor in the GGUF format."""
    module, _, kind = name.rpartition(".")
    if module.startswith("encoder.layer."):
        _, _, layer, part = module.split(".", 3)
        return f"blk.{layer}.{NAMES[part]}.{kind}"
    return f"{NAMES[module]}.{kind}"


def packed(kind: int, value: Any) -> bytes:
    if kind == ARRAY:
        inner, items = value
        return struct.pack("<IQ", inner, len(items)) + b"".join(packed(inner, item) for item in items)
    if kind == STRING:
        return struct.pack("<Q", len(value.encode())) + bytes(value.encode())
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}[kind], value)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)
