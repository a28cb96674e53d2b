"""The Flatpak manifest for the bundle's tarball. Build it with `flatpak-builder --user --install build MANIFEST`."""

import hashlib
import json
from pathlib import Path

APP = "local.journeyman.journeyman"
RUNTIME_VERSION = "24.08"
PROGRAM = "/app/lib/journeyman"
PERMISSIONS = [
    "--share=ipc",
    "--share=network",
    "--socket=fallback-x11",
    "--socket=wayland",
    "--device=dri",
    "--filesystem=home",  # agents work in the user's folders
    "--talk-name=org.freedesktop.Notifications",
    "--talk-name=org.freedesktop.secrets",
    "--talk-name=org.kde.StatusNotifierWatcher",
]


def manifest(tarball: Path) -> str:
    """Return the manifest as JSON. It refers to the tarball by name, so both must stay in the same folder."""
    commands = [
        f"mkdir -p {PROGRAM} /app/bin",
        f"cp -r journeyman _internal {PROGRAM}/",
        f"ln -s {PROGRAM}/journeyman /app/bin/journeyman",
        "cp -r share /app/",
        f"mv /app/share/mime/packages/journeyman.xml /app/share/mime/packages/{APP}.xml",
    ]
    source = {"type": "archive", "path": tarball.name, "sha256": hashlib.sha256(tarball.read_bytes()).hexdigest()}
    module = {"name": "journeyman", "buildsystem": "simple", "build-commands": commands, "sources": [source]}
    plain = {
        "id": APP,
        "runtime": "org.freedesktop.Platform",
        "runtime-version": RUNTIME_VERSION,
        "sdk": "org.freedesktop.Sdk",
        "command": "journeyman",
        "rename-desktop-file": "journeyman.desktop",
        "rename-icon": "journeyman",
        "build-options": {"strip": False, "no-debuginfo": True},  # debug symbols were removed from the bundle before
        "finish-args": PERMISSIONS,
        "modules": [module],
    }
    return json.dumps(plain, indent=2) + "\n"
