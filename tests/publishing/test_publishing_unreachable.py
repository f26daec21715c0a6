"""A Hub that cannot be reached: the error names the host and the likely cause."""

from __future__ import annotations

import importlib
import socket
from typing import Any

import pytest

from edu_rag.errors import EngineError
from publishing.hub import errors_of_hub, hub_errors_as_ours

httpx: Any = importlib.import_module(errors_of_hub()[1].__module__.partition(".")[0])
"""The HTTP library that the Hub's is built on; its name differs between versions."""


def told(error: Exception) -> str:
    with pytest.raises(EngineError) as caught, hub_errors_as_ours("my-org/results"):
        raise error
    return str(caught.value)


def raised_from(cause: Exception, request: Any) -> Exception:
    error: Exception = httpx.ConnectError(str(cause), request=request)
    error.__cause__ = cause
    return error


def test_a_hub_whose_name_does_not_resolve_asks_whether_this_machine_is_online() -> None:
    request = httpx.Request("HEAD", "https://hub.example/datasets/x?token=secret")
    said = told(raised_from(socket.gaierror(-2, "Name or service not known"), request))
    assert said == (
        "hub my-org/results: cannot be reached: hub.example: its name does not resolve: is this machine online?: "
        "run the same command again later"
    )


def test_an_error_without_a_request_names_the_hub_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    said = told(raised_from(ConnectionRefusedError(111, "refused"), None))
    assert "127.0.0.1:9: refuses connections: does the service run there?" in said
    assert "127.0.0.1:9: no answer: ReadTimeout" in told(httpx.ReadTimeout("slow"))
