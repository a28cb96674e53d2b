"""The parts of the system and the home folder that commands may read, and the git configuration without secrets."""

import os
import re
import shutil
import sys
from pathlib import Path

from core.workspace.git_branch import read_small_text

SYSTEM_FOLDERS = ("/usr", "/opt", "/nix/store", "/home/linuxbrew/.linuxbrew")
MERGED_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")  # links into /usr on most systems
ETC_NAMES = (
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
# Never a whole folder in which a program also stores credentials, as gem, uv and dotnet do.
HOME_PATHS = (
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
LARGE = 100  # files in a folder; from here on a mount costs less than a copy
_PRIVATE = re.compile(r"^(credential|include|includeif|sendemail|imap|github|gitlab|hub)\b", re.IGNORECASE)
_PRIVATE_KEYS = re.compile(r"(extraheader|password|token|cookiefile|sshcommand|askpass|sslkey|proxy)$", re.IGNORECASE)
_WITH_A_NAME_IN_IT = re.compile(r"://[^/\s]*@")


def copy_etc(target: Path, source: Path = Path("/etc")) -> list[Path]:
    """Copy the files of /etc that programs need, without private keys.

    Large folders without keys are created empty and returned, to be mounted.
    """
    target.mkdir()
    large: list[Path] = []
    for name in ETC_NAMES:
        _copy(source / name, target / name, large)
    return large


def _copy(source: Path, target: Path, large: list[Path]) -> None:
    try:
        if not source.is_dir():
            if source.is_file():
                shutil.copy(source, target)
            return
        target.mkdir()
        names = os.listdir(source)  # noqa: PTH208 - only the names are needed
        if len(names) >= LARGE and not _holds_keys(source):
            large.append(source)
            return
        for child in (source / name for name in names if not _is_key(name)):
            if child.is_symlink():
                (target / child.name).symlink_to(child.readlink())
            else:
                _copy(child, target / child.name, large)
    except OSError:
        return  # the command could not read it either


def _holds_keys(folder: Path) -> bool:
    return any(map(_is_key, (name for _, subfolders, files in os.walk(folder) for name in (*subfolders, *files))))


def _is_key(name: str) -> bool:
    return name == "private" or name.endswith(".key")


def home_folder() -> Path | None:
    """Return the home folder of the user; None if HOME is not a usable folder."""
    folder = Path(os.environ.get("HOME") or "/")
    return folder if folder.is_absolute() and folder != Path("/") and folder.is_dir() else None


def public_git_config(home: Path) -> str:
    """Return the git configuration without credentials. Signing is turned off, as its keys are not available.

    So is automatic garbage collection, which would remove objects that `GitHistory` restores.
    """
    lines: list[str] = []
    for name in (".config/git/config", ".gitconfig"):
        try:
            lines += public_config_lines((home / name).read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
    own = ("[commit]", "\tgpgsign = false", "[tag]", "\tgpgsign = false", "[gc]", "\tauto = 0", "")
    return "\n".join([*lines, *own])


def public_config_lines(text: str) -> list[str]:
    """Return the lines of a git configuration without secrets and includes."""
    public_lines: list[str] = []
    section = ""
    for line in text.replace("\\\n", "").splitlines():
        if match := re.match(r"\s*\[([^\]]*)\]", line):
            section = match[1].strip()
        key = line.split("=", 1)[0].strip()
        if _PRIVATE.match(section) or _PRIVATE_KEYS.search(key) or _WITH_A_NAME_IN_IT.search(section + line):
            continue
        public_lines.append(line)
    return public_lines


def worktree_git_folders(folder: Path) -> tuple[Path, Path] | None:
    """Return the git folder of a linked worktree and the common one; None unless these point back to it."""
    try:
        pointer = read_small_text(folder / ".git").strip()
        own = (folder / pointer.removeprefix("gitdir: ")).resolve()
        backlink = Path(read_small_text(own / "gitdir").strip())
        common = (own / read_small_text(own / "commondir").strip()).resolve()
        leads_back = backlink.resolve() == (folder / ".git").resolve()
    except (OSError, RuntimeError, ValueError):
        return None
    if not pointer.startswith("gitdir: ") or not leads_back:
        return None
    if own.parent != common / "worktrees":  # otherwise any parent folder that contains `objects` would be opened
        return None
    return (own, common) if (common / "objects").is_dir() and (common / "HEAD").is_file() else None


def interpreter() -> str:
    """Return the path of the Python interpreter outside its virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable) or sys.executable)


def installation_inside(folder: Path) -> list[Path]:
    """Return the parts of a folder that Journeyman runs from, such as a virtual environment of the project.

    A change there would run with the rights of the user at the next start.
    """
    real = Path(os.path.realpath(folder))
    return sorted(place for place in _installation() if place.is_relative_to(real) and place != real)


def is_in_installation(folder: Path) -> bool:
    """Return whether a folder belongs to the bundle or virtual environment that Journeyman runs from."""
    own = sys.prefix != sys.base_prefix or getattr(sys, "frozen", False)
    return own and any(folder.is_relative_to(place) for place in _installation())


def _installation() -> set[Path]:
    frozen = getattr(sys, "frozen", False)
    places = {Path(sys.executable).parent} if frozen else {Path(sys.prefix), Path(sys.base_prefix)}
    return {Path(os.path.realpath(place)) for place in places} - {Path("/usr"), Path("/usr/local")}


def interpreter_folders() -> list[Path]:
    """Return the folders that the interpreter needs, except those of the system."""
    frozen = getattr(
        sys, "frozen", False
    )  # then the program itself is the interpreter, in one folder with its libraries
    prefix = Path(sys.executable).resolve().parent if frozen else Path(sys.base_prefix)
    return [] if prefix.is_relative_to("/usr") else [prefix]
