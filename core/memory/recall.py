"""Choose what a run is told: what is always told, then what fits best, within a budget; short first."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from core.domain.memory import Kind, Memory, strength
from core.domain.recalled import Recalled
from core.memory.rank import NOTHING, Fit, fitting
from core.store.memory_rows import MemoryRows

TOKENS = 1_200
MUST, SHOULD = 0.4, 0.75  # of the budget: what is always told, and with it what fits
SHORT = 240  # characters of a sentence that is told whole
LOOKED_AT = 30
ALWAYS = 12  # preferences and pins at the most
LIKE_TASK = 0.4  # of the question, that an outcome must hold
LEAST_OWN = 0.4  # of what it says itself
LEAST_NEAR = 0.5  # by what it means, where no words say so
LOOKED_FOR = 0.35  # the same where a person looks for it, and sees what is best first
LEAST_SHARE, SURE_SHARE = 0.2, 0.6  # of the question: less fits by accident; so much is enough with one word
MOST: Mapping[Kind, int] = MappingProxyType(
    {"preference": 12, "heuristic": 6, "knowledge": 6, "outcome": 2, "anti-pattern": 4}
)
# How much these may move a memory among those that fit about as well. Together less than a better word is worth.
FRESH, HELPED, SURE = 0.04, 0.04, 0.02


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that fits, with how well and why."""

    memory: Memory
    score: float
    words: float
    why: str
    many: bool = True  # more than one word of the question


@dataclass(frozen=True, slots=True)
class Recollection:
    """What is told, in order; `left` fitted as well, without room for them."""

    items: tuple[Recalled, ...] = ()
    left: int = 0


def found(
    rows: MemoryRows, question: str, wanted: Iterable[tuple[str, str]], at: int, most: int,
    near: Mapping[int, float] = NOTHING,
) -> list[Found]:  # fmt: skip
    """The memories for these places that fit, the best first."""
    fits = [
        fit
        for fit in fitting(rows, question, rows.places(wanted), most, near=near)
        if fit.matched or fit.near >= LOOKED_FOR
    ]
    return ranked(fits, rows.by_keys([fit.key for fit in fits]), at)


def ranked(fits: Collection[Fit], memories: Iterable[Memory], at: int) -> list[Found]:
    """Words first; among those that fit alike, what is fresh, has helped and is sure."""
    best = max((fit.score for fit in fits), default=0.0)
    told = []
    for fit, memory in zip(fits, memories, strict=True):
        uses = memory.uses
        helped = (uses.good - uses.bad) / (uses.good + uses.bad + 1)
        bonus = FRESH * strength(memory, at) + HELPED * helped + SURE * memory.said.confidence
        score = fit.score / best * (1 + bonus) / (1 + FRESH + HELPED + SURE) if best else 0.0
        told.append(
            Found(
                memory,
                round(score, 4),
                round(fit.share, 4),
                _why(fit),
                len(fit.matched) > 1,
            )
        )
    return sorted(told, key=lambda one: -one.score)


def _why(fit: Fit) -> str:
    words = f"words: {', '.join(fit.matched[:6])}" if fit.matched else ""
    return "; ".join(part for part in (words, f"meaning: {fit.near:.2f}" if fit.near >= LOOKED_FOR else "") if part)


def recall(
    rows: MemoryRows, question: str, wanted: Collection[tuple[str, str]], at: int, *, told: Collection[str] = (),
    tokens: int = TOKENS, near: Mapping[int, float] = NOTHING,
) -> Recollection:  # fmt: skip
    """What a run is told for these words of a person. `told` it has been told already."""
    places = rows.places(wanted)
    if not places:
        return Recollection()
    always = [one for one in rows.must([place.number for place in places], ALWAYS) if one.id not in told]
    must = [Found(one, 1.0, 0.0, "you pinned it" if one.pinned else "a preference") for one in always]
    known = {one.memory.id for one in must} | set(told)
    fits = fitting(rows, question, places, LOOKED_AT, near=near)
    good = [fit for fit in fits if _fits(fit)]
    best = ranked(good, rows.by_keys([fit.key for fit in good]), at)
    return _within(must, _few_of_each(one for one in best if one.memory.id not in known and _tells(one)), tokens)


def _fits(fit: Fit) -> bool:
    """Is it no accident: enough of the question, or of what it says itself, and more than one word or nearly all?"""
    enough = fit.share >= LEAST_SHARE or fit.own >= LEAST_OWN
    return _means(fit) or (enough and (len(fit.matched) > 1 or fit.share >= SURE_SHARE))


def _means(fit: Fit) -> bool:
    return fit.near >= LEAST_NEAR


def _tells(found: Found) -> bool:
    """An outcome is worth telling of a like task only, and where more is known of it than that it was done."""
    memory = found.memory
    if memory.said.kind != "outcome":
        return True
    return found.words >= LIKE_TASK and bool(memory.said.parts.keys() & {"tried", "error", "verdict"}) and found.many


def _few_of_each(found: Iterable[Found]) -> list[Found]:
    counts: dict[Kind, int] = {}
    few = []
    for one in found:
        kind = one.memory.said.kind
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] <= MOST[kind]:
            few.append(one)
    return few


def _within(must: Iterable[Found], fits: Iterable[Found], tokens: int) -> Recollection:
    items: list[Recalled] = []
    spent, left = 0, 0
    for share, group in ((MUST, must), (SHOULD, fits)):
        for one in group:
            item = _item(one)
            if spent + _tokens(item.text) > share * tokens:
                left += 1
                continue
            spent += _tokens(item.text)
            items.append(item)
    return Recollection(tuple(items), left)


def _item(found: Found) -> Recalled:
    memory, text = found.memory, found.memory.said.text
    whole = len(text) <= SHORT
    short = text if whole else text[: SHORT - 1].rsplit(" ", 1)[0] + " …"
    return Recalled(memory.id, memory.version, memory.said.kind, found.score, found.why, short, found.words, whole)


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // 4 + 12
