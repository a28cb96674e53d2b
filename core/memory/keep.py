"""Keep a sentence: refused where it must not be kept, merged where it is known, linked where another says otherwise."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.domain.ids import memory_id
from core.domain.memory import AROUND, KINDS, LONGEST, PARTS, REACHES, Author, Change, Did, Memory, Said, fold, sentence
from core.domain.problems import Problem
from core.memory.alike import SUBJECT, alike, at_odds, contrary
from core.memory.guard import refusal
from core.memory.index import print_of
from core.memory.rank import NOTHING, fitting
from core.memory.words import telling
from core.store.memory_rows import MemoryRows, Place

OF_FIELDS = ("heuristic", "anti-pattern")  # kinds that a person or an agent can say field by field
NEIGHBOURS = 8  # memories that a new one is compared with


@dataclass(frozen=True, slots=True)
class Source:
    """Who keeps it, out of which session and step, and why."""

    by: Author
    session: str = ""
    seq: int = 0
    why: str = ""

    def change(self, memory: str, number: int, at: int, did: Did, said: Said | None = None) -> Change:
        """What it does to a memory."""
        return Change(memory, number, at, did, self.by, said, self.session, self.seq, self.why)


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be learnt, as an agent's profile says. `may` empty is everything; what is in `never` wins."""

    may: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    def refusal(self, said: Said) -> str:
        """Why this may not be learnt; empty where it may."""
        if found := next((topic for topic in self.never if _about(topic, said)), ""):
            return f"This agent may never learn about {found!r}."
        if self.may and not any(_about(topic, said) for topic in self.may):
            return f"This agent may only learn about: {', '.join(self.may)}."
        return ""


@dataclass(frozen=True, slots=True)
class Kept:
    """What came of it. `others` say otherwise: a person should look at them."""

    did: Literal["kept", "seen again"]
    memory: Memory
    others: tuple[Memory, ...] = ()


def checked(said: Said, limits: Limits | None = None) -> Said:
    """As it may be kept; a Problem says why it may not."""
    text = " ".join((said.text or sentence(said.kind, said.parts)).split())
    if said.kind not in KINDS or said.reach not in REACHES:
        raise Problem(f"There is no {said.kind!r} for {said.reach!r}.", "", f"Kinds are: {', '.join(KINDS)}.")
    if not any(sign.isalnum() for sign in text):
        fields = f", or give {' and '.join(PARTS[said.kind][:2])}" if said.kind in OF_FIELDS else ""
        raise Problem("There is nothing to remember.", "The text is empty.", f"Say it in a sentence{fields}.")
    if len(text) > LONGEST:
        why = f"It has {len(text):,} characters; a memory has {LONGEST:,} at the most."
        raise Problem("This is too long to remember.", why, "Say it in one sentence, or write a skill.")
    if said.reach != "everywhere" and not said.place:
        raise Problem(f"It is for a {said.reach}, but none is named.", "", f"Name the {said.reach}.")
    place = "" if said.reach == "everywhere" else said.place
    sure = min(1.0, max(0.0, said.confidence))
    made = Said(
        said.kind, text, said.reach, place, said.around[:AROUND], sure, _parts(said.parts) if said.parts else {}
    )
    whole = " ".join((text, made.around, *made.parts.values()))
    if any("\ud800" <= sign <= "\udfff" for sign in whole + place):
        raise Problem("This cannot be remembered.", "It holds signs that are no text.", "Say it without them.")
    if why := refusal(whole) or (limits.refusal(made) if limits else ""):
        raise Problem("This is not remembered.", why, "Say it without that, or not at all.")
    return made


