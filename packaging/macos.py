"""The recipe for macOS: what the application says of itself, and the commands that make an image of it."""

import plistlib
from pathlib import Path

IDENTIFIER = "local.journeyman.journeyman"
KIND = "local.journeyman.run"


def info(version: str) -> bytes:
    """Info.plist; without a signature the system asks once before it starts it."""
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
                    "UTTypeDescription": "Run exported by Journeyman",
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
    """Sign for this machine only, put the application beside a link to where it belongs, and press the image."""
    stage, app = target / "image", target / "Journeyman.app"
    return [
        ["codesign", "--force", "--deep", "--sign", "-", str(app)],
        ["rm", "-rf", str(stage)],
        ["mkdir", str(stage)],
        ["cp", "-R", str(app), str(stage)],
        ["ln", "-s", "/Applications", str(stage / "Applications")],
        ["hdiutil", "create", "-volname", "Journeyman", "-srcfolder", str(stage), "-ov", "-format", "UDZO", str(image)],
    ]
