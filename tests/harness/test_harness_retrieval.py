from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edu_rag.scorecard.card import Outcome, Passage, Prediction, Verdict
from edu_rag.scorecard.support import Support
from harness.scoring.retrieval import (
    CUTOFFS,
    Match,
    documents_of,
    match,
    mean_with_interval,
    measures,
    places_of,
    retrieval_lines,
    retrieval_of,
)

TREC = {"P_": "P@", "recall_": "R@", "success_": "success@", "map_cut_": "MAP@", "ndcg_cut_": "NDCG@"}
"""What trec_eval prints for our measures, with the cut-off after it."""
ALL_TREC = (1, 5, 10, 15, 20, 30, 100, 200, 500, 1000)

Qrels = dict[str, dict[str, int]]


def qrels_in(path: Path) -> Qrels:
    found: Qrels = {}
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            topic, _, document, level = line.split("#")[0].split() if " #" in line else line.split()
            found.setdefault(topic, {})[document] = int(level)
    return found


def ranked_in(path: Path, deepest: int | None = None) -> dict[str, list[str]]:
    """Documents by topic as trec_eval orders them: by score as float32, ties by document id, both descending."""
    scores: dict[str, list[tuple[float, str]]] = {}
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            topic, _, document, _, score, _ = line.split()[:6]
            scores.setdefault(topic, []).append((float(np.float32(score)), document))
    return {topic: [document for _, document in sorted(rows, reverse=True)][:deepest] for topic, rows in scores.items()}


def expected_in(path: Path) -> dict[tuple[str, str], float]:
    """Printed values by (our name of the measure, topic or `all`)."""
    found = {}
    for line in path.read_text().splitlines():
        name, topic, value = line.split()
        ours = "MRR" if name == "recip_rank" else None
        for theirs, prefix in TREC.items():
            if name.startswith(theirs) and name.removeprefix(theirs).isdigit():
                ours = prefix + name.removeprefix(theirs)
        if ours is not None:
            found[ours, topic] = float(value)
    return found


def test_measures_that_are_named_in_two_ways_are_distinguished(shared_data: Path) -> None:
    names = {name.partition("@")[0] for name, _ in expected_in(shared_data / "ir" / "trec_eval" / "out.test.a")}
    assert names == {"P", "R", "success", "MAP", "NDCG", "MRR"}


TREC_CALLS = [  # expected file, judgements, run, relevance level, complete (-c), deepest rank (-M), n values at least
    ("out.test", "qrels.test", "results.test", 1, False, None, 9),
    ("out.test", "qrels.test.with-comments", "results.test", 1, False, None, 9),
    ("out.comment.test", "qrels.comment.test", "results.comment.test", 1, False, None, 9),
    ("out.test.a", "qrels.test", "results.test", 1, False, None, 38),
    ("out.test.aq", "qrels.test", "results.test", 1, False, None, 150),
    ("out.test.aqc", "qrels.test", "results.trunc", 1, True, None, 150),
    ("out.test.aqcM", "qrels.test", "results.trunc", 1, True, 100, 150),
    ("out.test.aql", "qrels.rel_level", "results.test", 2, False, None, 100),
    ("out.test.meas_params", "qrels.test", "results.test", 1, False, None, 36),
]
MORE_CUTOFFS = (2, 3, 7, 23, 2000)


@pytest.mark.parametrize(("expected", "qrels", "run", "level", "complete", "deepest", "n_values"), TREC_CALLS)
def test_every_expected_file_of_trec_eval_is_met_to_the_printed_digits(
    shared_data: Path,
    expected: str,
    qrels: str,
    run: str,
    level: int,
    complete: bool,
    deepest: int | None,
    n_values: int,
) -> None:
    folder = shared_data / "ir" / "trec_eval"
    judged, ranked = qrels_in(folder / qrels), ranked_in(folder / run, deepest)
    relevant = {
        topic: [d for d, found in levels.items() if found >= level]
        for topic, levels in judged.items()
        if complete or topic in ranked
    }
    values = measures(relevant, ranked, cutoffs=(*ALL_TREC, *MORE_CUTOFFS))
    topics = [topic for topic, documents in relevant.items() if documents]
    printed = expected_in(folder / expected)
    graded = {level_ for levels in judged.values() for level_ in levels.values()} - {-1, 0, 1}
    checked = 0
    for (name, topic), value in printed.items():
        if name.startswith("NDCG") and graded:
            continue  # trec_eval's gain is the level there; ours are places of evidence, which have none
        mine = sum(values[name]) / len(relevant) if topic == "all" else values[name][topics.index(topic)]
        assert f"{mine:.4f}" == f"{value:.4f}", (name, topic)
        checked += 1
    assert checked >= n_values