def keep(rows: MemoryRows, said: Said, source: Source, at: int, means: Mapping[int, float] = NOTHING) -> Kept:
    """Of what was checked, in one transaction: a new memory, or one more time for a known one.

    `means` is how near others are by what they mean, where that is known.
    """
    same, others = compared(rows, said, means)
    if same:
        again = source.change(same.id, same.version + 1, at, "seen again")
        return Kept("seen again", rows.write(again) or same)
    name = memory_id()
    first = source.change(name, 1, at, "kept", said)
    rows.add_all([first])
    memory = fold([first])
    assert memory is not None
    for other in others:
        memory = link(rows, memory, other, source, at)
    return Kept("kept", memory, others)


def link(rows: MemoryRows, memory: Memory, other: Memory, source: Source, at: int) -> Memory:
    """Each names the other; what the first is then."""
    for one, named in ((other, memory), (memory, other)):
        change = Change(one.id, one.version + 1, at, "linked", source.by, other=named.id, why="it says otherwise")
        linked = rows.write(change)
    assert linked is not None
    return linked


def looked_at(
    rows: MemoryRows, said: Said, means: Mapping[int, float] = NOTHING
) -> tuple[Memory | None, tuple[Memory, ...]]:
    """What keeping it would find: the memory that says the same, and those that say otherwise."""
    return _looked_at(rows, said, rows.places([(said.reach, said.place)]), means)


def compared(
    rows: MemoryRows, said: Said, means: Mapping[int, float] = NOTHING
) -> tuple[Memory | None, tuple[Memory, ...]]:
    """As `looked_at`; beside one of the very same words nothing is looked for, and each outcome is a new one."""
    if said.kind == "outcome":
        return None, ()
    places = rows.places([(said.reach, said.place)])
    known = rows.same(places[0].number, said.kind, print_of(said.text)) if places else ""
    return (rows.memory(known), ()) if known else _looked_at(rows, said, places, means)


def _looked_at(
    rows: MemoryRows, said: Said, places: Sequence[Place], means: Mapping[int, float]
) -> tuple[Memory | None, tuple[Memory, ...]]:
    near = _neighbours(rows, said, places, means)
    same = next((one for one in near if _same(one, said)), None)
    return same, _contrary(rows, near, said, means)


def _neighbours(
    rows: MemoryRows, said: Said, places: Sequence[Place], means: Mapping[int, float]
) -> tuple[Memory, ...]:
    fits = fitting(rows, said.text, places, NEIGHBOURS, 4 * NEIGHBOURS, means)
    return tuple(rows.by_keys([fit.key for fit in fits]))


def _contrary(rows: MemoryRows, near: Iterable[Memory], said: Said, means: Mapping[int, float]) -> tuple[Memory, ...]:
    """Those that say otherwise: in about the same words, or in others that mean the same thing."""
    like = _like(said.kind)
    found = [one for one in near if one.said.kind in like and contrary(one.said.text, said.text)]
    known = {one.id for one in found}
    subject = sorted((key for key, one in means.items() if one >= SUBJECT), key=lambda key: -means[key])[:NEIGHBOURS]
    meant = [one for one in (rows.by_keys(subject) if subject else ()) if one.said.kind in like and one.id not in known]
    return (*found, *(one for one in meant if at_odds(one.said.text, said.text)))


def _same(known: Memory, said: Said) -> bool:
    return known.said.kind == said.kind and alike(known.said.text, said.text)


def _like(kind: str) -> frozenset[str]:
    """The kinds whose sentences can say otherwise."""
    return frozenset({"outcome"}) if kind == "outcome" else frozenset(KINDS) - {"outcome"}


def _parts(parts: Mapping[str, str]) -> dict[str, str]:
    return {name: " ".join(str(text).split())[:LONGEST] for name, text in parts.items() if str(text).strip()}


def _about(topic: str, said: Said) -> bool:
    """Is it of this kind, or do all the words of the topic stand in it?"""
    wanted = set(telling(topic))
    inside = set(telling(f"{said.text} {' '.join(said.parts.values())}"))
    return topic.strip().lower() == said.kind or bool(wanted and wanted <= inside)
