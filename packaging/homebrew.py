"""The Homebrew cask that installs the bundle's disk image. Install it with `brew install --cask ./journeyman.rb`."""

import hashlib
from pathlib import Path

import macos

CASK = """\
cask "journeyman" do
  version "{version}"
  sha256 "{digest}"

  url "{url}"
  name "Journeyman"
  desc "Run an AI agent in a folder and see every step"
  homepage "{url}"

  depends_on macos: ">= :monterey"

  app "Journeyman.app"
  binary "#{{appdir}}/Journeyman.app/Contents/MacOS/journeyman"

  uninstall quit: "{identifier}"

  zap trash: "~/Library/Application Support/Journeyman"
end
"""


def cask(version: str, image: Path) -> str:
    """Return the cask. It refers to the disk image by its current path."""
    digest = hashlib.sha256(image.read_bytes()).hexdigest()
    return CASK.format(version=version, digest=digest, url=image.as_uri(), identifier=macos.IDENTIFIER)
