"""HyPA-RAG (Kalra et al.), measured again: the classifier, fixed against adaptive k, the systems' runs, the graph.

Usage: bench/page.py papers/hypa_rag:claims
       bench/page.py papers/hypa_rag:classifier [--folder FOLDER]
       bench/page.py papers/hypa_rag:retrieval --folder FOLDER
       bench/page.py papers/hypa_rag:textbooks --folder FOLDER --split test --sparse
       bench/page.py papers/hypa_rag:chunkers --folder FOLDER --split test
       bench/page.py papers/hypa_rag:semantic --folder FOLDER --split test --sample NAME --semantic --book NAME
       bench/page.py papers/hypa_rag:reranked --folder FOLDER --split test --sample NAME
       bench/page.py papers/hypa_rag:chunker-answers --folder FOLDER      (runs of bench/papers/paper_runs.py)
       bench/page.py papers/hypa_rag:number-answers --folder FOLDER --numbers       (the same)
       bench/page.py papers/hypa_rag:runs --folder FOLDER [--split test]
       bench/page.py papers/hypa_rag:graph …          (see bench/papers/hypa_graph.py)

FOLDER holds `dataset/` and `submissions/`, a dataset and the submissions of bench/board_runs.py. Prints Markdown.
"""

from __future__ import annotations

import importlib
import sys

PARTS = {
    "claims": "hypa_claims",
    "classifier": "hypa_classifier",
    "retrieval": "hypa_retrieval",
    "textbooks": "hypa_retrieval",
    "chunkers": "hypa_chunkers",
    "semantic": "hypa_chunkers",
    "reranked": "hypa_reranked",
    "chunker-answers": "hypa_answers",
    "number-answers": "hypa_answers",
    "runs": "hypa_runs",
    "graph": "hypa_graph",
}
"""Part -> the module in this folder that measures it."""


def main() -> None:
    """Hand the arguments to the part's own script."""
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    if part not in PARTS:
        raise SystemExit(f"no part {part!r}: known are {', '.join(PARTS)}")
    importlib.import_module(PARTS[part]).main(sys.argv[2:])


if __name__ == "__main__":
    main()