def test_a_question_without_a_relevant_document_is_no_row_and_one_with_nothing_ranked_is_0() -> None:
    values = measures({"a": ["x"], "b": [], "c": ["x"], "d": ["x"]}, {"a": ["x"], "b": ["x"], "c": []}, cutoffs=(1,))
    assert set(values) == {"P@1", "R@1", "success@1", "MAP@1", "NDCG@1", "MRR"}
    assert all(row == [1.0, 0.0, 0.0] for row in values.values())
    assert measures({}, {}) == measures({"a": []}, {"a": ["x"]}) == {name: [] for name in measures({}, {})}


def naive(relevant: Sequence[str], ranked: Sequence[str], k: int) -> dict[str, float]:
    """The formulas of docs/scoring-spec.md, section 6, as they stand there."""
    hits = [document in relevant for document in ranked]
    total = len(relevant)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, total) + 1))
    return {
        f"P@{k}": sum(hits[:k]) / k,
        f"R@{k}": sum(hits[:k]) / total,
        f"success@{k}": float(any(hits[:k])),
        f"MAP@{k}": sum(sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits[:k]) if hit) / total,
        f"NDCG@{k}": sum(1 / math.log2(i + 2) for i, hit in enumerate(hits[:k]) if hit) / ideal,
        "MRR": next((1 / (i + 1) for i, hit in enumerate(hits) if hit), 0.0),
    }


documents = st.sampled_from([f"d{i}" for i in range(14)])


@given(
    st.dictionaries(
        st.sampled_from(["q1", "q2", "q3"]),
        st.tuples(st.lists(documents, unique=True, max_size=9), st.lists(documents, unique=True, max_size=14)),
    )
)
def test_the_measures_are_the_formulas_whatever_is_ranked(
    questions: Mapping[str, tuple[list[str], list[str]]],
) -> None:
    relevant = {question_id: found for question_id, (found, _) in questions.items()}
    ranked = {question_id: found for question_id, (_, found) in questions.items()}
    values = measures(relevant, ranked)
    rows = [question_id for question_id in relevant if relevant[question_id]]
    for at, question_id in enumerate(rows):
        for k in CUTOFFS:
            for name, value in naive(relevant[question_id], ranked[question_id], k).items():
                assert values[name][at] == pytest.approx(value, abs=1e-9), (name, question_id)
    assert all(len(row) == len(rows) for row in values.values())


def test_a_thousand_ranks_keep_their_order_as_trec_eval_reads_scores_as_float32() -> None:
    ranked = [f"d{i}" for i in range(100_000)]
    values = measures({"q": ["d99999"]}, {"q": ranked}, cutoffs=(99_999, 100_000))
    assert (values["success@99999"], values["success@100000"]) == ([0.0], [1.0])
    assert values["MRR"] == [pytest.approx(1e-5)]


def test_spans_of_evidence_that_share_a_character_are_one_place() -> None:
    spans = {"p1": [(30, 40), (0, 10), (9, 12), (12, 15), (0, 10), (31, 33)], "p0": [(5, 6)]}
    assert places_of(spans) == {"p1": [(0, 12), (12, 15), (30, 40)], "p0": [(5, 6)]}
    assert match([], spans) == Match(4, ())
    assert match([], {}) == Match(0, ())


