"""`edu-rag build` and `replay`, with the baselines' sentence encoders for `[label] vectors`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builder.commands import build, replay

if TYPE_CHECKING:
    from edu_rag.files.sentence_vectors import LotEncoder

__all__ = ["build", "replay"]


class BaselineEncoders:
    """Encoders of the baselines; they are imported when a build asks for vectors."""

    def check(self, name: str) -> None:
        """As in Encoders."""
        from baselines.embed.lots import check_encoder

        check_encoder(name)

    def open(self, name: str) -> LotEncoder:
        """As in Encoders."""
        from baselines.embed.lots import EncoderInLots

        return EncoderInLots(name)


for command in (build, replay):
    command.context_settings["obj"] = BaselineEncoders()
