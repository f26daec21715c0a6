"""bench/plain_english.py finds marker words where people read them, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = """# Fetch pages

The store lies beside the dataset. It holds every response.

- Run `anew` again.

```sh
echo "a dear command"
```
<!-- fetch: begin -->
It was told.
<!-- fetch: end -->
"""
CODE = '''"""The crawl store keeps every response."""

import click


@click.command()
@click.option("--sample", help="Of the sample.")
def build(sample: str) -> None:
    """Whatever was fetched is kept."""
    print("who mends it")
'''


def printed(*arguments: object) -> list[str]:
    command = [sys.executable, str(ROOT / "bench" / "plain_english.py"), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def test_it_lists_the_sentences_of_prose_and_leaves_out_code(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    (tmp_path / "commands.py").write_text(CODE, encoding="utf-8")
    lines = printed(tmp_path)
    assert [line.split("/")[-1] for line in lines[: lines.index("")]] == [
        "commands.py:9: whatever: Whatever was fetched is kept.",
        "commands.py:7: no verb: Of the sample.",
        "page.md:3: stands: The store lies beside the dataset.",
        "page.md:3: beside: The store lies beside the dataset.",
    ]
    assert "| docs | 15 | 2 | 1333.3 | 0 | 0.0 | stands 1, beside 1 |" in lines


def test_an_area_and_the_counts_can_be_asked_for_alone(tmp_path: Path) -> None:
    (tmp_path / "commands.py").write_text(CODE, encoding="utf-8")
    lines = printed(tmp_path, "--area", "help", "--counts")
    assert lines[-1] == "| help | 8 | 1 | 1250.0 | 1 | 1250.0 | whatever 1, no verb 1 |"
    assert len(lines) == 4
