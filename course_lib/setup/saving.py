"""Writing a file so that nobody ever meets half of it. Standard library only."""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path


def save(path: Path, data: bytes) -> None:
    """Write all of a file or nothing: whoever looks, or cuts this off, meets no half of it.

    Raises `OSError` where it can't be written; what was there is there still.
    """
    new = path.parent / f".{path.name}.{secrets.token_hex(4)}.part"
    try:
        new.write_bytes(data)
        _replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _replace(new: Path, path: Path, attempts: int = 20) -> None:
    for left in reversed(range(attempts)):
        try:
            return os.replace(new, path)
        except PermissionError:
            # Windows refuses while another program reads the file.
            if not left or os.name != "nt":
                raise
            time.sleep(0.01)
