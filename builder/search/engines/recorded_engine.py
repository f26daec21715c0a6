"""The `recorded` engine: another engine's earlier answers, from a crawl store's raw responses or from a JSONL file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any, Protocol

import msgspec

from builder.search import ReadPages, reader_of
from builder.search.settings import RecordedConfig
from builder.search_results import ANSWERED, SearchResult
from builder.sites.site_folders import HostMap
from edu_rag.errors import ConfigError, DataError
from edu_rag.files.jsonl import read_values

NAME = "recorded"
_UNKNOWN = SearchResult(state="failed", reason="the recording holds no answer to this query")


class Recording(Protocol):
    """Answers by query."""

    def answer(self, query: str, n: int) -> SearchResult:
        """The recorded answer to a query; `failed` if there is none."""
        ...

    def source(self) -> Mapping[str, Any]:
        """The identity of the recording, for the manifest."""
        ...


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    query: str
    urls: list[str]


class FileRecording:
    """A JSONL file of {"query": …, "urls": […]}; an empty list says that there were no results."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise ConfigError(path, "no such recording", "name one under [search.recorded] file")
        self._sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        self._urls: dict[str, tuple[str, ...]] = {}
        for line, value in read_values(path):
            try:
                read = msgspec.convert(value, _Line)
            except msgspec.ValidationError as error:
                remedy = 'a line is {"query": …, "urls": […]}'
                raise DataError(f"{path}:{line}", str(error)[:200], remedy) from None
            query = " ".join(read.query.split())
            if query in self._urls:
                raise DataError(f"{path}:{line}", f"the query {query[:100]!r} occurs twice", "keep one of them")
            self._urls[query] = tuple(dict.fromkeys(read.urls))

    def answer(self, query: str, n: int) -> SearchResult:
        """The URLs of the query's line."""
        urls = self._urls.get(query)
        if urls is None:
            return _UNKNOWN
        if not urls:
            return SearchResult(state="none", reason="recorded so")
        return SearchResult(state="hits", urls=urls[:n])

    def source(self) -> Mapping[str, Any]:
        """The file's hash."""
        return {"sha256": self._sha256}


class StoreRecording:
    """An engine's raw responses in a crawl store, read again by that engine's own reader.

    A refusal in the store is not one of today's: it is `failed`, so that a chain goes on to its next engine.
    """

    def __init__(self, folder: Path, engine: str, read: ReadPages, top: int) -> None:
        self._folder, self._engine, self._read = folder, engine, read
        self._questions: dict[str, tuple[bool, str]] = {}
        digest = hashlib.sha256()
        for question_id, query, result in self._results(top):
            is_answer, known = result.state in ANSWERED, self._questions.get(query)
            if known is None or (is_answer and not known[0]):
                self._questions[query] = (is_answer, question_id)
            digest.update(msgspec.json.encode([query, result.state, result.urls]) + b"\n")
        if not self._questions:
            raise ConfigError(
                folder, f"holds no answer of the engine {engine}", "name the engine that it was built with"
            )
        self._sha256 = digest.hexdigest()

    def _results(self, n: int) -> Iterator[tuple[str, str, SearchResult]]:
        from builder.store.reader import StoreReader

        with closing(StoreReader(self._folder)) as store:
            for search in store.iter_searches(self._engine):
                raw = store.raw_responses(search.question_id, self._engine)
                if raw:  # of questions with the same words only one was asked
                    yield search.question_id, search.query, self._read(raw, n)

    def answer(self, query: str, n: int) -> SearchResult:
        """The stored responses to the query, read again; they come with the result, as if they had been got now."""
        from builder.store.reader import StoreReader

        if query not in self._questions:
            return _UNKNOWN
        with closing(StoreReader(self._folder, trusting=True)) as store:
            question_id = self._questions[query][1]
            search = store.search(question_id, self._engine)
            raw = tuple(store.raw_responses(question_id, self._engine))
        if search is None:
            return _UNKNOWN
        if search.state not in ANSWERED:
            # A reader alone would take the first page of a search that broke off for all of it.
            return SearchResult(state="failed", reason=f"recorded: {search.state}: {search.reason}", raw=raw)
        result = self._read(raw, n)
        state = result.state if result.state in ANSWERED else "failed"
        return SearchResult(
            state=state, urls=result.urls, reason=result.reason, raw=raw, searched_at=search.searched_at
        )

    def source(self) -> Mapping[str, Any]:
        """The engine, and a hash over its queries and answers as they are read today."""
        return {"recorded": self._engine, "sha256": self._sha256}


class RecordedEngine:
    """A SearchEngine over a recording. The pages that it lists are fetched from the web of today."""

    name = NAME

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    @classmethod
    def open(cls, config: RecordedConfig, top: int) -> RecordedEngine:
        """Open the recording that the settings name. Raises ConfigError if it does not exist or cannot be read."""
        if config.file is not None:
            return cls(FileRecording(Path(config.file)))
        if config.store is None or config.engine is None:
            raise ConfigError("engine recorded", "has no recording", "give [search.recorded] store and engine, or file")
        read = reader_of(config.engine)
        if read is None:
            what = f"the engine {config.engine[:60]!r} stores no result pages"
            raise ConfigError("[search.recorded] engine", what, "name one that asks the web")
        return cls(StoreRecording(Path(config.store), config.engine, read, top))

    def search(self, query: str, n: int) -> SearchResult:
        """The recorded answer to the query."""
        return self._recording.answer(" ".join(query.split()), n)

    def serving(self) -> AbstractContextManager[HostMap]:
        """Its results are on the real web: nothing is served here."""
        return nullcontext({})

    def source(self) -> Mapping[str, Any]:
        """The identity of the recording."""
        return self._recording.source()
