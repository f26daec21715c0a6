"""`edu-rag try`: a page on which visitors ask systems questions."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from edu_rag.cli.asking.asking_options import asking_options
from harness.commands.options import PATH, open_dataset, split_option
from harness.commands.run_command import stopping_like_ctrl_c

_QUIET = {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_OFFLINE": "1"}
"""Gradio counts its users and asks for its newest version otherwise."""
STYLE = Path(__file__).with_name("try.css")


def host_warnings(host: str) -> list[str]:
    """A warning for a host that others than this machine reach."""
    if host in ("127.0.0.1", "localhost", "::1"):
        return []
    return [f"warning: {host} is open to the network: anyone who reaches this port can ask and write annotations"]


def _require_gradio() -> None:
    """Raise MissingExtraError where Gradio is not installed."""
    import importlib.util

    from edu_rag.errors import MissingExtraError

    if importlib.util.find_spec("gradio") is None:
        raise MissingExtraError("edu-rag try", "gradio is not installed", "pip install 'edu-rag-bench[try]'")


@click.command()
@click.argument("systems", nargs=-1, required=True, type=PATH, metavar="SYSTEM...")
@asking_options
@split_option
@click.option(
    "--annotations",
    type=PATH,
    default="annotations.jsonl",
    show_default=True,
    metavar="FILE",
    help="File to which visitors' judgements are appended.",
)
@click.option("--port", type=click.IntRange(1, 65535), help="Port to use; by default the first free one from 7860.")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen at; 0.0.0.0 opens the page to the network.",
)
def try_(
    systems: tuple[Path, ...],
    dataset_folder: Path,
    split: str | None,
    annotations: Path,
    port: int | None,
    host: str,
    **options: Any,
) -> None:
    """Open a page on which up to three systems answer a question side by side, until Ctrl-C.

    Visitors pick a question of the dataset or type one, choose what goes in (all pages, the first few, evidence only,
    no pages, or live pages of --engine), and see the pages with what was read and the evidence marked, the answers,
    confidence, time, tokens and verdicts. They can judge each answer; the judgements are kept in a JSONL file. The
    systems run in the sandbox, each in one process that waits for the next question.

    Anyone who can open the page can ask questions; it listens on loopback unless --host is given.

    \b
    Example:
      edu-rag try --dataset demo/dataset demo/submissions/bm25-overlap demo/submissions/blind-longest
      edu-rag try --dataset demo/dataset demo/submissions/bm25-overlap --engine wikipedia --port 8080
    """
    _require_gradio()
    os.environ.update(_QUIET)  # before gradio is imported
    from edu_rag.cli.asking.opened_systems import live_engine, opened_systems
    from edu_rag.cli.asking.page_search import PageSearch
    from edu_rag.cli.asking.question_desk import QuestionDesk
    from edu_rag.cli.asking.try_page import TryPage
    from edu_rag.cli.asking.try_server import guarded_app, listening_socket, serve
    from edu_rag.progress import say
    from harness.asking.annotations import AnnotationFile
    from harness.asking.known_questions import KnownQuestions

    engine, known = live_engine(options), KnownQuestions(open_dataset(dataset_folder), split)
    with (
        suppress(KeyboardInterrupt),
        listening_socket(host, port) as listening,
        stopping_like_ctrl_c(),
        opened_systems(systems, known.dataset, options) as opened,
    ):
        for system in opened:
            system.warm_up()
        desk = QuestionDesk(
            known=known,
            systems={system.submission.slug: system for system in opened},
            search=PageSearch(known.dataset, known.splits),
            engine=engine,
            annotations=AnnotationFile(annotations),
        )
        style = STYLE.read_text(encoding="utf-8")
        app = guarded_app(TryPage(desk).blocks, style, is_loopback=not host_warnings(host))
        for warning in host_warnings(host):
            say(warning)
        click.echo(f"http://{host}:{listening.getsockname()[1]}/")
        say("press Ctrl-C to stop")
        serve(app, listening)
