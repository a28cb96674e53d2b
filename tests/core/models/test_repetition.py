"""A reply that repeats itself without end is recognized; other long texts are not."""

import random

import pytest

from core.models.repetition import ARGUMENTS_TAIL, TEXT_TAIL, RepetitionDetector, RepetitionGuard, without_repetition

PASSAGES = ("a", "I wonder. ", "```json\n{}\n```\n", "Ünïcode 😀 and more words.\n" * 3, "x" * 490 + "\n")


def found_after(text: str, piece: int, detector: RepetitionDetector | None = None) -> int:
    """Return after how many characters a repetition is found, or 0."""
    detector = detector or RepetitionDetector()
    return next((at + piece for at in range(0, len(text), piece) if detector.feed(text[at : at + piece])), 0)


@pytest.mark.parametrize("passage", PASSAGES, ids=range(len(PASSAGES)))
@pytest.mark.parametrize("piece", [1, 7, 999, 5_000])
def test_a_passage_without_end_is_found_soon_after_it_fills_the_tail(passage: str, piece: int) -> None:
    start = "Once upon a time there was a model. "
    text = start + passage * (20_000 // len(passage))
    assert 0 < found_after(text, piece) <= len(start) + TEXT_TAIL + 1_000 + 2 * piece


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"{number}. Line {number} of the list" for number in range(3_000)),
        "\n".join("".join(random.Random(n).choices("abcdefgh ", k=60)) for n in range(500)),
        "-" * 3_900 + "\nThe end.\n" + "=" * 3_900,
        ("".join(chr(97 + n % 26) for n in range(700)) + "\n") * 6,
    ],
    ids=["numbered list", "random lines", "two rules", "few repetitions"],
)
def test_other_texts_are_not_repetitions(text: str) -> None:
    assert not found_after(text, 13)


def test_the_arguments_of_a_call_may_repeat_for_longer() -> None:
    guard = RepetitionGuard()
    assert not guard.feed("", "", "0, " * ((ARGUMENTS_TAIL - 100) // 3))
    assert guard.feed("", "", "0, " * 500)
    assert RepetitionGuard().feed("", "I wonder. " * 500, "")


def test_the_repeated_passage_is_kept_once() -> None:
    assert without_repetition("Start. " + "I wonder. " * 600) == "Start. I wonder. "
    assert without_repetition("Start. " + "I wonder. " * 600 + "I wo") == "Start. I wonder. I wo"
    for text in ("", "short", "-" * 3_000, "no repetition " + "abc" * 10):
        assert without_repetition(text) == text
