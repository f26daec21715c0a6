"""A language model as a judge, behind an OpenAI-compatible server. The harness's one door to the network.

The prompt neutralises untrusted text, and the last verdict line of a reply counts.

`POST {base URL}/chat/completions` at temperature 0 with a seed. Any failure (no connection, a refusal, HTML, a cut,
endless or slow reply, a reply without a verdict) leaves the answer unjudged, and never makes it wrong.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

from edu_rag.errors import ConfigError, MissingExtraError
from harness.judging.free_text import Grade
from harness.reading.wrappers import without_thought

if TYPE_CHECKING:
    import requests


VERSION = "judge-v1"
MAX_REPLY_CHARACTERS = 100_000
_CUT = "=====\n"
_MARKS = "<>[]{}|"
_OPENING = re.compile(r"([<\[{|])(?=[^ ])")
_CLOSING = re.compile(r"(?<=[^ ])([>\]}|])")
_VERDICT_MARKS = re.compile(r"verdict[\W_]*[:=]", re.IGNORECASE)
_COLON = re.compile(r"[:=]")
_LINE = re.compile(r"[\s*_#>`\"'-]*verdict[\s*_`\"']*:(?P<value>.*)", re.IGNORECASE | re.ASCII)
_VALUES: dict[str, Literal["correct", "incorrect", "abstained"]] = {
    "correct": "correct",
    "incorrect": "incorrect",
    "not_attempted": "abstained",
    "not attempted": "abstained",
}


class JudgePrompt(NamedTuple):
    """The two turns of one request."""

    system: str
    user: str


class Template(NamedTuple):
    """A prompt's file: its version, the SHA-256 of its bytes, and its two parts."""

    version: str
    sha256: str
    system: str
    user: str


@cache
def template(version: str = VERSION) -> Template:
    """The prompt of a version, from the package's data."""
    data = files("harness").joinpath(f"data/{version}.txt").read_bytes()
    system, _, user = data.decode("utf-8").partition(_CUT)
    return Template(version, hashlib.sha256(data).hexdigest(), system.strip(), user.strip())


def _plain(char: str) -> str:
    """A character without its power over prompts: invisible ones go, look-alikes of marks become those marks."""
    category = unicodedata.category(char)
    if category in ("Cf", "Cs", "Co", "Cn"):
        return ""
    if category == "Cc":
        return " "
    folded = unicodedata.normalize("NFKC", char)
    return folded if any(mark in folded for mark in _MARKS + ":=") else char


def neutral(text: str) -> str:
    """Untrusted text that can close no tag, open no turn and begin no line of ours.

    One line, nothing invisible; `<`, `[`, `{`, `|` are followed and `>`, `]`, `}`, `|` preceded by a space, which
    breaks `</answer_to_grade>`, `<|im_end|>`, `[INST]`, `<<SYS>>` and `{gold}`; every colon behind "verdict" becomes a
    dash.
    """
    line = " ".join("".join(map(_plain, text)).split())
    line = _CLOSING.sub(r" \1", _OPENING.sub(r"\1 ", line))
    return _VERDICT_MARKS.sub(lambda found: _COLON.sub("-", found[0]), line)


def fill(question: str, gold: Sequence[str], answer: str, form: Template) -> JudgePrompt:
    """The request for one answer, without its thoughts. The accepted texts are numbered where there are several."""
    accepted = [neutral(text) for text in gold]
    shown = accepted[0] if len(accepted) == 1 else " ".join(f"({i}) {text}" for i, text in enumerate(accepted, 1))
    values = {"{question}": neutral(question), "{gold}": shown, "{answer}": neutral(without_thought(answer) or answer)}
    return JudgePrompt(form.system, re.sub(r"\{(?:question|gold|answer)\}", lambda found: values[found[0]], form.user))