RANKINGS = [  # cited, relevant ranks; the evidence is at 10..20 and 30..40 of page p
    ([("p", 12, 13)], (1,)),
    ([("p", 0, 10)], ()),  # touching is not sharing
    ([("p", 20, 30)], ()),
    ([("q", 12, 13)], ()),
    ([("p", 0, 11)], (1,)),
    ([("p", 19, 25)], (1,)),
    ([("p", 12, 13), ("p", 12, 13)], (1,)),  # a repeated passage takes a rank and finds nothing
    ([("p", 12, 13), ("p", 14, 15)], (1,)),  # several passages of one place count once
    ([("p", 0, 99)], (1,)),  # one passage of several places counts once
    ([("p", 0, 99), ("p", 0, 99), ("p", 0, 99)], (1, 2)),
    ([("p", 0, 99), ("p", 12, 13)], (1,)),
    ([("p", 0, 99), ("p", 35, 36)], (1, 2)),
    ([("q", 0, 9), ("p", 35, 36), ("p", 0, 99)], (2, 3)),
    ([], ()),
]


@pytest.mark.parametrize(("cited", "expected"), RANKINGS)
def test_a_place_counts_once_and_a_passage_counts_once(
    cited: list[tuple[str, int, int]], expected: tuple[int, ...]
) -> None:
    evidence = {"p": [(30, 40), (10, 20)]}
    assert match([Passage(*passage) for passage in cited], evidence) == (2, expected)
    assert evidence == {"p": [(30, 40), (10, 20)]}


spans = st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.lists(spans, min_size=1, max_size=6), st.lists(spans, max_size=12))
def test_no_list_of_passages_finds_more_than_there_is(
    evidence: list[tuple[int, int]], cited: list[tuple[int, int]]
) -> None:
    places, ranks = match([Passage("p", *span) for span in cited], {"p": evidence})
    assert len(ranks) <= places == len(places_of({"p": evidence})["p"])
    touched = [rank for rank, (a, b) in enumerate(cited, 1) if any(a < d and c < b for c, d in evidence)]
    assert set(ranks) <= set(touched)
    # The first passage that shares a character with evidence is always relevant; so ranks tell whether there is one.
    assert ranks[:1] == tuple(touched[:1])
    assert list(ranks) == sorted(set(ranks))


def test_matches_are_handed_to_trec_eval_as_documents() -> None:
    assert documents_of(Match(3, (2, 4))) == (["e1", "e2", "e3"], ["x1", "e1", "x3", "e2"])
    assert documents_of(Match(1, ())) == (["e1"], [])
    values = measures(*({"q": documents} for documents in documents_of(Match(3, (2, 4)))))
    assert {name: column[0] for name, column in values.items()} == pytest.approx(
        {name: value for k in CUTOFFS for name, value in naive("abc", "xaxb", k).items()}, abs=1e-12
    )


def test_the_mean_and_its_interval_are_those_of_statsmodels_with_clusters() -> None:
    from statsmodels.regression.linear_model import OLS

    rng = random.Random(5)
    clusters = [rng.randrange(-1, 12) for _ in range(200)]
    values = [min(1.0, max(0.0, 0.05 * (cluster % 7) + rng.random() * 0.4)) for cluster in clusters]
    own = [cluster if cluster >= 0 else 1000 + i for i, cluster in enumerate(clusters)]
    model = OLS(values, np.ones(200)).fit(cov_type="cluster", cov_kwds={"groups": np.array(own)})
    low, high = model.conf_int()[0]
    assert mean_with_interval(values, clusters) == pytest.approx((model.params[0], low, high), abs=1e-12)
    plain = OLS(values, np.ones(200)).fit()
    error = plain.bse[0] * 1.959963984540054
    mean = plain.params[0]
    assert mean_with_interval(values) == pytest.approx((mean, mean - error, mean + error), abs=1e-12)


def test_intervals_stay_in_0_to_1_and_one_cluster_says_nothing() -> None:
    assert mean_with_interval([1.0, 1.0, 1.0]) == (1.0, 1.0, 1.0)
    assert mean_with_interval([0.25]) == (0.25, 0.0, 1.0)
    assert mean_with_interval([0.0, 1.0], [3, 3]) == (0.5, 0.0, 1.0)
    assert mean_with_interval([0.0, 1.0], [0, 3]) == (0.5, 0.0, 1.0)
    mean, low, high = mean_with_interval([0.0] * 9 + [0.5])
    assert (mean, low) == (0.05, 0.0)
    assert high == pytest.approx(0.05 + 1.959963984540054 * math.sqrt(10 / 9 * (9 * 0.05**2 + 0.45**2)) / 10)


