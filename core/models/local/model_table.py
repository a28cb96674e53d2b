"""The table of models that can be downloaded, from `resources/models/local.toml`."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that can be downloaded.

    Attributes:
        size: the size of the file in bytes.
        memory: the bytes of memory that the model needs with a context of `window` tokens.
        addresses: URLs of the file, to be tried in this order.
        sha256: the hash of the file; "" if unknown.
        temperature: the default sampling temperature; -1 for that of llama.cpp.
    """

    name: str
    title: str
    purpose: str
    license: str
    size: int
    memory: int
    window: int
    sha256: str
    addresses: tuple[str, ...]
    temperature: float = -1.0


@cache
def local_model_table() -> Mapping[str, LocalModel]:
    """Return the models of the table by name, in the order of the file: smallest first."""
    text = (resources.files("resources") / "models" / "local.toml").read_text("utf-8")
    models = [LocalModel(**{**row, "addresses": tuple(row["addresses"])}) for row in tomllib.loads(text)["model"]]
    return MappingProxyType({model.name: model for model in models})


def encode_model(model: LocalModel) -> str:
    return json.dumps(asdict(model))


def decode_model(text: str) -> LocalModel | None:
    """Return a model from its `encode_model` text; None if the text is damaged."""
    try:
        fields = json.loads(text)
        return LocalModel(**{**fields, "addresses": tuple(fields["addresses"])})
    except (ValueError, TypeError, LookupError):
        return None