def read_verdict(reply: str) -> tuple[Literal["correct", "incorrect", "abstained"] | None, str]:
    """The outcome that the last line with `VERDICT:` says, and why not where it says none of the three.

    Only the exact words count: `NOT_ATTEMPTED` is not CORRECT, and `NOT CORRECT` and `CORRECT or INCORRECT` are not
    verdicts. An earlier line never replaces a last line that cannot be read.
    """
    if len(reply) > MAX_REPLY_CHARACTERS:
        return None, f"a reply of over {MAX_REPLY_CHARACTERS:,} characters"
    matches = [match for line in reply.splitlines() if (match := _LINE.fullmatch(line))]
    if not matches:
        return None, "a reply without a verdict line"
    said = matches[-1]["value"].strip(" \t*_`\"'.")
    outcome = _VALUES.get(said.casefold())
    return outcome, "" if outcome else f"an unknown verdict {said[:40]!a}"


NAME = "model"
RETRY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
MAX_REPLY_BYTES = 1_000_000
REFUSED_TEXT = frozenset({400, 413, 422})
"""Statuses by which a server that works refuses one text: it is too long, or a filter of contents stops it."""
MAX_FAILURES = 3
"""After this many failures in a row the server is not asked again in this run. A refused text is no failure."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_READ_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """Which model is asked, and how patiently. `model` pins it; `timeout_s` is for one whole reply."""

    base_url: str
    model: str
    key: str | None = field(default=None, repr=False)
    max_tokens: int = 256
    seed: int = 0
    timeout_s: float = 60.0
    tries: int = 4
    max_wait_s: float = 60.0
    prompt: str = VERSION
    embeddings: str = ""

    def __post_init__(self) -> None:
        if not self.base_url:
            return  # scoring from kept grades alone asks no server
        try:
            parts = urlsplit(self.base_url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            raise ConfigError("EDU_RAG_JUDGE_URL", f"{self.base_url[:100]!r} is not an address") from None
        if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc:
            what = f"{self.base_url[:100]!r} is not a plain http:// or https:// address"
            raise ConfigError("EDU_RAG_JUDGE_URL", what, "give one such as http://127.0.0.1:8000/v1")
        if self.key and parts.scheme != "https" and host not in _LOOPBACK:
            raise ConfigError("EDU_RAG_JUDGE_URL", "a key may travel over https:// only", "use https://")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ, *, max_tokens: int = 256) -> JudgeSettings:
        """The server named by EDU_RAG_JUDGE_URL, _MODEL, _KEY, _TIMEOUT_S, _MAX_TOKENS, _EMBEDDINGS.

        `max_tokens` holds where the environment names none. Raises ConfigError.
        """
        model = environment.get("EDU_RAG_JUDGE_MODEL", "")
        if not model:
            remedy = "set it to the model's name, and EDU_RAG_JUDGE_URL=http://127.0.0.1:8000/v1"
            raise ConfigError("EDU_RAG_JUDGE_MODEL", "is not set", remedy)
        return cls(
            base_url=environment.get("EDU_RAG_JUDGE_URL", ""),
            model=model,
            key=environment.get("EDU_RAG_JUDGE_KEY") or None,
            timeout_s=_whole("TIMEOUT_S", 60, 3_600, environment),
            max_tokens=_whole("MAX_TOKENS", max_tokens, 100_000, environment),
            embeddings=environment.get("EDU_RAG_JUDGE_EMBEDDINGS", ""),
        )


def _whole(name: str, default: int, most: int, environment: Mapping[str, str]) -> int:
    """A whole number from 1 to `most` out of the environment. Raises ConfigError."""
    text = environment.get(f"EDU_RAG_JUDGE_{name}") or str(default)
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise ConfigError(f"EDU_RAG_JUDGE_{name}", f"{text[:40]!r} is not a whole number", f"give 1 to {most:,}")
    return int(text)


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Reply(msgspec.Struct):
    choices: list[_Choice]


class _Vector(msgspec.Struct):
    embedding: list[float]
    index: int


class _Vectors(msgspec.Struct):
    data: list[_Vector]


class JudgeReply(NamedTuple):
    """The text of a model's reply; None where there is none, and then in `fault` what the judge did instead."""

    text: str | None
    fault: str = ""