def test_the_normal_interval_covers_the_true_mean_about_95_times_in_100() -> None:
    rng = np.random.default_rng(11)
    draws = rng.choice([0.0, 0.2, 0.5, 1.0], p=[0.4, 0.2, 0.1, 0.3], size=(1000, 150))
    truth = 0.2 * 0.2 + 0.1 * 0.5 + 0.3
    covered = sum(low <= truth <= high for _, low, high in (mean_with_interval(row.tolist()) for row in draws))
    assert 930 <= covered <= 970


def prediction(question_id: str, *cited: tuple[str, int, int]) -> Prediction:
    return Prediction(question_id=question_id, answer="a", passages=tuple(Passage(*passage) for passage in cited))


def verdicts(outcomes: Mapping[str, Outcome]) -> list[Verdict]:
    return [Verdict(question_id=i, outcome=outcome, reason="") for i, outcome in outcomes.items()]


SUPPORT = Support(
    with_pages=frozenset({"q1", "q2", "q3", "q4", "q5"}),
    evidence={i: {"p": [(10, 20), (30, 40)]} for i in ("q1", "q2", "q3", "q4")} | {"q6": {}},
    has_pages=True,
)
CITED = {
    "q1": prediction("q1", ("x", 0, 10), ("p", 12, 13)),
    "q2": prediction("q2", ("x", 0, 10)),
    "q3": prediction("q3", ("p", 35, 36)),
    "q5": prediction("q5", ("p", 12, 13)),
}
VERDICTS = verdicts(
    {"q1": "correct", "q2": "correct", "q3": "incorrect", "q4": "failed", "q5": "correct", "q6": "incorrect"}
)


def test_what_was_cited_is_counted_over_all_supported_questions_and_never_fewer() -> None:
    found = retrieval_of(CITED, VERDICTS, SUPPORT)
    metrics, intervals = found.pop("metrics"), found.pop("intervals")
    assert found == {
        "n_citing": 4,
        "n_passages_mean": 1.25,
        "n_characters_mean": 5.75,
        "n_supported": 4,
        "n_answered_supported": 3,
        "n_grounded": 1,
        "n_lucky": 1,
        "evidence_cited": 0.6666666666666666,
        "n_evidence_mean": 2.0,
    }
    assert (metrics["MRR"], metrics["P@1"], metrics["success@3"], metrics["R@10"]) == (0.375, 0.25, 0.5, 0.25)
    assert metrics["MAP@3"] == (1 / 4 + 1 / 2) / 4
    gain = (1 / math.log2(3) + 1) / (1 + 1 / math.log2(3))
    assert metrics["NDCG@3"] == round(gain / 4, 10)
    assert list(metrics) == list(intervals)
    assert len(metrics) == 5 * len(CUTOFFS) + 1
    low, high = intervals["MRR"]
    deviations = [0.125, -0.375, 0.625, -0.375]
    error = math.sqrt(4 / 3 * sum(d * d for d in deviations)) / 4
    assert [low, high] == [0.0, round(0.375 + 1.959963984540054 * error, 10)]


def test_questions_of_one_lesson_are_one_cluster_of_the_interval() -> None:
    apart = retrieval_of(CITED, VERDICTS, SUPPORT)["intervals"]["MRR"]
    # q5 and q6 have no evidence, so their lessons do not matter; q1 and q3 share one.
    together = retrieval_of(CITED, VERDICTS, SUPPORT, [0, 1, 0, -1, 7, 7])["intervals"]["MRR"]
    error = math.sqrt(3 / 2 * ((0.125 + 0.625) ** 2 + 2 * 0.375**2)) / 4
    assert together == [0.0, round(0.375 + 1.959963984540054 * error, 10)]
    assert together != apart
    assert retrieval_of(CITED, VERDICTS, SUPPORT, [0] * 6)["intervals"]["MRR"] == [0.0, 1.0]


