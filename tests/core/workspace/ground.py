"""Fixtures of the workspace tests: a folder, files outside it, and links that lead there."""

from dataclasses import dataclass
from pathlib import Path

CANARY = b"canary-7f3a"


@dataclass(frozen=True, slots=True)
class Ground:
    """`folder` is the workspace; the files in `outside` must never be read or changed."""

    folder: Path
    outside: Path

    @property
    def canary(self) -> Path:
        return self.outside / "canary"

    def intact(self) -> bool:
        """Return whether nothing outside was created, deleted or changed."""
        return names(self.outside) == ["canary", "inner"] and self.canary.read_bytes() == CANARY


def names(folder: Path) -> list[str]:
    """Return the sorted names in a folder."""
    return sorted(path.name for path in folder.iterdir())


def create_ground(base: Path) -> Ground:
    """Create a workspace and a folder outside it."""
    folder, outside = base / "work folder", base / "outside"
    folder.mkdir()
    (outside / "inner").mkdir(parents=True)
    (outside / "canary").write_bytes(CANARY)
    (folder / "real").mkdir()
    (folder / "real" / "file").write_bytes(b"inside")
    return Ground(folder, outside)


def set_traps(ground: Ground) -> list[str]:
    """Create links in the folder, and return paths that lead outside in different ways."""
    folder, canary = ground.folder, str(ground.canary)
    (folder / "link").symlink_to(canary)
    (folder / "near").symlink_to("../outside/canary")
    (folder / "away").symlink_to(ground.outside)
    (folder / "proc").symlink_to("/proc/self/root")
    (folder / "cwd").symlink_to("/proc/self/cwd")
    before = canary
    for number in range(39):
        (folder / f"chain{number}").symlink_to(before)
        before = f"chain{number}"
    (folder / "round").symlink_to("round")
    return [
        *("../outside/canary", canary, "~/canary", "~", "link", "near", "away/canary", "away/../outside/canary"),
        *(f"proc{canary}", f"cwd/../{canary}", before, "real/../../outside/canary", "./../outside/canary", "round"),
        *("..", "../..", "/", "//", "away", "proc", f"/proc/self/root{canary}", f"//{canary}", "/dev/fd/0"),
    ]


def odd_spellings(ground: Ground) -> list[str]:
    """Return paths that lead outside only if they are decoded; taken literally, none of them exists."""
    tail = "outside/canary"
    return [
        *(f"%2e%2e/{tail}", f"%2e%2e%2f{tail}", f"..%2f{tail}", "..\\outside\\canary", f"..%5c{tail}", f"..;/{tail}"),
        *(
            f"file://{ground.canary}",
            f"..%c0%af{tail}",
            f"%252e%252e/{tail}",
            f"..\u2215{tail}",
            f"\uff0e\uff0e/{tail}",
        ),
        *(f"{ground.canary}\0", f"real/file\0/../../{tail}", f"\0{ground.canary}", "\ud800", ""),
        *(f"....//{tail}", f".../{tail}", f".. /{tail}", f"real/file/../../{tail}", f"nothing/../../{tail}"),
    ]


def traversals(ground: Ground) -> list[str]:
    """Return two thousand path traversals, combined from dots, slashes, depths and tails like published lists."""
    dots = ("..", "%2e%2e", "%2e.", ".%2e", "..%00", "%252e%252e", "....", "..;", "\u2025", "%c0%ae%c0%ae", ".\u200b.")
    slashes = ("/", "\\", "%2f", "%5c", "//", "/./", "\\/", "%252f", "\u2215", "%c0%af", "..//", ";/", "/real/../")
    tails = ("outside/canary", "outside/canary\0.png", "outside/canary%00.txt", "etc/passwd")
    made = [f"{(dot + slash) * depth}{tail}" for dot in dots for slash in slashes for depth in (1, 2, 3, 8)
            for tail in tails]  # fmt: skip
    return made[:2400]
