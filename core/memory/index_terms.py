"""The index terms of a memory: the stems of its text and context, and a fingerprint to detect equal sentences."""

from hashlib import blake2b

from core.domain.memory import MemoryContent
from core.memory.tokenizer import STOP_STEMS, content_words, tokenize
from core.store.memory_records import IndexTerms


def index_terms(said: MemoryContent) -> IndexTerms:
    """Return the index terms. The words of a field are added to those of the sentence unless it contains the field."""
    every = tokenize(said.text)
    inside = [word for word in every if word not in STOP_STEMS]
    more = (
        content_words(" ".join(text for text in said.fields.values() if text not in said.text)) if said.fields else []
    )
    return IndexTerms(
        " ".join(inside + more), " ".join(content_words(said.context)) if said.context else "", _print(every)
    )


def fingerprint(text: str) -> str:
    """Return a fingerprint that is equal for sentences with the same stems in the same order, including negations."""
    return _print(tokenize(text))


def _print(every: list[str]) -> str:
    return blake2b(" ".join(every).encode("utf-8", "replace"), digest_size=12).hexdigest()