class _Got(msgspec.Struct):
    """One exchange: the body of a 200, or the fault and whether a retry may help."""

    body: bytes = b""
    fault: str = ""
    again: bool = False
    wait_s: float | None = None
    refused_text: bool = False


def retry_after_s(value: str | None, now_s: float) -> float | None:
    """The seconds that a Retry-After header asks for (RFC 9110, section 10.2.3), from seconds or a date."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now_s)
    except (TypeError, ValueError, OverflowError):
        return None


def read_reply(body: bytes) -> tuple[str | None, str]:
    """The text of a reply's first choice, or None and why there is none. Never raises."""
    if body.lstrip()[:1] == b"<":
        return None, "HTML instead of JSON"
    try:
        reply = msgspec.json.decode(body, type=_Reply)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None, "a reply that is no chat completion"
    if not reply.choices or reply.choices[0].message.content is None:
        return None, "a reply without text"
    reason = reply.choices[0].finish_reason or "stop"
    if reason != "stop":
        return None, f"a reply that was cut short ({reason[:40]!a})"
    return reply.choices[0].message.content, ""


def read_vectors(body: bytes, n: int) -> tuple[list[list[float]] | None, str]:
    """The n vectors of an embeddings reply in the order of the texts, or None and why there are none. Never raises."""
    try:
        found = sorted(msgspec.json.decode(body, type=_Vectors).data, key=lambda vector: vector.index)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None, "gave a reply that holds no embeddings"
    vectors = [vector.embedding for vector in found]
    sizes = {len(vector) for vector in vectors}
    if [vector.index for vector in found] != list(range(n)) or len(sizes) != 1 or 0 in sizes:
        return None, f"gave embeddings that are not {n} vectors of one length"
    return vectors, ""


