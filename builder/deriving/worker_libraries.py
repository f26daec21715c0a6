"""Loads what page workers need, when it is imported: the process that they are forked from does so, once.

An error is left to the workers: each tries its tools on a sample and says what is wrong.
"""

import atexit
import os
from contextlib import suppress
from pathlib import Path

from builder.config import ExtractConfig, FilterConfig, LabelConfig
from builder.deriving.killable_workers import FOLDER_VARIABLE
from builder.deriving.page_stage import PageSettings, PageStage


def _remove(folder: Path) -> None:
    """Remove the folder of this server's socket, which its maker left if it was killed."""
    with suppress(OSError):
        for socket in folder.glob("listener-*"):
            socket.unlink()
        folder.rmdir()


if _place := os.environ.pop(FOLDER_VARIABLE, ""):
    atexit.register(_remove, Path(_place))

with suppress(Exception):
    PageStage(PageSettings(extract=ExtractConfig(), filter=FilterConfig(), label=LabelConfig())).warm_up()
with suppress(
    Exception
):  # trafilatura's word lists, which it would read in each worker, at the first page that needs them
    from trafilatura.external import jt_stoplist_init

    jt_stoplist_init()
