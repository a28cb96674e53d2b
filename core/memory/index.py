"""What is indexed of a memory: its words as stems, those around it, and the print that equal sentences share."""

from hashlib import blake2b

from core.domain.memory import Said
from core.memory.words import EMPTY_STEMS, telling, words
from core.store.memory_rows import Indexed


def indexed(said: Said) -> Indexed:
    """Fields count as words of the sentence where they are not in it already."""
    every = words(said.text)
    inside = [word for word in every if word not in EMPTY_STEMS]
    more = telling(" ".join(text for text in said.parts.values() if text not in said.text)) if said.parts else []
    return Indexed(" ".join(inside + more), " ".join(telling(said.around)) if said.around else "", _print(every))


def print_of(text: str) -> str:
    """The same for sentences of the same words in the same order, however they are written. Negations count."""
    return _print(words(text))


def _print(every: list[str]) -> str:
    return blake2b(" ".join(every).encode("utf-8", "replace"), digest_size=12).hexdigest()
