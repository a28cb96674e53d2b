"""Sentences to vectors by a BERT model in a folder, with numpy alone. Runs in a process of its own: see `embedder`."""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from struct import unpack
from typing import Any

import numpy as np

from core.memory.wordpiece import WordPiece

MOST = 256  # pieces of a text that are read
AT_ONCE = 1_024  # pieces of all the texts of one pass
WEIGHTS = "model.safetensors"


class Bert:
    """The model of a folder as its authors published it: config.json, model.safetensors, vocab.txt or tokenizer.json.

    Attributes:
        print: the same for the same model only.
    """

    def __init__(self, folder: Path) -> None:
        config = _json(folder / "config.json")
        if not config:
            raise ValueError("there is no config.json in the folder")
        if config.get("model_type") != "bert" or config.get("hidden_act", "gelu") != "gelu":
            raise ValueError(f"its config.json tells of {config.get('model_type')!r}, and only BERT is read here")
        self._layers, self._heads = int(config["num_hidden_layers"]), int(config["num_attention_heads"])
        self._small = float(config.get("layer_norm_eps", 1e-12))
        self._most = min(MOST, int(config["max_position_embeddings"]))
        self._first_only = bool(_json(folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token"))
        body = (folder / WEIGHTS).read_bytes()
        self.print = blake2b(body + json.dumps(config, sort_keys=True).encode(), digest_size=8).hexdigest()
        self._weights = _prepared(_tensors(body), self._layers)
        lower = _json(folder / "tokenizer_config.json").get("do_lower_case", True)
        self._pieces = WordPiece(_vocabulary(folder), lower=bool(lower))

    @property
    def size(self) -> int:
        return int(self._weights["embeddings.word_embeddings.weight"].shape[1])

    def vectors(self, texts: Sequence[str]) -> Any:
        """A row of length 1 for each text."""
        numbers = [self._pieces.numbers(text, self._most) for text in texts]
        made: Any = np.zeros((len(texts), self.size), np.float32)
        group: list[int] = []
        for place in sorted(range(len(numbers)), key=lambda place: len(numbers[place])):
            if group and (len(group) + 1) * len(numbers[place]) > AT_ONCE:
                made[group] = self._pass([numbers[one] for one in group])
                group = []
            group.append(place)
        if group:
            made[group] = self._pass([numbers[one] for one in group])
        return made

    def _pass(self, numbers: Sequence[Sequence[int]]) -> Any:
        count, longest, weights = len(numbers), max(map(len, numbers)), self._weights
        pieces: Any = np.zeros((count, longest), np.int64)
        mask: Any = np.zeros((count, longest), np.float32)
        for row, one in enumerate(numbers):
            pieces[row, : len(one)], mask[row, : len(one)] = one, 1
        told = weights["embeddings.word_embeddings.weight"][pieces]
        told += weights["embeddings.position_embeddings.weight"][:longest]
        told += weights["embeddings.token_type_embeddings.weight"][0]
        told = self._even(told, "embeddings.LayerNorm").reshape(count * longest, -1)
        hidden = ((1 - mask) * -1e9)[:, None, None, :]
        for layer in range(self._layers):
            told = self._layer(told, hidden, f"encoder.layer.{layer}.")
        told = told.reshape(count, longest, -1)
        whole = told[:, 0] if self._first_only else (told * mask[:, :, None]).sum(1)
        return whole / np.maximum(np.linalg.norm(whole, axis=1, keepdims=True), 1e-9)

    def _layer(self, told: Any, hidden: Any, name: str) -> Any:
        count, longest = hidden.shape[0], hidden.shape[3]
        each = told.shape[1] // self._heads
        all_three = self._times(told, f"{name}attention.self.three")
        asked, keys, values = all_three.reshape(count, longest, 3, self._heads, each).transpose(2, 0, 3, 1, 4)
        heed = asked @ keys.swapaxes(-1, -2)
        heed *= each**-0.5
        heed += hidden
        heed -= heed.max(-1, keepdims=True)
        np.exp(heed, out=heed)
        heed /= heed.sum(-1, keepdims=True)
        seen = (heed @ values).transpose(0, 2, 1, 3).reshape(told.shape)
        attended = f"{name}attention.output."
        told = self._even(told + self._times(seen, f"{attended}dense"), f"{attended}LayerNorm")
        more = self._times(_gelu(self._times(told, f"{name}intermediate.dense")), f"{name}output.dense")
        return self._even(told + more, f"{name}output.LayerNorm")

    def _times(self, told: Any, name: str) -> Any:
        made = told @ self._weights[f"{name}.weight"]
        made += self._weights[f"{name}.bias"]
        return made

    def _even(self, told: Any, name: str) -> Any:
        told = told - told.mean(-1, keepdims=True)
        spread = np.einsum("...i,...i->...", told, told) / told.shape[-1]
        told *= (1 / np.sqrt(spread + self._small))[..., None]
        told *= self._weights[f"{name}.weight"]
        told += self._weights[f"{name}.bias"]
        return told


def _gelu(told: Any) -> Any:
    """With the error function as Abramowitz and Stegun approximate it (7.1.26), in place: this is half of the work."""
    size = np.abs(told)
    size *= 0.5**0.5
    part = 1 / (1 + 0.3275911 * size)
    rest = np.full_like(part, 1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        rest *= part
        rest += factor
    rest *= part
    size *= -size
    np.exp(size, out=size)
    rest *= size
    np.subtract(1, rest, out=rest)
    np.copysign(rest, told, out=rest)
    rest += 1
    rest *= told
    rest *= 0.5
    return rest


def _tensors(body: bytes) -> dict[str, Any]:
    """What a file of safetensors holds: a length, a list as JSON, then the figures."""
    (length,) = unpack("<Q", body[:8])
    listed = json.loads(body[8 : 8 + length])
    kinds = {"F32": np.float32, "F16": np.float16, "I64": np.int64}
    found = {}
    for name, one in listed.items():
        if name != "__metadata__" and one["dtype"] in kinds:
            start, end = one["data_offsets"]
            kind = np.dtype(kinds[one["dtype"]])
            flat = np.frombuffer(body, kind, (end - start) // kind.itemsize, 8 + length + start)
            found[name.removeprefix("bert.")] = flat.reshape(one["shape"]).astype(np.float32)
    return found


def _prepared(tensors: dict[str, Any], layers: int) -> dict[str, Any]:
    """Turned the way they are multiplied; the three of attention as one."""
    for layer in range(layers):
        name = f"encoder.layer.{layer}.attention.self."
        for kind, axis in (("weight", 0), ("bias", 0)):
            three = [tensors.pop(f"{name}{part}.{kind}") for part in ("query", "key", "value")]
            tensors[f"{name}three.{kind}"] = np.concatenate(three, axis)
    for name, one in tensors.items():
        if name.startswith("encoder.") and one.ndim == 2:
            tensors[name] = np.ascontiguousarray(one.T)
    return tensors


def _vocabulary(folder: Path) -> Mapping[str, int]:
    if (folder / "vocab.txt").is_file():
        lines = (folder / "vocab.txt").read_text("utf-8").split("\n")
        return {piece: number for number, piece in enumerate(lines) if piece}
    model = _json(folder / "tokenizer.json").get("model", {})
    if not isinstance(model.get("vocab"), dict):
        raise ValueError("there is neither a vocab.txt nor a tokenizer.json with the pieces of words")
    found: dict[str, int] = model["vocab"]
    return found


def _json(file: Path) -> dict[str, Any]:
    """Empty where there is no such file."""
    found = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return found if isinstance(found, dict) else {}
