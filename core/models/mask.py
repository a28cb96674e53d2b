"""Masking of the API key in provider text, also when it is split between two chunks."""

MASKED = "[key]"
MIN_KEY_LENGTH = 8
MIN_PART_LENGTH = 12  # characters; text that has as many in common with a key is masked
PLACEHOLDERS = frozenset({"lm-studio", "not-needed", "sk-no-key-required", "no-key-required", "placeholder"})
HIGH_SURROGATES = ("\ud800", "\udbff")


class KeyMask:
    """Masks an API key wherever a provider echoes it. Short keys and placeholders of local servers are not masked."""

    def __init__(self, key: str) -> None:
        self._key = key if len(key) >= MIN_KEY_LENGTH and key.lower() not in PLACEHOLDERS else ""

    def hide(self, text: str) -> str:
        """Replace the key in a text; keys are ASCII, so this also works inside JSON."""
        return text.replace(self._key, MASKED) if self._key and self._key in text else text

    def hide_parts(self, text: str) -> str:
        """Replace the key and its long substrings, which providers show when they abbreviate a key."""
        text, key = self.hide(text), self._key
        key_parts = {key[start : start + MIN_PART_LENGTH] for start in range(len(key) - MIN_PART_LENGTH + 1)}
        parts: list[str] = []
        end = 0
        for start in range(len(text) - MIN_PART_LENGTH + 1 if key_parts else 0):
            if text[start : start + MIN_PART_LENGTH] in key_parts:
                parts += [] if parts and start <= end else [text[end:start], MASKED]
                end = start + MIN_PART_LENGTH
        return "".join((*parts, text[end:]))

    def held_back_length(self, text: str) -> int:
        """Return how many characters at the end of a text may be the start of the key."""
        key = self._key
        start = text.find(key[0], max(0, len(text) - len(key) + 1)) if key else -1
        while start >= 0:
            if key.startswith(text[start:]):
                return len(text) - start
            start = text.find(key[0], start + 1)
        return 0


class MaskedStream:
    """Masks the key in a streamed text and joins surrogate pairs that were split between chunks."""

    def __init__(self, mask: KeyMask) -> None:
        self._mask = mask
        self._held = ""

    def feed(self, chunk: str) -> str:
        """Add a chunk and return the text that is safe to show; a possible start of the key is held back."""
        if not chunk:
            return ""
        text = _join_surrogates(self._mask.hide(self._held + chunk))
        held_length = self._mask.held_back_length(text) or HIGH_SURROGATES[0] <= text[-1] <= HIGH_SURROGATES[1]
        self._held = text[len(text) - held_length :] if held_length else ""
        return text[: len(text) - held_length] if held_length else text

    def finish(self) -> str:
        """Return the text held back, at the end of the stream."""
        text, self._held = self._held, ""
        return text


def _join_surrogates(text: str) -> str:
    """Join surrogate pairs into one character; a lone surrogate is left unchanged."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
