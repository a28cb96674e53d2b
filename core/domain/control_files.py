"""Files that determine what a program does, such as a Makefile for `make`."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from core.domain.command_line import program_name

# By program, patterns of its control files. After the agent has written one, running the program needs approval even if
# a rule would allow it.
CONTROL_FILES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "make": ("Makefile", "makefile", "GNUmakefile", "*.mk"),
        "npm": ("package.json", ".npmrc"),
        "npx": ("package.json", ".npmrc"),
        "yarn": ("package.json", ".yarnrc*"),
        "pnpm": ("package.json", ".npmrc"),
        "cargo": ("build.rs", "Cargo.toml", ".cargo/*"),
        "go": ("go.mod",),
        "just": ("justfile", "Justfile"),
        "task": ("Taskfile*",),
        "tox": ("tox.ini",),
        "nox": ("noxfile.py",),
        "pre-commit": (".pre-commit-config.yaml",),
        "gradle": ("*.gradle", "*.gradle.kts"),
        "mvn": ("pom.xml",),
        "cmake": ("CMakeLists.txt", "*.cmake"),
        "eslint": ("eslint.config.*", ".eslintrc*"),
        "rake": ("Rakefile",),
        "prettier": ("prettier.config.*", ".prettierrc*"),
        "git": (".gitattributes", ".gitmodules"),
    }
)


def control_files(argv: Sequence[str]) -> tuple[str, ...]:
    """Return patterns of the files that determine what this command does, including a script in the folder itself."""
    name = argv[0]
    files = CONTROL_FILES.get(program_name(name), ())
    return (*files, name.removeprefix("./")) if "/" in name and not name.startswith("/") else files
