"""Reads how to use a published embedding model, from the files that sentence-transformers stores with it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUPPORTED_MODULES = frozenset({"Transformer", "Pooling", "Normalize"})
# The last two differ only in the length of the embedding.
POOLING_MODES = ("cls_token", "mean_tokens", "mean_sqrt_len_tokens")
DOCUMENT_PROMPTS = ("document", "passage", "corpus")  # names of the document prompt in published models


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How to use an embedding model.

    `query_prompt` and `document_prompt` are prefixes for questions and for memories. `max_tokens` is 0 if the model
    states no limit. `uses_first_token`: the embedding is that of the first token instead of the mean of all tokens.
    """

    uses_first_token: bool = False
    query_prompt: str = ""
    document_prompt: str = ""
    max_tokens: int = 0


def read_settings(folder: Path) -> ModelSettings:
    """Return the settings of the model in a folder; raise ValueError if it needs an unsupported computation."""
    modules = _modules(folder)
    if other := sorted(set(modules) - SUPPORTED_MODULES):
        raise ValueError(f"its modules.json requires {', '.join(other)}, which is not supported")
    pooling = read_json(folder / modules.get("Pooling", "1_Pooling") / "config.json")
    modes = [name.removeprefix("pooling_mode_") for name, is_on in pooling.items() if is_on is True and "mode" in name]
    if len(modes) > 1 or not set(modes).issubset(POOLING_MODES):
        raise ValueError(f"it combines the tokens by {' and '.join(modes)}, which is not supported")
    prompts = _prompts(folder)
    limit = read_json(folder / modules.get("Transformer", "") / "sentence_bert_config.json").get("max_seq_length")
    return ModelSettings(
        uses_first_token=modes == ["cls_token"],
        query_prompt=prompts.get("query", ""),
        document_prompt=next((prompts[name] for name in DOCUMENT_PROMPTS if name in prompts), ""),
        max_tokens=limit if isinstance(limit, int) else 0,
    )


def read_json(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an empty object if the file does not exist or contains something else."""
    value = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return value if isinstance(value, dict) else {}


def _prompts(folder: Path) -> dict[str, str]:
    """Return the prompts that the model expects before a text, by their names."""
    prompts = read_json(folder / "config_sentence_transformers.json").get("prompts")
    if not isinstance(prompts, dict):
        return {}
    return {name: text for name, text in prompts.items() if isinstance(text, str)}


def _modules(folder: Path) -> dict[str, str]:
    """Return the folders of the model's modules, by class name."""
    file = folder / "modules.json"
    listed = json.loads(file.read_text("utf-8")) if file.is_file() else []
    return {str(module["type"]).rpartition(".")[2]: str(module["path"]) for module in listed}
