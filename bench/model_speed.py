"""A language model on a CPU: seconds a question and prompt tokens a second, by back end and precision.

    python bench/model_speed.py --dataset RUNS/open-textbooks --model FILE.gguf [--questions 40] [--split test]
        [--back-end llama.cpp "openvino, bfloat16" "openvino, int8"]

The system is the EDU-RAG paper's: the ten sentences that are closest to the question, one generated token. The
sentences are found before the clock starts. Each back end answers the same questions in the same order; `same` counts
answers that equal those of the first back end in the table. llama.cpp's are not counted as tokens by the same rule.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bm25 import asked_of

from baselines.edu_rag_paper import Context, closest_sentences
from baselines.embed import Encoder
from baselines.gguf_model import LocalModel
from baselines.llama_cpp import LlamaCppModel
from baselines.openvino_model import OpenVinoModel
from baselines.prompts.generate import LanguageModel, answer_with
from edu_rag.serve import SystemQuestion

Asked = list[tuple[SystemQuestion, Context]]
BACK_ENDS: dict[str, Callable[[str], LanguageModel]] = {
    "transformers, float32": LocalModel,
    "transformers, bfloat16": lambda name: LocalModel(name, precision="bfloat16"),
    "llama.cpp": LlamaCppModel,
    "openvino, float32": OpenVinoModel,
    "openvino, bfloat16": lambda name: OpenVinoModel(name, precision="bfloat16"),
    "openvino, int8": lambda name: OpenVinoModel(name, precision="int8"),
}


class Timed(NamedTuple):
    """What one back end did: its answers, seconds to load it and to answer, and tokens of the prompts."""

    answers: list[str | None]
    load_s: float
    seconds: float
    n_tokens: int


def timed(open_model: Callable[[str], LanguageModel], name: str, asked: Asked) -> Timed:
    """Load a model, ask it the first question once for warmth, then all questions."""
    start = time.perf_counter()
    model = open_model(name)
    load_s = time.perf_counter() - start
    answer_with(model, "letter", asked[0][0], asked[0][1].text)
    start = time.perf_counter()
    given = [answer_with(model, "letter", question, context.text) for question, context in asked]
    seconds = time.perf_counter() - start
    return Timed([one.answer for one in given], load_s, seconds, sum(one.input_tokens or 0 for one in given))


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--split", default="test")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--back-end", nargs="+", choices=list(BACK_ENDS), default=list(BACK_ENDS), metavar="NAME")
    given = parser.parse_args()
    retrieve = closest_sentences(Encoder.default())
    asked = [(one, retrieve(one)) for one in asked_of(given.dataset, given.split, given.questions)]
    print(f"{Path(given.model).stem}, {len(asked)} questions of {given.dataset.name}, ten sentences each.\n")
    print("| back end | s to load | s a question | prompt tokens a question | prompt tokens/s | same answers |")
    print("|---|---|---|---|---|---|")
    reference: list[str | None] = []
    for name in given.back_end:
        found = timed(BACK_ENDS[name], given.model, asked)
        reference = reference or found.answers
        same = sum(one == other for one, other in zip(found.answers, reference, strict=True))
        per_question, tokens = found.seconds / len(asked), found.n_tokens / len(asked)
        print(
            f"| {name} | {found.load_s:.0f} | {per_question:.2f} | {tokens:.0f} | {found.n_tokens / found.seconds:.0f} "
            f"| {same} of {len(asked)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