class ModelJudge:
    """A judge that asks a model. `sleep` and `clock` (seconds, monotonic) are arguments for tests."""

    def __init__(
        self,
        settings: JudgeSettings,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        try:
            import requests
        except ImportError:
            raise MissingExtraError(
                "judge", "requests is not installed", "pip install 'edu-rag-bench[judge]'"
            ) from None
        self.settings, self._form = settings, template(settings.prompt)
        self._sleep, self._clock, self._now = sleep, clock, now
        self._session, self._transport_error = requests.Session(), requests.RequestException
        self._turn = threading.Lock()
        self._n_failures = self._n_incidents = 0
        self._given_up = ""

    @property
    def given_up(self) -> str:
        """Why the server is not asked again in this run; empty while it is asked."""
        return self._given_up

    def facts(self) -> Mapping[str, Any]:
        """The model and the prompt, pinned; not where the server is."""
        s = self.settings
        return {
            "judge": NAME,
            "name": f"{s.model} ({self._form.version}#{self._form.sha256[:8]})",
            "model": s.model,
            "prompt": self._form.version,
            "prompt_sha256": self._form.sha256,
            "temperature": 0,
            "seed": s.seed,
            "max_tokens": s.max_tokens,
        }

    def grade(self, question: str, gold: Sequence[str], answer: str) -> Grade:
        """Ask the model for its verdict on one answer. Raises ConfigError if no server is named."""
        reply = self.reply(fill(question, gold, answer, self._form))
        if reply.text is None:
            return Grade("unjudged", f"the judge {reply.fault}", NAME)
        outcome, why = read_verdict(reply.text)
        if outcome is None:
            return Grade("unjudged", f"the judge gave {why}", NAME)
        return Grade(outcome, f"model {self.settings.model}: {outcome}", NAME)

    def reply(self, prompt: JudgePrompt) -> JudgeReply:
        """The model's text to a prompt, or why there is none. Raises ConfigError if no server is named."""
        s = self.settings
        turns = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        asked = {"model": s.model, "messages": turns, "temperature": 0, "seed": s.seed, "max_tokens": s.max_tokens}
        got = self._ask("chat/completions", asked)
        if got.fault:
            return JudgeReply(None, got.fault)
        text, why = read_reply(got.body)
        return JudgeReply(text, f"gave {why}" if text is None else "")

    def vectors(self, texts: Sequence[str]) -> tuple[list[list[float]] | None, str]:
        """The embeddings of texts by the server's `/embeddings`, or None and why there are none. Raises ConfigError."""
        got = self._ask("embeddings", {"model": self.settings.embeddings, "input": list(texts)})
        return (None, got.fault) if got.fault else read_vectors(got.body, len(texts))

    def _ask(self, path: str, asked: Mapping[str, Any]) -> _Got:
        """One request with its tries, unless the server was given up. A fault is what follows "the judge"."""
        s = self.settings
        if not s.base_url:
            raise ConfigError("EDU_RAG_JUDGE_URL", "is not set", "set it, e.g. to http://127.0.0.1:8000/v1")
        if self.given_up:
            return _Got(fault=self.given_up)
        begun = self._n_incidents
        body, got = msgspec.json.encode(asked), _Got(fault="was not asked")
        for attempt in range(s.tries):
            if attempt:
                self._sleep(min(s.max_wait_s, got.wait_s if got.wait_s is not None else 2.0**attempt))
            got = self._post(path, body)
            if not got.again:
                break
        return self._counted(got, begun)

    def _counted(self, got: _Got, begun: int) -> _Got:
        """Count failures in a row. Requests that were in flight at a failure are part of it: they count no further one,
        and do not end the row.
        """
        with self._turn:
            is_new = begun == self._n_incidents
            if not got.fault:
                self._n_failures = 0 if is_new else self._n_failures
                return got
            if is_new and not got.refused_text:
                self._n_failures, self._n_incidents = self._n_failures + 1, self._n_incidents + 1
                if self._n_failures == MAX_FAILURES:
                    self._given_up = f"was given up after {MAX_FAILURES} failures: {got.fault}"
        return _Got(fault=f"gave no reply: {got.fault}")

    def _post(self, path: str, body: bytes) -> _Got:
        s = self.settings
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        deadline = self._clock() + s.timeout_s
        try:
            with self._session.post(
                f"{s.base_url.rstrip('/')}/{path}",
                data=body,
                headers=headers,
                auth=self._sign,
                timeout=s.timeout_s,
                allow_redirects=False,
                stream=True,
            ) as response:
                return self._read(response, deadline)
        except self._transport_error as error:
            return _Got(fault=type(error).__name__, again=True)

    def _sign(self, request: Any) -> Any:
        # Given as `auth`, so that no .netrc entry of this machine goes out in its stead.
        if self.settings.key:
            request.headers["Authorization"] = f"Bearer {self.settings.key}"
        return request

    def _read(self, response: requests.Response, deadline: float) -> _Got:
        if response.status_code != 200:
            wait = retry_after_s(response.headers.get("Retry-After"), self._now())
            status = response.status_code
            again, refused = status in RETRY_STATUSES, status in REFUSED_TEXT
            return _Got(fault=f"HTTP status {status}", again=again, wait_s=wait, refused_text=refused)
        parts: list[bytes] = []
        n_bytes = 0
        for part in self._parts(response):
            n_bytes += len(part)
            parts.append(part)
            if n_bytes > MAX_REPLY_BYTES:
                return _Got(fault=f"a reply of over {MAX_REPLY_BYTES:,} bytes")
            if self._clock() > deadline:
                return _Got(fault=f"a reply that took over {self.settings.timeout_s:g} s", again=True)
        return _Got(body=b"".join(parts))

    def _parts(self, response: requests.Response) -> Iterator[bytes]:
        """The reply as it comes in, so that one that drips or never ends can be left."""
        import urllib3

        try:
            while part := response.raw.read1(_READ_BYTES):
                yield part
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._transport_error(str(error)) from None
