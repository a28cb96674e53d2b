"""Computes sentence embeddings of BERT and MPNet models with numpy alone.

Imported only in the process of `embedder_process`. MPNet is computed as BERT, with these differences: its tensors have
other names, its positions start at 2, and the attention also depends on the distance of two tokens.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from struct import unpack
from typing import Any

import numpy as np

from core.memory.model_settings import read_json, read_settings
from core.memory.wordpiece import WordPiece

MAX_TOKENS = 256  # tokens of a text that are used; the rest is ignored
MAX_BATCH_TOKENS = 1_024  # tokens in one forward pass, including padding
WEIGHTS = "model.safetensors"
MARKS = {"bert": ("[CLS]", "[SEP]"), "mpnet": ("<s>", "</s>")}  # the first and the last token of a text
MPNET_NAMES = {
    ".attention.attn.q.": ".attention.self.query.",
    ".attention.attn.k.": ".attention.self.key.",
    ".attention.attn.v.": ".attention.self.value.",
    ".attention.attn.o.": ".attention.output.dense.",
    ".attention.LayerNorm.": ".attention.output.LayerNorm.",
}
MPNET_FIRST_POSITION = 2
DISTANCE_BIAS = "encoder.relative_attention_bias.weight"  # of MPNet only
MAX_DISTANCE = 128  # Tokens that are farther apart are treated alike.


class Bert:
    """A BERT or MPNet model from a folder: config.json, model.safetensors, and vocab.txt or tokenizer.json.

    Attributes:
        fingerprint: a hash of the weights and the configuration, with which the model's embeddings are stored.
        query_prompt, document_prompt: prefixes for questions and for memories.
    """

    def __init__(self, folder: Path) -> None:
        config = read_json(folder / "config.json")
        settings = read_settings(folder)
        if not config:
            raise ValueError("the folder has no config.json")
        kind = config.get("model_type")
        if kind not in MARKS or config.get("hidden_act", "gelu") != "gelu":
            raise ValueError(f"its config.json describes {kind!r}; only BERT and MPNet are supported")
        self._layers = int(config["num_hidden_layers"])
        self._heads = int(config["num_attention_heads"])
        self._epsilon = float(config.get("layer_norm_eps", 1e-12))
        limit = settings.max_tokens or MAX_TOKENS
        self._max_tokens = min(MAX_TOKENS, limit, int(config["max_position_embeddings"]))
        self._use_first_token = settings.uses_first_token
        self.query_prompt = settings.query_prompt
        self.document_prompt = settings.document_prompt
        if not (folder / WEIGHTS).is_file():
            raise ValueError(f"the folder has no {WEIGHTS}")
        body = (folder / WEIGHTS).read_bytes()
        identity = json.dumps(config, sort_keys=True) + self.document_prompt
        self.fingerprint = blake2b(body + identity.encode(), digest_size=8).hexdigest()
        tensors = _tensors(body)
        self._weights = _prepare(_as_bert(tensors) if kind == "mpnet" else tensors, self._layers)
        lower = read_json(folder / "tokenizer_config.json").get("do_lower_case", True)
        self._tokenizer = WordPiece(_vocabulary(folder), lower=bool(lower), marks=MARKS[kind])

    @property
    def dimensions(self) -> int:
        return int(self._weights["embeddings.word_embeddings.weight"].shape[1])

    def embed(self, texts: Sequence[str]) -> Any:
        """Return an array with one row per text: its embedding, normalized to length 1."""
        token_ids = [self._tokenizer.encode(text, self._max_tokens) for text in texts]
        embeddings: Any = np.zeros((len(texts), self.dimensions), np.float32)
        batch: list[int] = []
        for index in sorted(range(len(token_ids)), key=lambda index: len(token_ids[index])):
            if batch and (len(batch) + 1) * len(token_ids[index]) > MAX_BATCH_TOKENS:
                embeddings[batch] = self._forward([token_ids[i] for i in batch])
                batch = []
            batch.append(index)
        if batch:
            embeddings[batch] = self._forward([token_ids[i] for i in batch])
        return embeddings

    def _forward(self, token_ids: Sequence[Sequence[int]]) -> Any:
        count = len(token_ids)
        longest = max(map(len, token_ids))
        weights = self._weights
        padded: Any = np.zeros((count, longest), np.int64)
        mask: Any = np.zeros((count, longest), np.float32)
        for row, tokens in enumerate(token_ids):
            padded[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        states = weights["embeddings.word_embeddings.weight"][padded]
        states += weights["embeddings.position_embeddings.weight"][:longest]
        states += weights["embeddings.token_type_embeddings.weight"][0]
        states = self._layer_norm(states, "embeddings.LayerNorm").reshape(count * longest, -1)
        bias = ((1 - mask) * -1e9)[:, None, None, :]
        if DISTANCE_BIAS in weights:
            bias = bias + _distance_bias(weights[DISTANCE_BIAS], longest)
        for layer in range(self._layers):
            states = self._layer(states, bias, f"encoder.layer.{layer}.")
        states = states.reshape(count, longest, -1)
        pooled = states[:, 0] if self._use_first_token else (states * mask[:, :, None]).sum(1)
        return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-9)

    def _layer(self, states: Any, bias: Any, name: str) -> Any:
        count, longest = bias.shape[0], bias.shape[3]
        head_size = states.shape[1] // self._heads
        projected = self._linear(states, f"{name}attention.self.joined")
        queries, keys, values = projected.reshape(count, longest, 3, self._heads, head_size).transpose(2, 0, 3, 1, 4)
        scores = queries @ keys.swapaxes(-1, -2)
        scores *= head_size**-0.5
        scores += bias
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        weighted = (scores @ values).transpose(0, 2, 1, 3).reshape(states.shape)
        prefix = f"{name}attention.output."
        states = self._layer_norm(states + self._linear(weighted, f"{prefix}dense"), f"{prefix}LayerNorm")
        forward = self._linear(_gelu(self._linear(states, f"{name}intermediate.dense")), f"{name}output.dense")
        return self._layer_norm(states + forward, f"{name}output.LayerNorm")

    def _linear(self, states: Any, name: str) -> Any:
        projected = states @ self._weights[f"{name}.weight"]
        projected += self._weights[f"{name}.bias"]
        return projected

    def _layer_norm(self, states: Any, name: str) -> Any:
        states = states - states.mean(-1, keepdims=True)
        spread = np.einsum("...i,...i->...", states, states) / states.shape[-1]
        states *= (1 / np.sqrt(spread + self._epsilon))[..., None]
        states *= self._weights[f"{name}.weight"]
        states += self._weights[f"{name}.bias"]
        return states


def _gelu(states: Any) -> Any:
    """Compute GELU by its tanh approximation, which numpy computes in half the time of the exact function.

    Embeddings have a cosine similarity above 0.99999 to those with the exact function.
    """
    result = states * states
    result *= 0.044715
    result += 1
    result *= states
    result *= (2 / np.pi) ** 0.5
    np.tanh(result, out=result)
    result += 1
    result *= states
    result *= 0.5
    return result


def _tensors(body: bytes) -> dict[str, Any]:
    """Parse a safetensors file, which consists of the length of a JSON index, the index and the data."""
    (length,) = unpack("<Q", body[:8])
    index = json.loads(body[8 : 8 + length])
    dtypes = {"F32": np.float32, "F16": np.float16, "I64": np.int64}
    tensors = {}
    for name, entry in index.items():
        if name != "__metadata__" and entry["dtype"] in dtypes:
            start, end = entry["data_offsets"]
            dtype = np.dtype(dtypes[entry["dtype"]])
            flat = np.frombuffer(body, dtype, (end - start) // dtype.itemsize, 8 + length + start)
            tensors[name.removeprefix("bert.")] = flat.reshape(entry["shape"]).astype(np.float32)
    return tensors


def _as_bert(tensors: dict[str, Any]) -> dict[str, Any]:
    """Return the tensors of an MPNet model as those of a BERT model: with its names, its positions and token types."""
    renamed = {}
    for name, tensor in tensors.items():
        name = name.removeprefix("mpnet.")
        for published, used in MPNET_NAMES.items():
            name = name.replace(published, used)
        renamed[name] = tensor
    positions = renamed["embeddings.position_embeddings.weight"][MPNET_FIRST_POSITION:]
    renamed["embeddings.position_embeddings.weight"] = positions
    renamed["embeddings.token_type_embeddings.weight"] = np.zeros((1, positions.shape[1]), np.float32)
    return renamed


def _distance_bias(weights: Any, length: int) -> Any:
    """Return what is added to the attention scores of each head, for each token and each token that it attends to.

    `weights` has a row for each head and a column for each range of distances. The first half of the columns is for
    preceding tokens, the second for following ones. In each half, the first columns are for one distance each, the
    others for ranges that become wider.
    """
    half = weights.shape[1] // 2
    exact = half // 2
    offset = np.arange(length)[None, :] - np.arange(length)[:, None]
    distance = np.abs(offset)
    wider = np.log(np.maximum(distance, 1) / exact) / np.log(MAX_DISTANCE / exact) * (half - exact)
    column = np.where(distance < exact, distance, np.minimum(exact + wider.astype(np.int64), half - 1))
    return weights[:, column + half * (offset > 0)]


def _prepare(tensors: dict[str, Any], layers: int) -> dict[str, Any]:
    """Transpose the weights for multiplication, and join the query, key and value weights of each layer."""
    for layer in range(layers):
        name = f"encoder.layer.{layer}.attention.self."
        for kind in ("weight", "bias"):
            parts = [tensors.pop(f"{name}{part}.{kind}") for part in ("query", "key", "value")]
            tensors[f"{name}joined.{kind}"] = np.concatenate(parts)
    for name, tensor in tensors.items():
        if name.startswith("encoder.") and tensor.ndim == 2:
            tensors[name] = np.ascontiguousarray(tensor.T)
    return tensors


def _vocabulary(folder: Path) -> Mapping[str, int]:
    if (folder / "vocab.txt").is_file():
        lines = (folder / "vocab.txt").read_text("utf-8").split("\n")
        return {piece: number for number, piece in enumerate(lines) if piece}
    model = read_json(folder / "tokenizer.json").get("model", {})
    if not isinstance(model.get("vocab"), dict):
        raise ValueError("the folder has neither a vocab.txt nor a tokenizer.json with a vocabulary")
    vocabulary: dict[str, int] = model["vocab"]
    return vocabulary
