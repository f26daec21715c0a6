"""The language models that write questions and read evidence: a server, or a local file by llama.cpp."""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from baselines.prompts.generate import LanguageModel
    from builder.generating.chat_prompts import ChatRequest
    from builder.generating.reply_file import ChatModel, ChatReply

SERVER = "server"
_LOADING = threading.Lock()

model_option = click.option(
    "--model",
    default=SERVER,
    show_default=True,
    metavar="NAME",
    help="`server` (EDU_RAG_LLM_URL, EDU_RAG_LLM_MODEL, EDU_RAG_LLM_KEY), or a GGUF file or known model, run by "
    "llama.cpp.",
)
price_option = click.option(
    "--price",
    nargs=2,
    type=click.FloatRange(0),
    metavar="IN OUT",
    help="US dollars for a million tokens in and out.",
)


def _server() -> tuple[dict[str, object], LanguageModel]:
    from baselines.llm import ServerModel

    model = ServerModel.from_environment()
    return {"back_end": SERVER, "model": model.model, "api": model.api, "temperature": 0}, model


@cache
def _local(name: str) -> LanguageModel:
    from baselines.assemble import open_model
    from baselines.recipe import ModelChoice

    return open_model(ModelChoice(name=name, back_end="llama.cpp"))


def _local_facts(name: str) -> dict[str, object]:
    from baselines.models import locate
    from edu_rag.errors import SubmissionError
    from edu_rag.files.manifest import file_sha256

    path = locate(name)
    if not isinstance(path, Path):
        raise SubmissionError(f"model {name}", "is not a GGUF file", "llama.cpp reads GGUF files only")
    return {"back_end": "llama.cpp", "model": path.name, "sha256": file_sha256(path), "temperature": 0}


def opened(name: str) -> ChatModel:
    """The model of `--model`: the server that the environment names, or a local file by llama.cpp.

    A local one is loaded when it is first asked: not for a dry run, nor where all replies are kept.
    """
    from baselines.prompts.prompt import FilledPrompt
    from builder.generating.reply_file import ChatModel, ChatReply

    facts, server = _server() if name == SERVER else (_local_facts(name), None)

    def ask(request: ChatRequest) -> ChatReply:
        with _LOADING:
            model = _local(name) if server is None else server
        prompt = FilledPrompt(system=request.system, user=request.user, made_from=request.made_from)
        return ChatReply(*model.generate(prompt, request.max_tokens))

    return ChatModel(facts, ask)
