"""What is done with whole skills: begun, taken in, named, switched, put away and given to others."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from core.domain.problems import Trouble
from core.domain.skill import Imported, Moved, SkillRow, valid_name
from ui.link_dialog import LinkDialog
from ui.page import Say, Start
from ui.skills import templates
from ui.skills.desk import FILES, Desk
from ui.skills.door import Door
from ui.skills.import_dialog import ImportDialog
from ui.skills.name_dialog import NameDialog
from ui.skills.works import Works
from ui.theme import Look

FILE_LIMIT: Final = 10 << 20


class Shown(Protocol):
    """What of the page is needed here."""

    desk: Desk
    works: Works

    def refresh(self, wanted: str = "", *, write: bool = False) -> None: ...

    def open(self, key: str) -> None: ...


class Doing:
    """`page` shows what came of it; what can be undone says so at the foot."""

    def __init__(
        self,
        page: Shown,
        over: QWidget,
        look: Look,
        door: Door,
        *,
        start: Start,
        say: Say,
        tell: Callable[[Trouble], None],
    ) -> None:
        self._page, self._over, self._look, self._door = page, over, look, door
        self._start, self._say, self._tell = start, say, tell

    def restyle(self, look: Look) -> None:
        self._look = look

    def do(self, name: str, row: SkillRow) -> None:
        """A deed of the menu."""
        deeds: dict[str, Callable[[SkillRow], None]] = {
            "rename": self.ask_name,
            "copy": self.ask_copy,
            "export": self.ask_export,
            "trust": self.trust,
        }
        if name in deeds:
            deeds[name](row)
        elif name in SWITCHES:
            self._switch(name, row)

    def ask_new(self) -> None:
        told = self._tr("Small letters, digits and hyphens: weekly-report, code-review.")
        dialog = NameDialog(
            self._look, title=self._tr("New skill"), told=told, yes=self._tr("Begin it"), fault=self._fault,
            choices=templates.choices(), choose=self._tr("It begins with"), parent=self._over,
        )  # fmt: skip
        dialog.given.connect(self.begin)
        dialog.open()

    def begin(self, name: str, template: str) -> None:
        """The first version is what the template says; it is there to be written over."""
        text, files = templates.filled(template, name)

        async def send() -> None:
            await self._door.save(name, text, dict(files), 0)
            self._page.refresh(f"library/{name}", write=True)

        self._start(send(), "begin a skill")

    def ask_name(self, row: SkillRow) -> None:
        self._ask(row, self._tr("Rename the skill"), self._tr("Rename"), lambda name: self._rename(row, name))

    def ask_copy(self, row: SkillRow) -> None:
        self._ask(row, self._tr("Copy the skill"), self._tr("Copy"), lambda name: self._copy(row, name))

    def trust(self, row: SkillRow) -> None:
        """Exactly what is shown; a change of one letter asks again."""

        async def send() -> None:
            await self._door.trust(row.key, row.digest)
            self._page.refresh(row.key)
            self._page.open(row.key)
            self._say(self._tr("{} is trusted as it is now.").format(row.name), lambda: self._distrust(row))

        self._start(send(), "trust a skill")

    def restore(self, version: int) -> None:
        """An old version as the newest one; those between stay."""
        opened = self._page.desk.opened
        if opened is None:
            return
        key, before = opened.row.key, opened.row.version

        async def send() -> None:
            done = await self._door.restore(key, version)
            if isinstance(done, Moved):
                self._say(self._tr("Somebody saved it at the same moment. Look at it and try again."))
            else:
                said = self._tr("Version {} is the newest again, as version {}.").format(version, done.version)
                self._say(said, (lambda: self.restore(before)) if before != version else None)
            self._page.works.forget(key)
            self._page.open(key)

        self._start(send(), "restore a version")

    def ask_import(self) -> None:
        """A file, or a folder: dropping one does the same."""
        dialog = QFileDialog(self._over, self._tr("A zip file, a SKILL.md, or a folder of skills"))
        dialog.setObjectName("skills.import.file")
        dialog.setFileMode(QFileDialog.FileMode.AnyFile)
        dialog.setNameFilters([self._tr("Skills (*.zip *.skill SKILL.md)"), self._tr("All files (*)")])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.look_in)
        dialog.open()

    def look_in(self, place: str) -> None:
        """What it would bring is shown first."""

        async def look() -> None:
            found = await self._door.look_in(place)
            dialog = ImportDialog(self._look, Path(place).name, found, self._over)
            dialog.agreed.connect(lambda names: self._take_in(place, names))
            dialog.open()

        self._start(look(), "look at skills to take in")

    def take_file(self, place: str) -> None:
        """A file of the disk, put beside the text."""
        path = Path(place)
        try:
            if path.stat().st_size > FILE_LIMIT:
                why = self._tr("Files of a skill have at most {} MB.").format(FILE_LIMIT >> 20)
                self._tell(Trouble(self._tr("{} is too large.").format(path.name), why, ""))
                return
            body = path.read_bytes()
        except OSError as error:
            self._tell(Trouble(self._tr("{} cannot be read.").format(path.name), f"{error.strerror or error}.", ""))
            return
        try:
            held: str | bytes = body.decode("utf-8")
        except UnicodeDecodeError:
            held = body
        script = isinstance(held, str) and held.startswith("#!")
        kind = "scripts" if script else "references" if isinstance(held, str) else "assets"
        self._page.desk.files.add(f"{kind}/{path.name}", held)

    def say_removed(self, path: str, body: object) -> None:
        desk = self._page.desk
        self._say(self._tr("{} is taken away when you save.").format(path), lambda: desk.files.put_back(path, body))
        desk.choose(FILES)

    def ask_export(self, row: SkillRow) -> None:
        dialog = QFileDialog(self._over, self._tr("Export the skill as a zip file"))
        dialog.setObjectName("skills.export.file")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("zip")
        dialog.selectFile(f"{row.name}.zip")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda place: self.export(row, place))
        dialog.open()

    def export(self, row: SkillRow, place: str) -> None:
        async def send() -> None:
            await self._door.export(row.key, place)
            self._say(self._tr("{} is in {}.").format(row.name, place))

        self._start(send(), "export a skill")

    def open_link(self, address: str) -> None:
        """Nothing opens before the person has seen the whole address."""
        LinkDialog(self._look, address, self._over).open()

    def _take_in(self, place: str, names: Sequence[str]) -> None:
        async def send() -> None:
            done: Sequence[Imported] = await self._door.take_in(place, names)
            named = ", ".join(each.name for each in done)
            self._say(self._tr("Added: {}.").format(named) if done else self._tr("Nothing was added."))
            self._page.refresh(done[0].key if done else "")

        self._start(send(), "take skills in")

    def _switch(self, name: str, row: SkillRow) -> None:
        how, on, other, said = SWITCHES[name]

        async def send() -> None:
            await self._door.switch(how, row.key, on)
            self._page.refresh()
            self._page.open(row.key)
            self._say(self._tr(said).format(row.name), lambda: self._switch(other, row))

        self._start(send(), name)

    def _distrust(self, row: SkillRow) -> None:
        async def send() -> None:
            await self._door.distrust(row.key)
            self._page.refresh(row.key)
            self._page.open(row.key)

        self._start(send(), "trust a skill no more")

    def _rename(self, row: SkillRow, name: str) -> None:
        async def send() -> None:
            key = await self._door.rename(row.key, name)
            self._page.works.forget(row.key)
            self._page.refresh(key)
            self._say(self._tr("{} is called {} now.").format(row.name, name), lambda: self._rename_back(key, row.name))

        self._start(send(), "rename a skill")

    def _rename_back(self, key: str, name: str) -> None:
        async def send() -> None:
            self._page.works.forget(key)
            self._page.refresh(await self._door.rename(key, name))

        self._start(send(), "rename a skill")

    def _copy(self, row: SkillRow, name: str) -> None:
        async def send() -> None:
            self._page.refresh(await self._door.copy(row.key, name))

        self._start(send(), "copy a skill")

    def _ask(self, row: SkillRow, title: str, yes: str, act: Callable[[str], None]) -> None:
        told = self._tr("Small letters, digits and hyphens. Its versions stay.")
        dialog = NameDialog(
            self._look, title=title, told=told, yes=yes, fault=self._fault, name=row.name, parent=self._over
        )
        dialog.given.connect(lambda name, _: act(name))
        dialog.open()

    def _fault(self, name: str) -> str:
        if not valid_name(name):
            return self._tr("Small letters a to z, digits, and single hyphens between them; at most 64.")
        return ""

    def _tr(self, text: str) -> str:
        return self._over.tr(text)


# What each does, whether it switches on, what undoes it, and what is said.
SWITCHES: Final = {
    "pin": ("pin", True, "unpin", "{} is pinned."),
    "unpin": ("pin", False, "pin", "{} is no longer pinned."),
    "disable": ("disable", True, "enable", "{} is off: no model is told of it."),
    "enable": ("disable", False, "disable", "{} is on."),
    "archive": ("archive", True, "bring", "{} is put away. Its versions stay."),
    "bring": ("archive", False, "archive", "{} is back."),
}
