"""Finds model files on this computer that Ollama, LM Studio or the Hugging Face cache have stored.

The folders are untrusted: links out of them are ignored, and malformed manifests are skipped.
"""

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.domain.problems import Problem
from core.models.local.gguf_header import GgufHeader, read_header

MAX_FILES = 2_000  # most entries of one folder that are examined
MAX_MANIFEST = 1 << 20
OLLAMA_MODEL = "application/vnd.ollama.image.model"
DIGEST = re.compile(r"[0-9a-f]{64}")
# Any file but the first of a model that is split into several files.
LATER_PART = re.compile(r"-(?!0*1-of)\d+-of-\d+\.gguf$")
FIRST_PART = re.compile(r"-0*1-of-\d+\.gguf$")


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model file of another program. `sha256` is the digest according to that program; "" if unknown."""

    name: str
    title: str
    origin: str
    path: Path
    size: int
    header: GgufHeader
    sha256: str = ""


def find_models(environment: Mapping[str, str], home: Path) -> list[FoundModel]:
    """Return the models on this computer that can chat, without duplicates."""
    found: dict[Path, FoundModel] = {}
    for folder in _ollama_folders(environment, home):
        for model in _in_ollama(folder):
            found.setdefault(model.path, model)
    for folder in _lm_studio_folders(home):
        for model in _in_lm_studio(folder):
            found.setdefault(model.path, model)
    for model in _in_hugging_face(_hugging_face_folder(environment, home)):
        found.setdefault(model.path, model)
    return list(found.values())


def _ollama_folders(environment: Mapping[str, str], home: Path) -> list[Path]:
    if chosen := environment.get("OLLAMA_MODELS", "").strip():
        return [Path(chosen)]
    return [home / ".ollama" / "models", Path("/usr/share/ollama/.ollama/models")]


def _lm_studio_folders(home: Path) -> list[Path]:
    folders = [home / ".lmstudio" / "models", home / ".cache" / "lm-studio" / "models"]
    pointer = home / ".lmstudio-home-pointer"
    text = _read_small(pointer).decode("utf-8", "replace").strip()
    return [Path(text) / "models", *folders] if text and Path(text).is_absolute() else folders


def _hugging_face_folder(environment: Mapping[str, str], home: Path) -> Path:
    for variable, below in (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub")):
        if chosen := environment.get(variable, "").strip():
            return Path(chosen) / below
    cache = environment.get("XDG_CACHE_HOME", "").strip()
    return (Path(cache) if cache else home / ".cache") / "huggingface" / "hub"


def _in_ollama(folder: Path) -> Iterator[FoundModel]:
    """Yield the models in an Ollama folder, from the manifests `manifests/HOST/OWNER/MODEL/TAG`."""
    manifests = folder / "manifests"
    for path in _files(manifests):
        parts = path.relative_to(manifests).parts
        if len(parts) != 4 or path.is_symlink():
            continue
        if digest := _ollama_digest(path):
            owner = "" if parts[1] == "library" else f"{parts[1]}/"
            name = f"{owner}{parts[2]}" + ("" if parts[3] == "latest" else f":{parts[3]}")
            blob = folder / "blobs" / f"sha256-{digest}"
            if model := _found("ollama", name, "Ollama", blob, folder, digest):
                yield model


def _ollama_digest(path: Path) -> str:
    """Return the digest of the model file that a manifest names; "" unless it names exactly one."""
    try:
        layers = json.loads(_read_small(path))["layers"]
        digests = [layer["digest"] for layer in layers if layer["mediaType"] == OLLAMA_MODEL]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    if len(digests) != 1 or not isinstance(digests[0], str):
        return ""
    digest = digests[0].removeprefix("sha256:")
    return digest if DIGEST.fullmatch(digest) else ""


def _in_lm_studio(folder: Path) -> Iterator[FoundModel]:
    for path in _files(folder):
        if _is_model_file(path.name) and (
            model := _found("lmstudio", _name_below(folder, path), "LM Studio", path, folder)
        ):
            yield model


def _in_hugging_face(folder: Path) -> Iterator[FoundModel]:
    """Yield the models in `models--OWNER--NAME/snapshots/REVISION`, whose files link to the repository's `blobs`."""
    for repository in _entries(folder):
        if not repository.name.startswith("models--") or repository.is_symlink():
            continue
        owner_and_name = repository.name.removeprefix("models--").replace("--", "/")
        for revision in _entries(repository / "snapshots"):
            for path in _files(revision):
                if not _is_model_file(path.name):
                    continue
                name = f"{owner_and_name}/{path.name.removesuffix('.gguf')}"
                target = path.resolve().name
                digest = target if DIGEST.fullmatch(target) else ""
                if model := _found("huggingface", name, "Hugging Face", path, repository, digest):
                    yield model


def _found(source: str, name: str, origin: str, path: Path, root: Path, sha256: str = "") -> FoundModel | None:
    """Return the model in a file; None unless it is a regular file below `root` with a model that can chat."""
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(root.resolve()) or not stat.S_ISREG(real.stat().st_mode):
            return None
        header = read_header(real)
        size = sum(part.stat().st_size for part in _parts(path))
    except (OSError, Problem, RuntimeError):  # RuntimeError: older versions of Python raise it for a loop of links
        return None
    # A split model is loaded by the name of its first file, which must be in the folder of the others, so not resolved.
    loaded = path if FIRST_PART.search(path.name) else real
    return (
        FoundModel(
            name=f"{source}/{name}", title=name, origin=origin, path=loaded, size=size, header=header, sha256=sha256
        )
        if header.can_chat
        else None
    )


def _parts(path: Path) -> list[Path]:
    """Return all files of a model; `path` is the only or the first one."""
    if match := FIRST_PART.search(path.name):
        stem = path.name[: match.start()]
        return [other for other in _entries(path.parent) if other.name.startswith(f"{stem}-")]
    return [path]


def _is_model_file(name: str) -> bool:
    return name.endswith(".gguf") and not LATER_PART.search(name) and "mmproj" not in name.lower()


def _name_below(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix().removesuffix(".gguf")


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(Path(entry.path) for entry in os.scandir(folder))[:MAX_FILES]
    except OSError:
        return []


def _files(folder: Path, depth: int = 5) -> Iterator[Path]:
    """Yield the files below a folder, up to a depth, including links to files. Links to folders are not followed."""
    for entry in _entries(folder):
        if entry.is_dir() and not entry.is_symlink():
            if depth:
                yield from _files(entry, depth - 1)
        elif entry.is_file():
            yield entry


def _read_small(path: Path) -> bytes:
    """Return the contents of a file of at most MAX_MANIFEST bytes; b"" for anything else."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_MANIFEST:
            return b""
        return path.read_bytes()
    except OSError:
        return b""
