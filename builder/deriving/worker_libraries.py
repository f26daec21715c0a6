"""Loads what page workers need, when it is imported: the process that they are forked from does so, once.

An error is left to the workers: each tries its tools on a sample and says what is wrong.
"""

from contextlib import suppress

from builder.config import ExtractConfig, FilterConfig, LabelConfig
from builder.deriving.page_stage import PageSettings, PageStage

with suppress(Exception):
    PageStage(PageSettings(extract=ExtractConfig(), filter=FilterConfig(), label=LabelConfig())).warm_up()
with suppress(
    Exception
):  # trafilatura's word lists, which it would read in each worker, at the first page that needs them
    from trafilatura.external import jt_stoplist_init

    jt_stoplist_init()
