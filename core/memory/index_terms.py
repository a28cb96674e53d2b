"""The index terms of a memory: the stems in its text and context, and a fingerprint to detect equal sentences."""

from hashlib import blake2b

from core.domain.memory import MemoryContent
from core.domain.memory_marks import EXPIRES, TAGS, USER_RATING
from core.memory.tokenizer import STOP_STEMS, content_words, tokenize
from core.store.memory_records import IndexTerms


def index_terms(content: MemoryContent) -> IndexTerms:
    """Return the index terms of a memory. Fields that are not part of the sentence are indexed with it."""
    stems = tokenize(content.text)
    words = [stem for stem in stems if stem not in STOP_STEMS]
    if content.fields:
        words += content_words(" ".join(_searched_fields(content)))
    context_words = content_words(content.context) if content.context else []
    return IndexTerms(" ".join(words), " ".join(context_words), _digest(stems))


def _searched_fields(content: MemoryContent) -> list[str]:
    return [
        text
        for name, text in content.fields.items()
        if name not in (EXPIRES, USER_RATING) and (name == TAGS or text not in content.text)
    ]


def fingerprint(text: str) -> str:
    """Return a hash of a sentence that is equal for sentences with the same stems, including negations, in order."""
    return _digest(tokenize(text))


def _digest(stems: list[str]) -> str:
    return blake2b(" ".join(stems).encode("utf-8", "replace"), digest_size=12).hexdigest()
