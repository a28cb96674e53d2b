"""Keeps a key out of every text, and makes whole what servers cut between two pieces."""

KEY = "[key]"
SHORTEST = 8
PART = 12  # so much of a key is no word that stands there by chance
PLACEHOLDERS = frozenset({"lm-studio", "not-needed", "sk-no-key-required", "no-key-required", "placeholder"})
HIGH = ("\ud800", "\udbff")


class Mask:
    """A key that is hidden wherever a server repeats it. Words that stand where local servers want any key are none."""

    def __init__(self, key: str) -> None:
        self._key = key if len(key) >= SHORTEST and key.lower() not in PLACEHOLDERS else ""

    def hide(self, text: str) -> str:
        """The text without the key, also as it stands inside of JSON."""
        return text.replace(self._key, KEY) if self._key and self._key in text else text

    def hide_parts(self, text: str) -> str:
        """The text without the key and without long parts of it, which servers repeat when they shorten it."""
        text, key = self.hide(text), self._key
        pieces = {key[at : at + PART] for at in range(len(key) - PART + 1)}
        shown: list[str] = []
        end = 0
        for at in range(len(text) - PART + 1 if pieces else 0):
            if text[at : at + PART] in pieces:
                shown += [] if shown and at <= end else [text[end:at], KEY]
                end = at + PART
        return "".join((*shown, text[end:]))

    def keep_back(self, text: str) -> int:
        """How many characters at the end may be the beginning of the key."""
        key = self._key
        start = text.find(key[0], max(0, len(text) - len(key) + 1)) if key else -1
        while start >= 0:
            if key.startswith(text[start:]):
                return len(text) - start
            start = text.find(key[0], start + 1)
        return 0


class Flow:
    """One text that comes in pieces: the key is hidden and pairs of surrogates are joined across them."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._kept = ""

    def pass_on(self, piece: str) -> str:
        """What can be shown now."""
        if not piece:
            return ""
        text = _paired(self._mask.hide(self._kept + piece))
        kept = self._mask.keep_back(text) or HIGH[0] <= text[-1] <= HIGH[1]
        self._kept = text[len(text) - kept :] if kept else ""
        return text[: len(text) - kept] if kept else text

    def rest(self) -> str:
        """What was kept back, now that nothing follows."""
        text, self._kept = self._kept, ""
        return text


def _paired(text: str) -> str:
    """Halves of one character that came as two made one; a half that is alone stays as it is."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
