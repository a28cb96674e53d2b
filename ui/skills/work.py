"""A skill as it is being written: what was saved, and what differs from it by now."""

from collections.abc import Iterable, Mapping

from core.domain.skill import MAIN, SkillFile
from ui.skills.drafts import SkillDraft

Body = str | bytes | None  # None: taken away


class Work:
    """Bodies are kept by path; those that are as they were saved cost nothing."""

    def __init__(self, key: str, base: int, text: str, files: Iterable[SkillFile] = ()) -> None:
        self.key, self.base = key, base
        self._files = {file.path: file for file in files}
        self._saved: dict[str, str | bytes] = {MAIN: text}
        self._now: dict[str, Body] = {}

    @property
    def changed(self) -> bool:
        return bool(self._now)

    def changes(self) -> Mapping[str, Body]:
        """What is not saved, by path."""
        return dict(self._now)

    def paths(self) -> list[str]:
        """The files there are now, the main one first."""
        there = {MAIN, *self._files, *self._now} - {path for path, body in self._now.items() if body is None}
        return sorted(there, key=lambda path: (path != MAIN, path))

    def gone(self) -> list[str]:
        return sorted(path for path, body in self._now.items() if body is None)

    def file(self, path: str) -> SkillFile | None:
        """The file as it was saved."""
        return self._files.get(path)

    def body(self, path: str) -> str | bytes | None:
        """What a file holds now; None where it was not read yet, or is gone."""
        return self._now[path] if path in self._now else self._saved.get(path)

    def saved(self, path: str) -> str | bytes | None:
        return self._saved.get(path)

    def loaded(self, path: str, body: str | bytes) -> None:
        """A file was read; what was written over it meanwhile stays."""
        self._saved[path] = body
        if self._now.get(path) == body:
            del self._now[path]

    def write(self, path: str, body: str | bytes) -> None:
        if self._saved.get(path) == body:
            self._now.pop(path, None)
        else:
            self._now[path] = body

    def remove(self, path: str) -> Body:
        """Take a file away; what it held, for whoever wants it back."""
        held = self.body(path)
        if path in self._files:
            self._now[path] = None
        else:
            self._now.pop(path, None)
        return held

    def put_back(self, path: str, body: Body) -> None:
        """As it was before it was taken away."""
        self._now.pop(path, None)
        if body is not None:
            self.write(path, body)

    def rename(self, old: str, new: str) -> None:
        """Its body has to be known."""
        body = self.remove(old)
        if body is not None:
            self.write(new, body)

    def know(self, files: Iterable[SkillFile]) -> None:
        """The files as the library knows them now."""
        self._files = {file.path: file for file in files}

    def settle(self, version: int, saved: Mapping[str, Body]) -> None:
        """These were saved as this version; what was written since stays."""
        for path, body in saved.items():
            if body is None:
                self._files.pop(path, None)
                self._saved.pop(path, None)
            else:
                self._saved[path] = body
                if path != MAIN:
                    self._files.setdefault(path, SkillFile(path, "", len(body)))
        self._now = {path: body for path, body in self._now.items() if path not in saved or saved[path] != body}
        self.base = version

    def draft(self) -> SkillDraft:
        """What is kept on the disk while it is written: the texts; a picture is read again."""
        texts = {path: body for path, body in self._now.items() if not isinstance(body, bytes)}
        return SkillDraft(self.key, self.base, texts)

    def take_up(self, draft: SkillDraft) -> None:
        """Go on where writing was broken off."""
        self.base = draft.base
        self._now.update(draft.texts)
        if self._now.get(MAIN) == self._saved[MAIN]:
            del self._now[MAIN]
