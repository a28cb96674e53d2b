"""The Info.plist of the macOS application, and the commands that build its disk image."""

import plistlib
from pathlib import Path

IDENTIFIER = "local.journeyman.journeyman"
KIND = "local.journeyman.run"


def info(version: str) -> bytes:
    """Return the Info.plist. The application is not notarized, so macOS asks the user before the first start."""
    return plistlib.dumps(
        {
            "CFBundleIdentifier": IDENTIFIER,
            "CFBundleName": "Journeyman",
            "CFBundleDisplayName": "Journeyman",
            "CFBundleShortVersionString": version,
            "CFBundleVersion": version,
            "CFBundleExecutable": "journeyman",
            "CFBundlePackageType": "APPL",
            "LSMinimumSystemVersion": "12.0",
            "LSApplicationCategoryType": "public.app-category.developer-tools",
            "NSHighResolutionCapable": True,
            "NSRequiresAquaSystemAppearance": False,
            "UTExportedTypeDeclarations": [
                {
                    "UTTypeIdentifier": KIND,
                    "UTTypeDescription": "Journeyman session",
                    "UTTypeConformsTo": ["public.json"],
                    "UTTypeTagSpecification": {
                        "public.filename-extension": ["journeyman.json"],
                        "public.mime-type": ["application/x-journeyman+json"],
                    },
                }
            ],
        }
    )


def image_commands(target: Path, image: Path) -> list[list[str]]:
    """Return the commands that sign the application ad hoc and build a disk image with a link to Applications."""
    stage, app = target / "image", target / "Journeyman.app"
    return [
        ["codesign", "--force", "--deep", "--sign", "-", str(app)],
        ["rm", "-rf", str(stage)],
        ["mkdir", str(stage)],
        ["cp", "-R", str(app), str(stage)],
        ["ln", "-s", "/Applications", str(stage / "Applications")],
        ["hdiutil", "create", "-volname", "Journeyman", "-srcfolder", str(stage), "-ov", "-format", "UDZO", str(image)],
    ]