AT_HOME = SUPPORT._replace(home_pages={"q1": "p", "q3": "x", "q4": "p", "q5": "p", "q9": "p"})


def test_the_home_page_is_found_by_the_rank_of_a_passage_on_it() -> None:
    # q1 has its page second, q5 first; q3 cites another page, q4 cites nothing, and q9 has no verdict.
    found = retrieval_of(CITED, VERDICTS, AT_HOME)
    home = found.pop("home_page")
    assert found == retrieval_of(CITED, VERDICTS, SUPPORT)
    assert home["n"] == 4
    assert home["metrics"] == {"success@1": 0.25, "success@3": 0.5, "success@5": 0.5, "success@10": 0.5}
    error = 1.959963984540054 * math.sqrt(4 / 3 * (3 * 0.25**2 + 0.75**2)) / 4
    assert home["intervals"]["success@1"] == [0.0, round(0.25 + error, 10)]
    assert home["intervals"]["success@10"] == [0.0, 1.0]
    # Of the lessons of the verdicts, q1 and q5 share one.
    together = retrieval_of(CITED, VERDICTS, AT_HOME, [7, 1, 2, -1, 7, 1])["home_page"]
    error = 1.959963984540054 * math.sqrt(3 / 2 * ((0.75 - 0.25) ** 2 + 2 * 0.25**2)) / 4
    assert together["intervals"]["success@1"] == [0.0, round(0.25 + error, 10)]
    assert together["metrics"] == home["metrics"]
    nowhere = SUPPORT._replace(home_pages={"q9": "p"})
    assert "home_page" not in retrieval_of(CITED, VERDICTS, nowhere)


def test_a_mean_of_home_pages_and_its_interval_keep_ten_decimals() -> None:
    ids = [f"q{i}" for i in range(100)]
    predictions = {i: prediction(i, ("p" if at < 33 else "x", 0, 9)) for at, i in enumerate(ids)}
    support = Support(frozenset(ids), {}, has_pages=True, home_pages=dict.fromkeys(ids[:97], "p"))
    home = retrieval_of(predictions, verdicts(dict.fromkeys(ids, "correct")), support)["home_page"]
    mean, error = 33 / 97, 1.959963984540054 * math.sqrt(33 * 64 / 97 / 96 / 97)
    assert home["metrics"]["success@5"] == round(mean, 10)
    assert home["intervals"]["success@5"] == [round(mean - error, 10), round(mean + error, 10)]


def test_who_cites_nothing_has_no_retrieval_to_judge() -> None:
    assert retrieval_of({"q1": prediction("q1")}, VERDICTS, SUPPORT) == {}
    assert retrieval_of({}, VERDICTS, SUPPORT) == {}


def test_without_evidence_in_the_dataset_only_citations_are_counted() -> None:
    bare = Support(frozenset(), {}, has_pages=False)
    found = retrieval_of(CITED, VERDICTS, bare)
    assert found == {"n_citing": 4, "n_passages_mean": 1.25, "n_characters_mean": 5.75}
    assert list(retrieval_lines(found)) == [
        "cited by 4 answer(s), on average 1.2 passages and 6 characters an answer",
        "  no question of these has evidence, so what was cited cannot be judged",
    ]


def test_without_an_answer_to_a_supported_question_there_is_no_share_of_them() -> None:
    found = retrieval_of(CITED, verdicts({"q1": "abstained", "q2": "unparseable"}), SUPPORT)
    assert "evidence_cited" not in found
    assert (found["n_supported"], found["n_answered_supported"], found["n_grounded"], found["n_lucky"]) == (2, 0, 0, 0)
    assert found["metrics"]["MRR"] == 0.25


def test_the_order_of_predictions_changes_no_figure() -> None:
    backwards = dict(reversed(CITED.items()))
    assert retrieval_of(backwards, VERDICTS, SUPPORT) == retrieval_of(CITED, VERDICTS, SUPPORT)


