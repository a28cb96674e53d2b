"""What of the system and of the home a command may read, and the person's git settings without what is secret."""

import os
import re
import shutil
import sys
from pathlib import Path

from core.workspace.branch import small_text

SYSTEM = ("/usr", "/opt", "/nix/store", "/home/linuxbrew/.linuxbrew")
MERGED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")  # links into /usr on most systems
ETC = (
    *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "services", "protocols", "localtime", "timezone"),
    *("ssl", "ca-certificates", "pki", "alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "os-release"),
    *("debian_version", "mime.types", "magic", "terminfo", "inputrc", "fonts", "gitattributes", "locale.conf"),
    *("python3", "python3.11", "python3.12", "python3.13", "java-11-openjdk", "java-17-openjdk", "java-21-openjdk"),
    *(
        "maven",
        "R",
        "perl",
        "emacs",
        "vim",
        "paperspecs",
        "papersize",
        "bash_completion.d",
        "lsb-release",
        "machine-id",
    ),
)
# Never a whole folder in which a program keeps keys as well: gem, uv and dotnet do.
HOME = (
    *(".pyenv", ".nvm", ".volta", ".fnm", ".bun", ".deno/bin", ".asdf", ".local/share/mise", ".local/share/pnpm"),
    *(".cargo/bin", ".cargo/env", ".cargo/registry", ".cargo/git", ".rustup", "go/bin", "go/pkg", ".sdkman", ".jenv"),
    *(".rbenv", ".rvm", ".gem/ruby", ".local/share/gem/ruby", ".local/bin", ".local/lib", ".local/pipx"),
    *(
        ".local/share/pipx",
        ".m2/repository",
        ".gradle/wrapper",
        ".juliaup",
        ".ghcup",
        ".opam",
        ".nimble/bin",
    ),
    *(
        ".local/share/virtualenvs",
        ".virtualenvs",
        ".conda",
        "miniconda3",
        "anaconda3",
        "miniforge3",
        ".config/git/ignore",
    ),
    *(".local/share/uv/python", ".local/share/uv/tools"),
    *(
        f".dotnet/{name}"
        for name in ("dotnet", "host", "packs", "sdk", "sdk-manifests", "shared", "templates", "tools")
    ),
)
LARGE = 100  # files of a folder: then a mount costs less than a copy
_PRIVATE = re.compile(r"^(credential|include|includeif|sendemail|imap|github|gitlab|hub)\b", re.IGNORECASE)
_PRIVATE_KEYS = re.compile(r"(extraheader|password|token|cookiefile|sshcommand|askpass|sslkey|proxy)$", re.IGNORECASE)
_WITH_A_NAME_IN_IT = re.compile(r"://[^/\s]*@")


def lay_settings(target: Path, source: Path = Path("/etc")) -> list[Path]:
    """Copies of the files of /etc that programs need, without the keys that lie among them. In the place of a large
    folder that holds none there is an empty one; these are returned, and can be seen as they are."""
    target.mkdir()
    large: list[Path] = []
    for name in ETC:
        _lay(source / name, target / name, large)
    return large


def _lay(place: Path, target: Path, large: list[Path]) -> None:
    try:
        if not place.is_dir():
            if place.is_file():
                shutil.copy(place, target)
            return
        target.mkdir()
        names = os.listdir(place)  # noqa: PTH208 - names are all that is wanted
        if len(names) >= LARGE and not _holds_keys(place):
            large.append(place)
            return
        for inner in (place / name for name in names if not _is_key(name)):
            if inner.is_symlink():
                (target / inner.name).symlink_to(inner.readlink())
            else:
                _lay(inner, target / inner.name, large)
    except OSError:
        return  # what is closed to us would be closed to the command


def _holds_keys(place: Path) -> bool:
    return any(map(_is_key, (name for _, folders, files in os.walk(place) for name in (*folders, *files))))


def _is_key(name: str) -> bool:
    return name == "private" or name.endswith(".key")


def home() -> Path | None:
    """The home of whoever runs us, where there is one to speak of."""
    found = Path(os.environ.get("HOME") or "/")
    return found if found.is_absolute() and found != Path("/") and found.is_dir() else None


def git_settings(place: Path) -> str:
    """Name, aliases and habits; no credentials. Signing is off: the keys for it are not to be had in there."""
    kept: list[str] = []
    for name in (".config/git/config", ".gitconfig"):
        try:
            kept += public_lines((place / name).read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
    return "\n".join([*kept, "[commit]", "\tgpgsign = false", "[tag]", "\tgpgsign = false", ""])


def public_lines(text: str) -> list[str]:
    """The lines of a git configuration that hold no secret and lead nowhere else."""
    kept: list[str] = []
    section = ""
    for line in text.replace("\\\n", "").splitlines():
        if found := re.match(r"\s*\[([^\]]*)\]", line):
            section = found[1].strip()
        key = line.split("=", 1)[0].strip()
        if _PRIVATE.match(section) or _PRIVATE_KEYS.search(key) or _WITH_A_NAME_IN_IT.search(section + line):
            continue
        kept.append(line)
    return kept


def git_folder_of(folder: Path) -> tuple[Path, Path] | None:
    """For a linked worktree its own git folder and the common one, but only where these point back to it."""
    try:
        spelled = small_text(folder / ".git").strip()
        own = (folder / spelled.removeprefix("gitdir: ")).resolve()
        back = Path(small_text(own / "gitdir").strip())
        common = (own / small_text(own / "commondir").strip()).resolve()
    except (OSError, RuntimeError, ValueError):
        return None
    if not spelled.startswith("gitdir: ") or back.resolve() != (folder / ".git").resolve():
        return None
    if own.parent != common / "worktrees":  # else any folder above that holds `objects` would be opened
        return None
    return (own, common) if (common / "objects").is_dir() and (common / "HEAD").is_file() else None


def python() -> str:
    """Our own interpreter, without the virtual environment around it."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable) or sys.executable)


def python_parts() -> list[Path]:
    """What it needs, where the system's folders do not have it already."""
    frozen = getattr(sys, "frozen", False)  # then the program itself is the Python, and lies beside its parts
    prefix = Path(sys.executable).resolve().parent if frozen else Path(sys.base_prefix)
    return [] if prefix.is_relative_to("/usr") else [prefix]
