"""Score a text extractor on the science extraction set: which science survives, feature by feature.

python tests/science_set/score.py --extractor trafilatura-v1
python tests/science_set/score.py --text-folder DIR      (DIR/<id>.txt: what another tool extracted)
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from notation import canonical, compact, plain_spaces  # noqa: E402  # beside this file, wherever it is started from

TextOf = Callable[[bytes], str]
"""The bytes of a page (UTF-8) to its main text."""
Check = Mapping[str, Any]
_BETWEEN = r"[\s|,;:.*·\-]{0,12}"
"""What may stand between the cells of a row: spaces, bars, list and table marks."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Prepared:
    """An extracted text in the spellings that checks are compared in."""

    text: str

    @cached_property
    def raw(self) -> str:
        """The text as it is, but for white space: soft hyphens and the like still stand in it."""
        return " ".join(unicodedata.normalize("NFC", self.text).split())

    @cached_property
    def plain(self) -> str:
        """One kind of space, hyphen and quote."""
        return plain_spaces(self.text)

    @cached_property
    def canonical(self) -> str:
        """Equal notations are equal."""
        return canonical(self.text)

    @cached_property
    def compact(self) -> str:
        """The canonical spelling without spaces."""
        return compact(self.text)


def prepared(text: str) -> Prepared:
    """A text ready for `passes` and `absent`."""
    return Prepared(text)


def _stands(needle: str, text: str) -> bool:
    """Whether a string stands in a text, not as a part of a longer word or number."""
    return re.search(rf"(?<![^\W_]){re.escape(needle)}(?![^\W_])", text) is not None


def _row_stands(cells: list[str], text: str) -> bool:
    pattern = _BETWEEN.join(re.escape(canonical(cell)) for cell in cells)
    return re.search(rf"(?<![^\W_]){pattern}(?![^\W_])", text) is not None


def _in_order(parts: list[str], text: str) -> bool:
    at = 0
    for part in parts:
        found = text.find(canonical(part), at)
        if found < 0:
            return False
        at = found + 1
    return True


def passes(check: Check, text: Prepared) -> bool:
    """Whether one `must` check holds: any of some strings, the cells of a row together, or parts in order."""
    if "row" in check:
        return _row_stands(check["row"], text.canonical)
    if "order" in check:
        return _in_order(check["order"], text.canonical)
    if check.get("exact"):
        return _stands(check["any"][0], text.raw)
    if not check.get("compact"):
        return any(_stands(canonical(form), text.canonical) for form in check["any"])
    times = sum(text.compact.count(form) for form in {compact(form) for form in check["any"]})
    # A formula that stands more often than in the gold was kept twice: as source and as picture.
    return 1 <= times <= int(check.get("times", times))


def absent(check: Check, text: Prepared) -> bool:
    """Whether one `must_not` check holds: the falsified or foreign string does not stand in the text."""
    if check.get("compact"):
        return compact(str(check["string"])) not in text.compact
    return not _stands(plain_spaces(check["string"]), text.plain)


def word_f1(text: str, gold: str) -> float:
    """F1 of the words of two texts as bags, in the canonical spelling; 0 where they share none."""
    ours, theirs = (Counter(_WORD.findall(canonical(one).casefold())) for one in (text, gold))
    shared = sum((ours & theirs).values())
    return 2 * shared / (sum(ours.values()) + sum(theirs.values())) if shared else 0.0


@dataclass(frozen=True, slots=True)
class PageResult:
    """What became of one page: checks as (feature, passed, what was looked for), and the F1 of its words."""

    page_id: str
    checks: tuple[tuple[str, bool, str], ...]
    f1: float

    @property
    def failures(self) -> list[str]:
        """The failed checks, readable."""
        return [f"{feature}: {what}" for feature, passed, what in self.checks if not passed]


def _looked_for(check: Check) -> str:
    if "string" in check:
        return f"must not be there: {check['string']}"
    parts = check.get("any") or check.get("row") or check["order"]
    return (" | " if "row" in check else " … " if "order" in check else " or ").join(parts)


def score_page(row: Mapping[str, Any], text: str) -> PageResult:
    """Score one extracted text against its row of set.jsonl."""
    one = Prepared(text)
    checks = [(check["feature"], passes(check, one), _looked_for(check)) for check in row["must"]]
    # A text that is not there falsifies nothing, and earns nothing for it.
    checks += [(c["feature"], bool(text.strip()) and absent(c, one), _looked_for(c)) for c in row["must_not"]]
    return PageResult(row["id"], tuple(checks), word_f1(text, gold_text(row["id"])))


def rows() -> list[dict[str, Any]]:
    """The pages of the set: id, topic, skeleton, title, features, must, must_not."""
    return [json.loads(line) for line in (HERE / "set.jsonl").read_text("utf-8").splitlines()]


def page_bytes(page_id: str) -> bytes:
    """The HTML of a page, UTF-8."""
    return (HERE / "pages" / f"{page_id}.html").read_bytes()


@cache
def gold_text(page_id: str) -> str:
    """The main text of a page as a careful person types it."""
    return (HERE / "gold" / f"{page_id}.txt").read_text("utf-8")


