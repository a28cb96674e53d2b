"""Lets `python -m app` run `journeyman`."""

import sys

from app.main import main

if __name__ == "__main__":
    sys.exit(main())
