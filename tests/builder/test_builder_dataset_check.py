"""`edu-rag dataset check`: every planted fault is told, all at once, and a sound dataset is left alone."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builder_dataset import ICE, LAVA, ask, damage, file_hash, hit, list_file, page, tables, write
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from builder.dataset.check_dataset import CheckReport, check_folder, chi_square_p
from builder.dataset.findings import EXAMPLES, Findings
from builder.dataset.label_tests import _upper_tail
from edu_rag.__main__ import root
from edu_rag.errors import DataError, FaultsError
from edu_rag.gold import Gold
from edu_rag.records import Leak, Question, SearchHit

Rows = list[dict[str, Any]]


def told(report: CheckReport) -> str:
    return "\n".join(map(str, report.faults.to_print()))


def test_a_sound_dataset_has_its_tables_counted_and_no_finding(tmp_path: Path) -> None:
    report = check_folder(write(tmp_path / "ds"))
    assert (told(report), len(report.warnings)) == ("", 0)
    assert report.rows == {
        "questions/test": 1,
        "hits/test": 1,
        "pages/test": 1,
        "gold/test": 1,
        "questions/val": 2,
        "hits/val": 5,
        "pages/val": 2,
        "evidence/val": 1,
        "leaks/val": 1,
        "gold/val": 2,
    }


def _set(index: int, **values: Any) -> Callable[[Rows], Rows]:
    def change(rows: Rows) -> Rows:
        rows[index] |= values
        return rows

    return change


def _blank_start(rows: Rows) -> Rows:
    start, end = rows[0]["sentences"][1].values()
    rows[0]["sentences"][1] = {"start": start - 1, "end": end}
    return rows


def _first_sentence_gone(rows: Rows) -> Rows:
    rows[0]["sentences"] = rows[0]["sentences"][1:]
    return rows


def _sentences_joined(rows: Rows) -> Rows:
    for row in rows:
        row["sentences"] = [{"start": 0, "end": len(row["text"].rstrip())}]
    return rows


@pytest.mark.parametrize(
    ("config", "change", "words"),
    [
        ("gold", lambda rows: rows[1:], "q1: has no gold that suits it"),
        ("gold", _set(0, answer="d"), "which is not one of its choices a, b, c"),
        ("gold", _set(0, question_id="q0"), "belongs to an unknown question"),
        ("questions", lambda rows: rows[::-1], "is out of order"),
        ("questions", lambda rows: [rows[0], *rows], "occurs twice"),
        ("questions", _set(0, text="  "), "text: is blank"),
        ("questions", _set(0, split="train"), "says split 'train', but is in 'val'"),
        ("questions", _set(0, choices=[{"label": "a", "text": "x"}] * 2), "a label occurs twice"),
        ("hits", lambda rows: rows[1:], "ranks are [2, 3], not 1, 2, 3"),
        ("hits", lambda rows: rows[:3], "no hit leads to page"),
        ("hits", _set(4, question_id="q9"), "hits for unknown question q9"),
        ("hits", _set(0, rank=0), "rank: 0 is below 1"),
        ("pages", lambda rows: rows[1:], "a hit leads to no page"),
        ("pages", _set(0, sentences=[{"start": 5, "end": 3}]), "is empty or negative"),
        ("pages", _blank_start, "begins or ends in white space"),
        ("pages", _first_sentence_gone, "is in no sentence"),
        ("pages", _sentences_joined, "its sentences are not those of punkt-v1"),
        ("evidence", _set(0, question_id="q7"), "leads nowhere: unknown question"),
        ("evidence", _set(0, question_id="q2", page_id="p" + "0" * 16), "leads nowhere: not a hit of the question"),
        ("evidence", _set(0, end=100_000), "leaves the page's text"),
        ("evidence", _set(0, start=1), "is not cut at sentence borders"),
        ("leaks", _set(0, question_id="q7"), "leads nowhere: unknown question"),
        ("leaks", _set(0, page_id="p" + "0" * 16), "leads nowhere: unknown page"),
        ("leaks", _set(0, end=100_000), "leaves the page's text"),
    ],
)
def test_each_planted_fault_is_told(tmp_path: Path, config: str, change: Callable[[Rows], Rows], words: str) -> None:
    ds = write(tmp_path / "ds")
    damage(ds, config, change)
    assert words in told(check_folder(ds))


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    ds = write(tmp_path / "ds")
    damage(ds, "gold", _set(0, answer="d"))
    damage(ds, "evidence", _set(0, end=100_000))
    damage(ds, "leaks", _set(0, question_id="q7"))
    (ds / "README.md").write_text("other")
    found = told(check_folder(ds))
    for words in ("differ from the manifest's hash", "not one of its choices", "leaves the page's text", "unknown q"):
        assert words in found


def test_a_thousand_faults_of_a_kind_are_a_few_lines_with_their_number() -> None:
    found = Findings()
    for number in range(1_000):
        found.add("odd row", f"row {number}", "is odd")
    lines = [str(error) for error in found.to_print()]
    assert len(lines) == EXAMPLES + 1
    assert lines[-1].endswith(f"{1_000 - EXAMPLES} more of this kind: odd row")


def test_a_table_that_cannot_be_trusted_is_told_once_and_breaks_nothing_else(tmp_path: Path) -> None:
    ds = write(tmp_path / "ds")
    gold = ds / "gold" / "val-00000-of-00001.parquet"
    gold.write_bytes(b"no parquet")
    assert [error.what for error in check_folder(ds).faults.to_print()] == ["its bytes differ from the manifest's hash"]
    list_file(ds, "gold/val-00000-of-00001.parquet", 2)
    (error,) = check_folder(ds).faults.to_print()
    assert "cannot be read as Parquet" in str(error)
    gold.unlink()
    assert [error.what for error in check_folder(ds).faults.to_print()] == ["is listed in the manifest but missing"]


def test_columns_of_another_version_are_named(tmp_path: Path) -> None:
    ds = write(tmp_path / "ds")
    path = ds / "pages" / "val-00000-of-00001.parquet"
    pq.write_table(pq.read_table(path).drop(["author"]).append_column("odd", pa.array(["x", "y"])), path)
    list_file(ds, "pages/val-00000-of-00001.parquet", 2)
    assert "lacks author; also has odd" in told(check_folder(ds))


def test_data_that_lies_unlisted_in_the_folder_is_a_fault(tmp_path: Path) -> None:
    ds = write(tmp_path / "ds")
    (ds / "gold" / "hidden-00000-of-00001.parquet").write_bytes(b"PAR1")
    (ds / "notes.txt").write_text("mine")
    report = check_folder(ds)
    assert "hidden-00000-of-00001.parquet: is in the folder but not in the manifest" in told(report)
    assert "notes.txt" in str(report.warnings.to_print()[0])


def test_the_gold_of_a_hidden_split_must_not_be_there_nor_what_tells_it(tmp_path: Path) -> None:
    made = tables()
    made["leaks"]["val"].append(Leak(question_id="q1", page_id=page(LAVA).page_id, start=0, end=10, kind="leak_key"))
    ds = write(tmp_path / "ds", made)
    assert told(check_folder(ds)) == ""
    found = told(check_folder(ds, hidden=["val"]))
    assert "the gold of the hidden split 'val' is here" in found
    assert "evidence, which reveals the gold" in found
    assert "1 rows of the hidden split 'val' show where a page reveals the gold" in found
    made["pages"]["val"][1] = page(ICE, flags=("leak_key",))
    assert "is the gold of a hidden question" in told(check_folder(write(tmp_path / "c", made), hidden=["test"]))
    made["pages"]["val"] = [page(LAVA, flags=("leak_key",)), page(ICE)]  # of q1, whose gold is published
    assert "of a hidden question" not in told(check_folder(write(tmp_path / "d", made), hidden=["test"]))
    assert "hidden split 'test'" in told(check_folder(write(tmp_path / "b", sources={"hidden_splits": ["test"]})))


def test_a_split_without_gold_is_sound(tmp_path: Path) -> None:
    made = tables()
    del made["gold"]["test"]
    assert told(check_folder(write(tmp_path / "ds", made), hidden=["test"])) == ""


def test_a_page_must_be_the_same_in_every_split(tmp_path: Path) -> None:
    made = tables()
    made["pages"]["test"].append(page(LAVA, "Lava is something else here. " * 30))
    made["hits"]["test"].append(hit("t1", 2, LAVA))
    assert "has another text in another split" in told(check_folder(write(tmp_path / "ds", made)))


def test_a_question_in_two_splits_is_a_warning_that_fails_only_when_strict(tmp_path: Path) -> None:
    made = tables()
    made["questions"]["test"].append(ask("t2", "what flows down a VOLCANO?", "milk.", "ice", "lava", split="test"))
    made["gold"]["test"].append(Gold(question_id="t2", answer="c"))
    ds = write(tmp_path / "ds", made)
    report = check_folder(ds)
    assert told(report) == ""
    assert "q1 of 'val' repeats t2 of 'test'" in str(report.warnings.to_print()[0])
    assert CliRunner().invoke(root, ["dataset", "check", str(ds)]).exit_code == 0
    strict = CliRunner().invoke(root, ["dataset", "check", str(ds), "--strict"])
    assert isinstance(strict.exception, FaultsError)


def test_short_pages_and_mail_addresses_are_warnings(tmp_path: Path) -> None:
    made = tables()
    made["pages"]["val"][0] = page(LAVA, "Lava flows down the volcano.\nWrite to ann.lee@school.example today.")
    ds = write(tmp_path / "ds", made, sources={"page_flags": {"pii_masked": 3}})
    warned = "\n".join(map(str, check_folder(ds).warnings.to_print()))
    assert "has only 67 bytes of text" in warned
    assert "holds a mail address at 38" in warned
    unmasked = check_folder(write(tmp_path / "b", made, sources={})).warnings.to_print()
    assert "mail address" not in "\n".join(map(str, unmasked))


def _many(gold_of: Callable[[int], str], n: int = 400, **more: Any) -> dict[str, dict[str, list[Any]]]:
    """A split of n questions with four choices of one length, whose texts say nothing of the gold."""
    noise = random.Random(5)
    questions: list[Question] = []
    for number in range(n):
        words = ["".join(noise.choices("bcdfgh", k=8)) for _ in range(4)]
        text = "".join(noise.choices("klmnp", k=20))
        questions.append(ask(f"q{number:04d}", text, *words, **{k: v(number) for k, v in more.items()}))
    gold = [Gold(question_id=q.question_id, answer=gold_of(number)) for number, q in enumerate(questions)]
    return {"questions": {"val": questions}, "gold": {"val": gold}}


def test_a_random_key_is_told_by_nothing(tmp_path: Path) -> None:
    key = random.Random(3)
    report = check_folder(write(tmp_path / "ds", _many(lambda _: key.choice("abcd"))))
    assert (told(report), len(report.warnings)) == ("", 0)


@pytest.mark.parametrize(
    ("gold_of", "words"),
    [
        (lambda number: "abcd"[number % 4], "row modulo 4"),
        (lambda number: "abdc"[number % 7 % 4], "row modulo 7"),
        (lambda number: "ab"[number % 2], "number of the id modulo 2"),
    ],
)
def test_a_key_that_follows_rows_or_ids_is_a_fault(tmp_path: Path, gold_of: Callable[[int], str], words: str) -> None:
    assert f"the gold can be guessed without reading by commonest gold by {words}" in told(
        check_folder(write(tmp_path / "ds", _many(gold_of)))
    )


def test_a_query_that_holds_the_gold_is_a_fault(tmp_path: Path) -> None:
    key = random.Random(3)
    made = _many(lambda _: key.choice("abcd"), n=60)
    gold = {item.question_id: item.answer for item in made["gold"]["val"]}
    made["hits"] = {
        "val": [
            SearchHit(
                question_id=q.question_id,
                page_id=None,
                url="http://one.example/",
                rank=1,
                engine="folder",
                query=f"{q.text} {q.choices[gold[q.question_id]]}",
                searched_at=hit("q", 1, LAVA).searched_at,
                outcome="robots",
            )
            for q in made["questions"]["val"]
        ]
    }
    found = told(check_folder(write(tmp_path / "ds", made)))
    assert "the choice that the search query holds: 60 of 60 right (100.0%; by chance 25.0%" in found


@pytest.mark.parametrize(("tell", "is_fault"), [(0.0, None), (0.11, False), (0.9, True)])
def test_what_a_search_found_is_a_fault_only_where_it_tells_more_than_the_web_could(
    tmp_path: Path, tell: float, is_fault: bool | None
) -> None:
    chance = random.Random(3)
    made = _many(lambda _: chance.choice("abcd"), n=1_200)
    made["hits"] = {
        "val": [
            hit(gold.question_id, rank, f"http://one.example/{rank}", outcome="robots")
            for gold in made["gold"]["val"]
            for n in ["abcd".index(gold.answer) + 1 if chance.random() < tell else chance.randint(1, 4)]
            for rank in range(1, n + 1)
        ]
    }
    report = check_folder(write(tmp_path / "ds", made))
    warned = "\n".join(map(str, report.warnings.to_print()))
    assert ("commonest gold by number of hits" in told(report)) is bool(is_fault)
    assert ("commonest gold by number of hits" in warned) is (is_fault is False)


def test_what_the_author_of_a_question_gives_away_is_a_warning(tmp_path: Path) -> None:
    key = random.Random(3)
    made = _many(lambda _: key.choice("abcd"), lesson=lambda number: f"lesson {number % 11}")
    gold = {item.question_id: item.answer for item in made["gold"]["val"]}
    made["questions"]["val"] = [
        ask(
            q.question_id,
            q.text,
            *(f"{t} indeed" if label == gold[q.question_id] else t for label, t in q.choices.items()),
        )
        for q in made["questions"]["val"]
    ]
    report = check_folder(write(tmp_path / "ds", made))
    warned = "\n".join(map(str, report.warnings.to_print()))
    assert told(report) == ""
    assert "the longest choice: 400 of 400 right" in warned


def test_uneven_labels_are_a_warning_with_their_numbers(tmp_path: Path) -> None:
    key = random.Random(3)
    made = _many(lambda _: key.choice("aaaabcd"))
    counts = Counter(item.answer for item in made["gold"]["val"])
    warned = "\n".join(map(str, check_folder(write(tmp_path / "ds", made)).warnings.to_print()))
    assert f"multiple_choice with 4 choices, n = 400: a {counts['a']} (" in warned


@given(st.floats(0.01, 200), st.integers(1, 25))
def test_the_chi_square_tail_is_scipys(statistic: float, df: int) -> None:
    from scipy import stats

    assert chi_square_p(statistic, df) == pytest.approx(float(stats.chi2.sf(statistic, df)), rel=1e-6, abs=1e-12)


@given(st.integers(1, 300), st.sampled_from([0.5, 0.25, 1 / 3, 1 / 7]), st.data())
def test_the_exact_tail_is_scipys_binomial_test(n: int, chance: float, data: st.DataObject) -> None:
    from scipy import stats

    right = data.draw(st.integers(0, n))
    wanted = stats.binomtest(right, n, chance, alternative="greater").pvalue
    assert _upper_tail(Counter({chance: n}), right) == pytest.approx(float(wanted), rel=1e-6, abs=1e-12)


def test_the_command_prints_json_with_all_findings_and_exits_1(tmp_path: Path) -> None:
    ds = write(tmp_path / "ds")
    damage(ds, "gold", _set(0, answer="d"))
    done = CliRunner().invoke(root, ["dataset", "check", str(ds), "--json"])
    values = json.loads(done.stdout)
    assert (done.exit_code, values["sound"], values["n_faults"]) == (1, False, len(values["faults"]))
    assert file_hash(LAVA) != ""


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path / "none", tmp_path):
        with pytest.raises(DataError, match=r"no such folder|no dataset folder"):
            check_folder(place)
