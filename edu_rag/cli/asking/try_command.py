"""`edu-rag try`: a page on which visitors ask systems questions."""

from __future__ import annotations

import ipaddress
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from edu_rag.cli.asking.asking_options import asking_options
from harness.commands.options import PATH, open_dataset, split_option
from harness.commands.run_command import stopping_like_ctrl_c

if TYPE_CHECKING:
    from socket import socket

    from edu_rag.cli.asking.page_search import LiveEngine
    from edu_rag.cli.asking.question_desk import QuestionDesk
    from harness.asking.annotations import AnnotationFile
    from harness.asking.known_questions import KnownQuestions
    from harness.running.warm_system import WarmSystem

_QUIET = {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_OFFLINE": "1"}
"""Gradio counts its users and asks for its newest version otherwise."""
STYLE = Path(__file__).with_name("try.css")


def _is_loopback(host: str) -> bool:
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # another name
        return False


def host_warnings(host: str) -> list[str]:
    """A warning for a host that others than this machine reach."""
    if _is_loopback(host):
        return []
    return [f"warning: {host} is open to the network: anyone who reaches this port can ask and write annotations"]


def host_in_url(host: str) -> str:
    """A host as addresses and the header Host name it: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


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
    from edu_rag.cli.asking.try_server import listening_socket
    from harness.asking.annotations import AnnotationFile
    from harness.asking.known_questions import KnownQuestions

    engine, known = live_engine(options), KnownQuestions(open_dataset(dataset_folder), split)
    with (
        suppress(KeyboardInterrupt),
        listening_socket(host, port) as listening,
        stopping_like_ctrl_c(),
        opened_systems(systems, known.dataset, options) as opened,
    ):
        _serve_page(_warm_desk(known, opened, engine, AnnotationFile(annotations)), host, listening)


def _warm_desk(
    known: KnownQuestions, systems: Sequence[WarmSystem], engine: LiveEngine | None, annotations: AnnotationFile
) -> QuestionDesk:
    """What the page works with, made ready before the first visitor comes."""
    from edu_rag.cli.asking.page_search import PageSearch
    from edu_rag.cli.asking.question_desk import QuestionDesk

    for system in systems:
        system.warm_up()
    known.read_all()
    search = PageSearch(known.dataset, known.splits)
    threading.Thread(target=search.warm_up, daemon=True).start()
    by_slug = {system.submission.slug: system for system in systems}
    return QuestionDesk(known=known, systems=by_slug, search=search, engine=engine, annotations=annotations)


def _serve_page(desk: QuestionDesk, host: str, listening: socket) -> None:
    """Print the address, and answer visitors until a signal."""
    from edu_rag.cli.asking.try_page import TryPage
    from edu_rag.cli.asking.try_server import guarded_app, serve
    from edu_rag.progress import say

    warnings = host_warnings(host)
    app = guarded_app(
        TryPage(desk).blocks, STYLE.read_text(encoding="utf-8"), only_host="" if warnings else host_in_url(host)
    )
    for warning in warnings:
        say(warning)
    click.echo(f"http://{host_in_url(host)}:{listening.getsockname()[1]}/")
    say("press Ctrl-C to stop")
    serve(app, listening)
