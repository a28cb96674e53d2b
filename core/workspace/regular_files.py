"""Opens only regular files, because a command may have put a blocking FIFO or an endless device in place of a file."""

import errno
import os
import stat
from pathlib import Path

_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))


def open_regular(path: str | Path, *, follow: bool = True, folder: int | None = None) -> int:
    """Open a regular file for reading; raise OSError for anything else, including a link unless `follow` is set.

    The path is relative to the open `folder`, if one is given.
    """
    descriptor = os.open(path, _FLAGS | (0 if follow else getattr(os, "O_NOFOLLOW", 0)), dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
    return descriptor


def read_regular(path: str | Path, limit: int, *, follow: bool = True) -> bytes:
    """Return the contents of a regular file; raise OSError if it is not one, or has more than `limit` bytes."""
    with open(open_regular(path, follow=follow), "rb") as file:
        body = file.read(limit + 1)
    if len(body) > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return body
