"""Masks the API key in text from a provider, even if it is split between two chunks."""

from core.domain.text import join_surrogates

MASKED = "[key]"
MIN_KEY_LENGTH = 8
MIN_PART_LENGTH = 12  # characters of the shortest substring of a key that is masked
PLACEHOLDERS = frozenset({"lm-studio", "not-needed", "sk-no-key-required", "no-key-required", "placeholder"})
HIGH_SURROGATES = ("\ud800", "\udbff")


class KeyMask:
    """Masks an API key that a provider repeats. Short keys and placeholders for local servers are not masked."""

    def __init__(self, key: str) -> None:
        self._key = key if len(key) >= MIN_KEY_LENGTH and key.lower() not in PLACEHOLDERS else ""

    def hide(self, text: str) -> str:
        """Return a text with the key masked. Keys are ASCII, so this also works inside JSON."""
        return text.replace(self._key, MASKED) if self._key and self._key in text else text

    def hide_parts(self, text: str) -> str:
        """Return a text with the key and its long substrings masked; providers often show keys abbreviated."""
        text, key = self.hide(text), self._key
        key_parts = {key[start : start + MIN_PART_LENGTH] for start in range(len(key) - MIN_PART_LENGTH + 1)}
        parts: list[str] = []
        end = 0
        for start in range(len(text) - MIN_PART_LENGTH + 1 if key_parts else 0):
            if text[start : start + MIN_PART_LENGTH] in key_parts:
                continues_last_match = bool(parts) and start <= end
                if not continues_last_match:
                    parts += [text[end:start], MASKED]
                end = start + MIN_PART_LENGTH
        return "".join((*parts, text[end:]))

    def held_back_length(self, text: str) -> int:
        """Return how many characters at the end of a text may be the beginning of the key."""
        key = self._key
        start = text.find(key[0], max(0, len(text) - len(key) + 1)) if key else -1
        while start >= 0:
            if key.startswith(text[start:]):
                return len(text) - start
            start = text.find(key[0], start + 1)
        return 0


class MaskedStream:
    """Masks the key in streamed text, and joins surrogate pairs that are split between chunks."""

    def __init__(self, mask: KeyMask) -> None:
        self._mask = mask
        self._held = ""

    def feed(self, chunk: str) -> str:
        """Add a chunk; return the masked text, holding back an end that may be the beginning of the key."""
        if not chunk:
            return ""
        text = join_surrogates(self._mask.hide(self._held + chunk))
        held_length = self._mask.held_back_length(text) or HIGH_SURROGATES[0] <= text[-1] <= HIGH_SURROGATES[1]
        self._held = text[len(text) - held_length :] if held_length else ""
        return text[: len(text) - held_length] if held_length else text

    def finish(self) -> str:
        """Return the text that is still held back, at the end of the stream."""
        text, self._held = self._held, ""
        return text
