"""How well a strong reader marks evidence: the requests of `edu-rag dataset mark-evidence`, and a score of the replies.

    python bench/evidence_reader.py ask --dataset RUNS/open-textbooks --dataset RUNS/tqa-val --out PACKETS
    python bench/evidence_reader.py keep --dataset ... PACKETS/reply-1.jsonl ... --to reader_replies.jsonl
    python bench/evidence_reader.py judge --dataset ... --out PACKETS/judge/packet.jsonl
    python bench/evidence_pool.py --dataset ... --out PACKETS/judge --judged PACKETS/judge/read.jsonl > ADDED
    python bench/evidence_reader.py score --dataset RUNS/open-textbooks --dataset RUNS/tqa-val

`ask` writes the requests of the untouched labelled questions, PER_PACKET in a file, for readers who have seen neither
the labels nor each other's replies; `--questions` asks about the questions of a file of predictions instead. A reader
writes a line of JSON a question: `id`, and in `reply` what the request asks for. `keep` adds what pins the passages.
`judge` writes the marked sentences that no reader has judged, mixed with as many that were not marked, for another
reader. `score` prints precision, recall and the questions with a right span. A place that only ADDED holds counts for
precision and for right spans; it does not count for recall, as the other methods could not find it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench"), str(ROOT / "tests" / "evidence_labels")]

from built_dataset import BuiltDataset  # noqa: E402
from evidence import interval  # noqa: E402
from evidence_pool import packet_line, place_line, write_lines  # noqa: E402
from labelled_spans import (  # noqa: E402
    LabelledQuestion,
    SpanCounts,
    count_spans,
    is_judged,
    read_spans,
    span_rates,
    untouched,
)

from builder.evidence.spans import SpanPlace  # noqa: E402
from builder.generating.chat_prompts import ChatRequest  # noqa: E402
from builder.generating.evidence_reader import named_passages, passages_to_read, read_request  # noqa: E402

LABELS = ROOT / "tests" / "evidence_labels"
REPLIES = LABELS / "reader_replies.jsonl"
ADDED = LABELS / "reader_spans.jsonl"
PER_PACKET = 24
SEED = 20261128


class Request(NamedTuple):
    """A question, with the judged sentences that it has, and what a reader gets of it."""

    labelled: LabelledQuestion
    data: BuiltDataset
    spans: Sequence[SpanPlace]
    request: ChatRequest

    @property
    def sha256(self) -> str:
        """What pins the passages, their numbers, the question and its answer."""
        return hashlib.sha256(self.request.user.rpartition("\n\n")[0].encode()).hexdigest()[:16]


def asked_questions(data: Mapping[str, BuiltDataset], predictions: Path | None) -> list[LabelledQuestion]:
    """The untouched questions, or those of a file of predictions on the first dataset, without labels."""
    if predictions is None:
        return untouched()
    name, one = next(iter(data.items()))
    ids = [json.loads(line)["question_id"] for line in predictions.read_text(encoding="utf-8").splitlines()]
    return [LabelledQuestion(name, id_, one.questions[id_].kind, "none", ()) for id_ in ids]


def requests(folders: Sequence[Path], predictions: Path | None = None) -> list[Request]:
    """The requests of the untouched questions of these datasets, or of a file of predictions."""
    data = {one.name: one for one in map(BuiltDataset.read, folders)}
    found = []
    for one in asked_questions(data, predictions):
        if one.dataset in data:
            data[one.dataset].require_same_text(one)
            question, gold, pages = data[one.dataset].exam(one.question_id)
            spans, text_of = passages_to_read(question, gold, pages), {page.page_id: page.text for page in pages}
            texts = [text_of[span.page_id][span.start : span.end] for span in spans]
            found.append(Request(one, data[one.dataset], spans, read_request(question, gold, texts)))
    return found


def ask(given: argparse.Namespace) -> None:
    """Write the packets."""
    given.out.mkdir(parents=True, exist_ok=True)
    every = requests(given.dataset, given.questions)
    random.Random(SEED).shuffle(every)
    n_packets = -(-len(every) // PER_PACKET)
    for number in range(n_packets):
        some = every[number::n_packets]
        parts = [f"##### id {one.labelled.question_id}\n\n{one.request.user}" for one in some]
        text = "\n\n".join([some[0].request.system, *parts])
        (given.out / f"packet-{number + 1}.txt").write_text(text + "\n", encoding="utf-8")
        print(f"packet-{number + 1}.txt: {len(some)} questions, {len(text):,} characters")


def keep(given: argparse.Namespace) -> None:
    """Write the replies with what pins their passages."""
    rows = [json.loads(line) for path in given.replies for line in path.read_text(encoding="utf-8").splitlines()]
    reply_of = {row["id"]: row["reply"] for row in rows}
    kept = []
    for one in requests(given.dataset, given.questions):
        id_ = one.labelled.question_id
        if named_passages(reply_of.get(id_, ""), len(one.spans)) is None:
            raise SystemExit(f"{id_}: {reply_of.get(id_)!r} is no list of passages: let it be read again")
        kept.append(
            {"dataset": one.labelled.dataset, "question_id": id_, "request": one.sha256, "reply": reply_of[id_]}
        )
    write_lines(given.to, kept)


def marked(
    folders: Sequence[Path], replies: Path = REPLIES, predictions: Path | None = None
) -> Iterator[tuple[Request, list[SpanPlace]]]:
    """Each question with the spans that the reader named. Raises SystemExit for replies to other requests."""
    rows = [json.loads(line) for line in replies.read_text(encoding="utf-8").splitlines()]
    kept: Mapping[str, Mapping[str, Any]] = {row["question_id"]: row for row in rows}
    for one in requests(folders, predictions):
        row = kept.get(one.labelled.question_id)
        if row is None or row["request"] != one.sha256:
            raise SystemExit(f"{one.labelled.question_id}: {replies.name} has no reply to these passages: ask again")
        named = named_passages(row["reply"], len(one.spans))
        if named is None:
            raise SystemExit(f"{one.labelled.question_id}: {row['reply']!r} is no list of passages")
        yield one, [one.spans[place] for place in named]


def judge(given: argparse.Namespace) -> None:
    """Write the packet of sentences without a label, and where they are."""
    lines, places, rng = [], [], random.Random(SEED)
    for one, spans in marked(given.dataset):
        question, gold, pages = one.data.exam(one.labelled.question_id)
        rank_of = {page.page_id: rank for rank, page in enumerate(pages)}

        def sentences(some: Sequence[SpanPlace], pages: Any = pages, rank_of: Any = rank_of) -> list[tuple[int, int]]:
            return [
                (rank_of[span.page_id], n)
                for span in some
                for n, (start, end) in enumerate(pages[rank_of[span.page_id]].sentences)
                if span.start <= start and end <= span.end
            ]

        open_ones = [span for span in spans if not is_judged(tuple(span), one.labelled)]
        rest = [span for span in one.spans if span not in spans and not is_judged(tuple(span), one.labelled)]
        if open_ones:
            some = sorted({*sentences(open_ones), *sentences(rng.sample(rest, min(len(rest), len(open_ones))))})
            lines.append(packet_line(question, gold, pages, some))
            places.append(place_line(one.data.name, question.question_id, pages, some))
    write_lines(given.out, lines)
    write_lines(given.out.with_name("places.jsonl"), places)
    print(f"{len(lines)} questions, {sum(len(line['sentences']) for line in lines)} sentences")


def counted(one: LabelledQuestion, spans: Sequence[SpanPlace], added: Mapping[str, LabelledQuestion]) -> SpanCounts:
    """The counts of a question: places by the first labels, spans by all labels."""
    some = [tuple(span) for span in spans]
    more = added[one.question_id].sentences if one.question_id in added else ()
    counts = count_spans(one._replace(sentences=(*one.sentences, *more)), some)
    first = count_spans(one, some)
    return counts._replace(places=first.places, found=first.found)


def score(given: argparse.Namespace) -> None:
    """Print the table."""
    added = {one.question_id: one for one in read_spans(ADDED)} if ADDED.exists() else {}
    groups: dict[str, list[SpanCounts]] = {}
    first, reachable = list[SpanCounts](), list[SpanCounts]()
    for one, spans in marked(given.dataset):
        counts = counted(one.labelled, spans, added)
        first.append(count_spans(one.labelled, [tuple(span) for span in spans]))
        reachable.append(count_spans(one.labelled, [tuple(span) for span in one.spans]))
        kind = "true/false" if one.labelled.kind == "true_false" else "multiple choice and matching"
        names = (kind, f"{one.labelled.dataset}, all kinds", f"{one.labelled.dataset}, {one.labelled.kind}")
        for name in names:
            groups.setdefault(name, []).append(counts)
    n_open = sum(one.unjudged for one in first)
    print(
        f"{sum(one.found for one in reachable)} of {sum(one.places for one in reachable)} marked places are among the"
    )
    print(f"passages. {n_open} of {sum(map(sum, (one[:3] for one in first)))} spans had no label before ADDED.\n")
    print("| questions | n | with evidence | precision | recall | answerable questions with a right span | spans |")
    print("|---|---|---|---|---|---|---|")
    for name, some in sorted(groups.items()):
        rates, cells = span_rates(some), []
        for rate in ("precision", "recall", "questions"):
            low, high = interval(some, rate)
            cells.append(f"{rates[rate]:.2f} [{low:.2f}, {high:.2f}]")
        n_of = [c.right + c.wrong + c.unjudged for c in some]
        n_open = sum(c.unjudged for c in some)
        spans_said = f"{sum(n_of)}{f' ({n_open} not judged)' if n_open else ''}"
        print(f"| {name} | {len(some)} | {sum(map(bool, n_of))} | {' | '.join(cells)} | {spans_said} |")


def main() -> None:
    """Ask, keep, judge or score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    for run in (ask, keep, judge, score):
        one = parts.add_parser(run.__name__, help=run.__doc__)
        one.add_argument("--dataset", type=Path, action="append", required=True, help="a built dataset; once for each")
        one.set_defaults(run=run)
        if run in (ask, judge):
            one.add_argument("--out", type=Path, required=True, help="outside of the repository: it holds text")
        if run in (ask, keep):
            one.add_argument("--questions", type=Path, help="predictions that name other questions, of one dataset")
        if run is keep:
            one.add_argument("replies", type=Path, nargs="+")
            one.add_argument("--to", type=Path, required=True, help="the file to write")
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