def score_texts(texts: Mapping[str, str]) -> dict[str, Any]:
    """Score extracted texts by page id; a page without text fails its checks.

    Returns `share` of checks passed, `passed`, `total`, mean `f1`, `features` (name -> [passed, total]) and
    `failures` (page id -> what failed).
    """
    results = [score_page(row, texts.get(row["id"], "")) for row in rows()]
    total: Counter[str] = Counter(feature for one in results for feature, _, _ in one.checks)
    passed: Counter[str] = Counter(feature for one in results for feature, ok, _ in one.checks if ok)
    return {
        "pages": len(results),
        "share": sum(passed.values()) / sum(total.values()),
        "passed": sum(passed.values()),
        "total": sum(total.values()),
        "f1": sum(one.f1 for one in results) / len(results),
        "features": {name: [passed[name], total[name]] for name in sorted(total)},
        "failures": {one.page_id: one.failures for one in results if one.failures},
    }


def score_tool(text_of: TextOf) -> dict[str, Any]:
    """Run any tool over the pages and score it; see `score_texts`."""
    return score_texts({row["id"]: text_of(page_bytes(row["id"])) for row in rows()})


def our_extractor(name: str) -> TextOf:
    """One of builder's named extractors as a callable; a page that it refuses has no text."""
    from builder.extract.extract import Extracted, extract_page

    def text_of(body: bytes) -> str:
        found = extract_page(body, "utf-8", name)
        return found.text if isinstance(found, Extracted) else ""

    return text_of


def _plain_trafilatura(body: bytes) -> str:
    from trafilatura import extract

    return extract(body.decode("utf-8"), include_comments=False) or ""


def _plain_resiliparse(body: bytes) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(body.decode("utf-8"), main_content=True))


def _plain_newspaper3k(body: bytes) -> str:
    from newspaper import Article

    article = Article("", language="en", fetch_images=False)
    article.set_html(body.decode("utf-8"))
    article.parse()
    return str(article.text)


def _plain_bs4(body: bytes) -> str:
    import warnings

    from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)  # some pages are XHTML, served as HTML
        return BeautifulSoup(body, "lxml").get_text(" ")


PEERS: Mapping[str, TextOf] = {
    "trafilatura": _plain_trafilatura,
    "resiliparse": _plain_resiliparse,
    "newspaper3k": _plain_newspaper3k,
    "bs4": _plain_bs4,
}
"""Other tools as they come, for comparison."""


def _folder_texts(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text("utf-8", "replace") for path in sorted(folder.glob("*.txt"))}


def table(scores: Mapping[str, dict[str, Any]]) -> str:
    """A Markdown table: a tool a column, a feature a row."""
    tools = list(scores)
    lines = ["| | " + " | ".join(tools) + " |", "|---" * (len(tools) + 1) + "|"]
    lines.append("| **checks passed** | " + " | ".join(f"**{scores[tool]['share']:.3f}**" for tool in tools) + " |")
    lines.append("| words, F1 | " + " | ".join(f"{scores[tool]['f1']:.3f}" for tool in tools) + " |")
    for name in scores[tools[0]]["features"]:
        cells = (f"{done} of {total}" for done, total in (scores[tool]["features"][name] for tool in tools))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _arguments(argv: Iterable[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Score text extraction on the science extraction set.")
    parser.add_argument("--extractor", action="append", default=[], help="one of builder's extractors; repeatable")
    parser.add_argument("--text-folder", type=Path, help="a folder of <id>.txt that another tool extracted")
    parser.add_argument("--peers", action="store_true", help=f"also run, as they come: {', '.join(PEERS)}")
    parser.add_argument("--failures", action="store_true", help="list the failed checks of each page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all scores to FILE, or - for stdout")
    return parser.parse_args(None if argv is None else list(argv))


def main(argv: Iterable[str] | None = None) -> int:
    """The command line."""
    options = _arguments(argv)
    scores: dict[str, dict[str, Any]] = {}
    if options.text_folder:
        if not options.text_folder.is_dir():
            sys.exit(f"{options.text_folder}: no such folder: give the folder that holds <id>.txt")
        scores[options.text_folder.name] = score_texts(_folder_texts(options.text_folder))
    default = [] if options.text_folder or options.peers else [_default_extractor()]
    for name in options.extractor or default:
        scores[name] = score_tool(our_extractor(name))
    for name, text_of in PEERS.items() if options.peers else ():
        scores[name] = score_tool(text_of)
    _print(scores, options)
    return 0


def _default_extractor() -> str:
    from builder.config import DEFAULT_EXTRACTOR

    return DEFAULT_EXTRACTOR


def _print(scores: Mapping[str, dict[str, Any]], options: argparse.Namespace) -> None:
    written = json.dumps(scores, ensure_ascii=False, indent=1) + "\n"
    if options.json and str(options.json) == "-":
        sys.stdout.write(written)
        return
    if options.json:
        options.json.write_text(written, "utf-8")
    sys.stdout.write(table(scores) + "\n")
    if options.failures:
        for tool, found in scores.items():
            for page_id, failures in found["failures"].items():
                sys.stdout.write("".join(f"{tool}: {page_id}: {failure}\n" for failure in failures))


if __name__ == "__main__":
    sys.exit(main())