def test_the_lines_tell_grounded_lucky_and_each_cut_off() -> None:
    lines = list(retrieval_lines(retrieval_of(CITED, VERDICTS, SUPPORT)))
    assert lines[0] == "cited by 4 answer(s), on average 1.2 passages and 6 characters an answer"
    assert lines[1] == (
        "  right on 2 of 4 supported questions: 1 grounded (evidence among the cited), 1 lucky (without)"
    )
    assert lines[2].split() == ["at", "P", "R", "success", "MAP", "NDCG"]
    assert [line.split()[0] for line in lines[3:7]] == ["1", "3", "5", "10"]
    assert lines[3].split() == ["1", "0.2500", "0.1250", "0.2500", "0.1250", "0.2500"]
    assert lines[7] == "  MRR 0.3750   95 % interval 0.0000 … 0.8441"
    assert len(lines) == 8
    with_home = list(retrieval_lines(retrieval_of(CITED, VERDICTS, AT_HOME)))
    assert with_home == [
        lines[0],
        "  home page of 4 questions among the cited: "
        "0.250 of the first 1, 0.500 of the first 3, 0.500 of the first 5, 0.500 of the first 10",
        *lines[1:],
    ]


def doc_rows(header: str) -> list[list[str]]:
    """The rows of the table of docs/scoring-spec.md that begins with this header."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "scoring-spec.md").read_text(encoding="utf-8")
    lines = page.split(header + "\n")[1].splitlines()[1:]
    rows = [line.strip("|").split("|") for line in lines[: lines.index("")]]
    return [[cell.strip() for cell in row] for row in rows]


def passages_in(cell: str) -> list[Passage]:
    parts = [part.split() for part in cell.split(", ")]
    return [Passage(page, *map(int, span.split("–"))) for page, span in parts]  # type: ignore[arg-type]


def test_the_examples_of_the_documentation_are_what_the_code_does() -> None:
    rows = doc_rows("| evidence | cited, in order | places | relevant ranks |")
    assert len(rows) == 9
    for evidence_cell, cited_cell, n_places, ranks in rows:
        evidence: dict[str, list[tuple[int, int]]] = {}
        for page_id, start, end in passages_in(evidence_cell):
            evidence.setdefault(page_id, []).append((start, end))
        found = match(passages_in(cited_cell), evidence)
        assert (str(found.n_places), ", ".join(map(str, found.ranks)) or "none") == (n_places, ranks), (
            evidence_cell,
            cited_cell,
        )


def test_the_documentation_names_every_measure_and_figure() -> None:
    named = {row[0].strip("`") for row in doc_rows("| name | formula | source |")}
    assert {f"{name.removesuffix('k')}1" if name.endswith("@k") else name for name in named} == set(
        measures({}, {}, cutoffs=(1,))
    )
    figures = {name.strip("` ") for row in doc_rows("| name | what |") for name in row[0].split(",")}
    assert figures | {"metrics", "intervals"} == set(retrieval_of(CITED, VERDICTS, SUPPORT))


def test_grounded_and_lucky_are_the_right_answers_with_and_without_evidence_cited() -> None:
    kinds = [("correct", True)] * 4 + [("correct", False)] * 2 + [("incorrect", True)] + [("incorrect", False)] * 3
    ids = [f"q{i}" for i in range(len(kinds) + 1)]
    outcomes: dict[str, Outcome] = dict(zip(ids, [outcome for outcome, _ in kinds] + ["abstained"], strict=True))  # type: ignore[arg-type]
    cited = [("p", 12, 13) if held else ("x", 0, 9) for _, held in kinds] + [("p", 12, 13)]
    predictions = {i: prediction(i, passage) for i, passage in zip(ids, cited, strict=True)}
    support = Support(frozenset(ids), {i: {"p": [(10, 20)]} for i in ids}, has_pages=True)
    found = retrieval_of(predictions, verdicts(outcomes), support)
    assert (found["n_grounded"], found["n_lucky"], found["n_answered_supported"], found["n_supported"]) == (
        4,
        2,
        10,
        11,
    )
    assert found["evidence_cited"] == 0.5
    assert found["metrics"]["P@1"] == round(6 / 11, 10)
