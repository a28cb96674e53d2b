"""The system files and parts of the home folder that commands in the sandbox may read."""

import os
import shutil
from pathlib import Path


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SYSTEM_FOLDERS = ("/usr", "/opt", "/nix/store", "/home/linuxbrew/.linuxbrew")
MERGED_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")  # on most systems links into /usr
ETC_NAMES = _words(
    """
    passwd group nsswitch.conf hosts host.conf services protocols localtime timezone locale.conf machine-id ssl
    ca-certificates pki alternatives ld.so.cache ld.so.conf ld.so.conf.d os-release lsb-release debian_version
    mime.types magic terminfo inputrc fonts gitattributes bash_completion.d papersize paperspecs python3 python3.11
    python3.12 python3.13 java-11-openjdk java-17-openjdk java-21-openjdk maven R perl emacs vim
    """
)
# Toolchains in the home folder. Programs such as gem, uv and dotnet also store credentials in theirs, so only some
# subfolders of these are listed.
HOME_PATHS = _words(
    """
    .pyenv .nvm .volta .fnm .bun .deno/bin .asdf .local/share/mise .local/share/pnpm .cargo/bin .cargo/env
    .cargo/registry .cargo/git .rustup go/bin go/pkg .sdkman .jenv .rbenv .rvm .gem/ruby .local/share/gem/ruby
    .local/bin .local/lib .local/pipx .local/share/pipx .m2/repository .gradle/wrapper .juliaup .ghcup .opam
    .nimble/bin .local/share/virtualenvs .virtualenvs .conda miniconda3 anaconda3 miniforge3 .config/git/ignore
    .local/share/uv/python .local/share/uv/tools .dotnet/dotnet .dotnet/host .dotnet/packs .dotnet/sdk
    .dotnet/sdk-manifests .dotnet/shared .dotnet/templates .dotnet/tools
    """
)
MANY_FILES = 100  # number of files in a folder from which a mount is cheaper than a copy


def copy_etc(target: Path, source: Path = Path("/etc")) -> list[Path]:
    """Copy the files of /etc that programs need, except private keys.

    Large folders without keys are created empty and returned, for the caller to mount.
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
        if len(names) >= MANY_FILES and not _holds_keys(source):
            large.append(source)
            return
        for child in (source / name for name in names if not _is_key(name)):
            if child.is_symlink():
                (target / child.name).symlink_to(child.readlink())
            else:
                _copy(child, target / child.name, large)
    except OSError:
        return  # unreadable for commands as well


def _holds_keys(folder: Path) -> bool:
    return any(_is_key(name) for _, subfolders, files in os.walk(folder) for name in (*subfolders, *files))


def _is_key(name: str) -> bool:
    return name == "private" or name.endswith(".key")


def home_folder() -> Path | None:
    """Return the user's home folder; None if HOME is unset, relative, "/" or missing."""
    folder = Path(os.environ.get("HOME") or "/")
    return folder if folder.is_absolute() and folder != Path("/") and folder.is_dir() else None
