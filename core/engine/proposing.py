"""The tray where proposals wait: kept, edited first, rejected, and any of it taken back."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from core.domain.problems import Problem
from core.domain.proposal import Of, Proposal, ProposalState
from core.domain.skill import MAIN, Moved, Saved
from core.skills.library import OWN, Library
from core.skills.merge import merged, three_ways
from core.store.proposals import Proposals


class Keeper(Protocol):
    """What keeping a proposal does, for one kind of thing."""

    async def keep(self, wanted: Proposal) -> str:
        """Do it; what it made. Done twice it makes nothing twice."""
        ...

    async def undo(self, wanted: Proposal) -> None:
        """Take it back."""
        ...

    def before(self, wanted: Proposal) -> str | None:
        """What stands there now, to be shown beside what is wanted; None for nothing."""
        ...


class Tray:
    """Nothing is decided twice; a crash between the act and the word leaves a proposal that can be kept again."""

    def __init__(self, book: Proposals, keepers: Mapping[Of, Keeper]) -> None:
        self.book = book
        self._keepers = keepers
        self._deciding: set[str] = set()

    def list(
        self, state: ProposalState | None = "open", of: Of | None = None, session: str = ""
    ) -> tuple[Proposal, ...]:
        """Those in this state, the oldest first."""
        return tuple(self.book.find(state=state, of=of, session=session))

    def one(self, name: str) -> Proposal:
        """By its id, or by enough of its start."""
        return self.book.one(name)

    def before(self, name: str) -> str | None:
        """What stands there now; None for nothing."""
        wanted = self.book.one(name)
        return self._keeper(wanted).before(wanted)

    async def make(self, wanted: Proposal) -> Proposal:
        """A new one, open."""
        return await self.book.make(wanted)

    async def keep(self, name: str, text: str | None = None, *, by: str = "person") -> Proposal:
        """Do what is wanted, with another text if it was edited first."""
        wanted = self._taken(name, "open")
        try:
            edited = wanted if text is None else replace(wanted, text=text)
            result = await self._keeper(wanted).keep(edited)
            return await self.book.settle(wanted.id, "kept", by=by, result=result, text=text)
        finally:
            self._deciding.discard(wanted.id)

    async def reject(self, name: str, *, by: str = "person") -> Proposal:
        """It is not wanted; `undo` opens it again."""
        wanted = self._taken(name, "open")
        try:
            return await self.book.settle(wanted.id, "rejected", by=by)
        finally:
            self._deciding.discard(wanted.id)

    async def undo(self, name: str, *, by: str = "person") -> Proposal:
        """Take back what was kept; open again what was rejected or undone."""
        wanted = self._taken(name, "kept", "rejected", "undone")
        try:
            if wanted.state != "kept":
                return await self.book.settle(wanted.id, "open", by=by)
            await self._keeper(wanted).undo(wanted)
            return await self.book.settle(wanted.id, "undone", by=by, result=wanted.result)
        finally:
            self._deciding.discard(wanted.id)

    async def take_back(self, session: str, but: Collection[str]) -> tuple[Proposal, ...]:
        """Undo the skills that were kept from a session, the newest first. Left are those in `but`, those that somebody
        built on since, and those that cannot be taken back by themselves."""
        keeper, undone = self._keepers["skill"], []
        assert isinstance(keeper, SkillKeeper)
        kept = self.book.find(state="kept", of="skill", session=session)
        for one in sorted(kept, key=lambda one: one.settled, reverse=True):
            with suppress(Problem):
                if one.id not in but and keeper.is_alone(one):
                    undone.append(await self.undo(one.id))
        return tuple(undone)

    async def bring_back(self, name: str) -> None:
        """Open again what was rejected; keep again what was taken back."""
        was_kept = self.book.one(name).state == "undone"
        opened = await self.undo(name)
        if was_kept:
            await self.keep(opened.id)

    def _taken(self, name: str, *states: ProposalState) -> Proposal:
        wanted = self.book.one(name)
        if wanted.state not in states or wanted.id in self._deciding:
            why = "It is being decided now." if wanted.id in self._deciding else f"It is {wanted.state}."
            do = "Undo it first." if wanted.state != "open" else ""
            raise Problem(f"The proposal {wanted.id} cannot be decided so.", why, do)
        self._deciding.add(wanted.id)
        return wanted

    def _keeper(self, wanted: Proposal) -> Keeper:
        keeper = self._keepers.get(wanted.of)
        if keeper is None:
            raise Problem(f"Nothing here keeps a {wanted.of}.", "", "")
        return keeper


class SkillKeeper:
    """Skills: keeping is a save, undoing is a save of what was before."""

    def __init__(self, library: Library) -> None:
        self._library = library

    async def keep(self, wanted: Proposal) -> str:
        key = wanted.target if "/" in wanted.target or ":" in wanted.target else f"{OWN}{wanted.target}"
        if wanted.what == "archive":
            await self._library.archive(key)
            return key
        if wanted.what == "create" and self._library.head(key):
            if self._library.text(key) == wanted.text:
                await self._library.archive(key, False)  # where it was kept before, and taken back
                return f"{key} {self._library.head(key)}"
            do = "Edit it and give it another name, or reject it."
            raise Problem(f"There is a skill {key[len(OWN) :]!r} by now.", "Nothing is overwritten.", do)
        path = wanted.path or MAIN
        if path == MAIN:
            return _done(await self._saved(wanted, key, wanted.text, wanted.base))
        head = await self._library.kept(key)
        if self._body(key, path, head) not in (self._body(key, path, wanted.base), wanted.text):
            raise _clash()
        files = {path: wanted.text.encode("utf-8", "replace")}
        return _done(await self._save(wanted, key, self._library.text(key, head), head, files))

    async def undo(self, wanted: Proposal) -> None:
        key, _, number = wanted.result.partition(" ")
        if wanted.what == "archive":
            await self._library.archive(key, False)
            return
        if wanted.what == "create":
            await self._library.archive(key)
            return
        made, head = int(number), await self._library.kept(key)
        why = f"takes back the proposal {wanted.id}"
        if head == made:
            await self._library.restore(key, made - 1, why=why)
            return
        path = wanted.path or MAIN
        texts = [self._body(key, path, version) for version in (made, head, made - 1)]
        text = merged(three_ways(*texts))
        if text is None:
            do = "Look at the difference and take it out by hand."
            raise Problem("This cannot be taken back by itself.", "The same lines were changed again since.", do)
        own = {} if path == MAIN else {path: text.encode()}
        main = text if path == MAIN else self._library.text(key)
        _done(await self._library.save(key, main, own, head, why=why))

    def before(self, wanted: Proposal) -> str | None:
        key = wanted.target if "/" in wanted.target or ":" in wanted.target else f"{OWN}{wanted.target}"
        try:
            return self._library.body(key, wanted.path or MAIN).decode("utf-8", "replace")
        except Problem:
            return None

    def is_alone(self, wanted: Proposal) -> bool:
        """Whether nothing stands on what it made but what came from the same session."""
        key, _, number = wanted.result.partition(" ")
        if not number:  # it made no version
            return False
        versions = self._library.open(key).versions
        own = {one.digest for one in versions if one.number < int(number) or one.session == wanted.session}
        return all(one.digest in own for one in versions)

    async def _saved(self, wanted: Proposal, key: str, text: str, base: int) -> Saved | Moved:
        """On top of what it was made from; on top of what is there now where the two changes do not clash."""
        done = await self._save(wanted, key, text, base)
        if isinstance(done, Moved) and done.theirs == text:
            return Saved(done.key, done.head.number, unchanged=True)
        if isinstance(done, Moved) and done.merged is not None and base:
            return await self._save(wanted, done.key, done.merged, done.head.number)
        return done

    async def _save(
        self, wanted: Proposal, key: str, text: str, base: int, files: Mapping[str, bytes] | None = None
    ) -> Saved | Moved:
        """With who wanted it, why, and where that came from."""
        by, why, session = wanted.by, wanted.reason, wanted.session
        return await self._library.save(key, text, files, base, by=by, why=why, session=session)

    def _body(self, key: str, path: str, version: int) -> str:
        try:
            return self._library.body(key, path, version).decode("utf-8", "replace")
        except Problem:
            return ""


def _done(saved: Saved | Moved) -> str:
    """The version it is now."""
    if isinstance(saved, Moved):
        raise _clash()
    return f"{saved.key} {saved.version}"


def _clash() -> Problem:
    do = "Look at both, edit the proposal, then keep it."
    return Problem("The skill was changed since, in the same lines.", "Nothing is overwritten.", do)
