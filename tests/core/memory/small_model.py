"""A tiny model in the format of published ones, in which words with the same meaning have the same vector."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, INNER, HEADS = 32, 48, 4
MEANINGS = (
    "boat ship vessel", "leaves departs sails", "dawn sunrise daybreak", "copy backup", "night nightly", "every each",
    "house home", "green", "short brief", "answers replies", "they people", "like prefer", "runs made",
    "there is a the", "no never", "at in",
)  # fmt: skip
MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def small_model(folder: Path, seed: int = 1) -> Path:
    """Write a model that consists of its word vectors only: its layers add nothing."""
    chance = np.random.default_rng(seed)
    pieces, rows = list(MARKS), [np.zeros(WIDTH)] * len(MARKS)
    for one in MEANINGS:
        vector = chance.normal(size=WIDTH)
        pieces += one.split()
        rows += [vector] * len(one.split())
    for sign in "abcdefghijklmnopqrstuvwxyz0123456789.":
        pieces += [sign, f"##{sign}"]
        rows += [chance.normal(size=WIDTH) / 9] * 2
    tensors = named(np.zeros, len(pieces), 1)
    tensors["embeddings.word_embeddings.weight"] = np.array(rows)
    for name in tensors:
        if name.endswith("LayerNorm.weight"):
            tensors[name] += 1
    return written(folder, tensors, pieces, 1)


def random_model(folder: Path, layers: int = 2) -> tuple[Path, dict[str, Any]]:
    """Write a model whose layers all have an effect, and return its configuration and tensors."""
    chance = np.random.default_rng(5)
    tensors = named(lambda shape: chance.normal(scale=0.3, size=shape), 5 + 26, layers)
    return written(folder, tensors, [*MARKS, *"abcdefghijklmnopqrstuvwxyz"], layers), tensors


def named(made: Any, pieces: int, layers: int) -> dict[str, Any]:
    """Return every tensor of a model under its published name."""
    shapes: dict[str, Sequence[int]] = {
        "embeddings.word_embeddings.weight": (pieces, WIDTH),
        "embeddings.position_embeddings.weight": (64, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for layer in range(layers):
        for name, out, into in (
            ("attention.self.query", WIDTH, WIDTH), ("attention.self.key", WIDTH, WIDTH),
            ("attention.self.value", WIDTH, WIDTH), ("attention.output.dense", WIDTH, WIDTH),
            ("intermediate.dense", INNER, WIDTH), ("output.dense", WIDTH, INNER),
        ):  # fmt: skip
            shapes |= {
                f"encoder.layer.{layer}.{name}.weight": (out, into),
                f"encoder.layer.{layer}.{name}.bias": (out,),
            }
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"encoder.layer.{layer}.{name}.{kind}": (WIDTH,) for kind in ("weight", "bias")}
    return {name: made(shape) for name, shape in shapes.items()}


def written(folder: Path, tensors: Mapping[str, Any], pieces: Sequence[str], layers: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_type": "bert", "hidden_act": "gelu", "num_hidden_layers": layers, "num_attention_heads": HEADS,
        "layer_norm_eps": 1e-12, "max_position_embeddings": 64,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    listed, body = {}, b""
    for name, one in tensors.items():
        data = np.asarray(one, np.float32).tobytes()
        listed[name] = {"dtype": "F32", "shape": list(one.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    head = json.dumps({"__metadata__": {"format": "pt"}, **listed}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + body)
    return folder


def mpnet_model(folder: Path, tensors: Mapping[str, Any], distance_bias: Any) -> Path:
    """Write the tensors of a BERT model as those of an MPNet model, with biases by distance, into the same folder."""
    renamed = {"encoder.relative_attention_bias.weight": distance_bias}
    for name, tensor in tensors.items():
        published = name.replace("attention.output.LayerNorm", "attention.LayerNorm")
        published = published.replace("attention.output.dense", "attention.attn.o")
        for part in ("query", "key", "value"):
            published = published.replace(f"attention.self.{part}", f"attention.attn.{part[0]}")
        if "position" in name:
            tensor = np.concatenate([np.full((2, WIDTH), 9.0), tensor])
        if "token_type" not in name:
            renamed[published] = tensor
    pieces = ["<pad>", "[UNK]", "<s>", "</s>", "<mask>", *"abcdefghijklmnopqrstuvwxyz"]
    layers = sum(name.endswith("intermediate.dense.bias") for name in tensors)
    written(folder, renamed, pieces, layers)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "mpnet", "max_position_embeddings": 66}))
    return folder
