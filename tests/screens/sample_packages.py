"""Sample packages for the screenshots of the settings."""

from pathlib import Path
from typing import Final

from core.domain.problems import ErrorDetails
from core.domain.skill import ImportedSkill, SkillFinding
from core.engine.services.hooks import Hook
from core.engine.services.package_contents import PackageContents
from core.engine.services.packages import PackageOverview
from core.engine.services.slash_commands import SlashCommand
from core.mcp.config_import import ImportedMcpServer
from core.packages.package_index import InstalledPackage
from core.settings.schema import McpServerSettings, McpVariable

SKILL: Final = "---\nname: {}\ndescription: {}\n---\nRead it."
REVIEW: Final = PackageContents(
    "Letters", "1.2", "Checks letters before they are sent.",
    hooks=(Hook("before_call", '"$PACKAGE_ROOT"/check-address.sh', ("write", "edit"), root=Path("/")),),
    servers=(
        ImportedMcpServer(
            McpServerSettings(
                name="printer", command="python3", args=("/home/you/journeyman/packages/letters/print.py",),
                variables=(McpVariable(name="PRINTER_KEY"),),
            )
        ),
    ),
    skills=(
        ImportedSkill(
            "formal-letter", "", (SkillFinding(4, "It downloads a program and runs it.", level="warning"),),
            text=SKILL.format("formal-letter", "Writes formal letters. Use it for complaints and notices."),
        ),
    ),
    commands=(SlashCommand("proofread", "Reads a letter aloud, line by line", "", "package"),),
    unused=("agents: agents of other programs are written in another format",),
)  # fmt: skip
LETTERS: Final = InstalledPackage(
    "letters", "https://git.example.org/you/agent-packages.git", "v1.2", "packages/letters", "4f1c2ab90d3e" + "0" * 28
)
PACKAGES: Final = (
    PackageOverview(LETTERS, "untrusted", "1", REVIEW),
    PackageOverview(
        InstalledPackage("minutes", "/home/you/packages/minutes"), "changed", "2",
        PackageContents("Minutes", commands=(SlashCommand("minutes", "Writes the minutes of a meeting", ""),)),
        ("added commands/agenda.md", "changed commands/minutes.md"),
    ),
    PackageOverview(
        InstalledPackage("archive", "/home/you/packages/archive"), "missing",
        error=ErrorDetails("The files of the package archive are missing or damaged.", "", "Update or remove it."),
    ),
)  # fmt: skip
