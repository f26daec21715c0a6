"""A language model behind an OpenAI-compatible server: vLLM, llama.cpp, Ollama, a hosted one. The door to the network.

Letters come from `/chat/completions` or `/completions`. For likelihoods the server must tell log-probabilities of given
text, which no common interface covers: servers that echo the prompt with `logprobs` (vLLM) are asked that way, and
llama.cpp's own `/completion` token by token (see `_llama_logprobs`). Any other server gets a clear error.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

from baselines.prompts.generate import Generated, Likelihoods, NextToken
from baselines.prompts.prompt import FilledPrompt
from edu_rag.errors import ConfigError, MissingExtraError, SubmissionError
from edu_rag.network.network_causes import known_cause

Api = Literal["chat", "completions"]
RETRY_STATUSES = (408, 409, 425, 429, 500, 502, 503, 504)
MAX_WAIT_S = 30.0
MAX_REPLY_BYTES = 20_000_000
_PIECE_BYTES = 65_536
_FORCE = 1_000.0
"""A bias no other token can catch up with."""


class ServerModel:
    """A model of a server. `base_url` ends in `/v1` as a rule; `sleep` is an argument for tests."""

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str | None = None,
        *,
        api: Api = "chat",
        timeout_s: float = 60.0,
        tries: int = 4,
        n_top: int = 20,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            import requests
        except ImportError:
            raise MissingExtraError(
                "server model", "requests is not installed", "pip install 'edu-rag-bench[models]'"
            ) from None
        self.base_url = base_url.rstrip("/")
        self.model, self.api, self.timeout_s, self.tries, self._sleep = model, api, timeout_s, tries, sleep
        self.n_top = n_top
        self._session = requests.Session()
        if key:
            self._session.headers["Authorization"] = f"Bearer {key}"
        self._transport_error: type[Exception] = requests.RequestException
        self._ask_logprobs: Callable[[str, Sequence[str]], Likelihoods] | None = None

    @classmethod
    def from_environment(cls) -> ServerModel:
        """The server named by EDU_RAG_LLM_URL, _MODEL, _KEY, _API (chat or completions), _TIMEOUT_S."""
        said = {name: os.environ.get(f"EDU_RAG_LLM_{name}", "") for name in ("URL", "MODEL", "KEY", "API", "TIMEOUT_S")}
        for name in ("URL", "MODEL"):
            if not said[name]:
                raise ConfigError(f"EDU_RAG_LLM_{name}", "is not set", "set it, e.g. URL=http://127.0.0.1:8000/v1")
        api = said["API"] or "chat"
        if api not in get_args(Api):
            raise ConfigError("EDU_RAG_LLM_API", f"{api!r} is unknown", "choose chat or completions")
        try:
            timeout_s = float(said["TIMEOUT_S"] or 60)
        except ValueError:
            timeout_s = 0.0
        if not 0 < timeout_s < math.inf:
            raise ConfigError("EDU_RAG_LLM_TIMEOUT_S", f"{said['TIMEOUT_S']!r} is not a number above 0", "give seconds")
        return cls(
            said["URL"],
            said["MODEL"],
            said["KEY"] or None,
            api="chat" if api == "chat" else "completions",
            timeout_s=timeout_s,
        )

    def _post(self, url: str, body: Mapping[str, Any]) -> Any:
        """POST with retries on refusals that pass. Raises SubmissionError with the server's message."""
        said = ""
        for attempt in range(self.tries):
            if attempt:
                self._sleep(min(MAX_WAIT_S, 2.0**attempt))
            try:
                status, data = self._reply(url, body)
            except (self._transport_error, ValueError) as error:  # ValueError: an invalid address or time-out
                said = known_cause(error, url) or f"{type(error).__name__}: {error}"[:300]
                continue
            try:
                if status == 200 and data is not None:
                    return json.loads(data)
                said = f"HTTP {status}: {_beginning(data)}"
                if status not in RETRY_STATUSES:
                    break
            except (ValueError, RecursionError):  # a proxy's page, say
                said = f"not JSON: {_beginning(data)}"
        raise SubmissionError(url, f"the server gave no answer ({said})", "check EDU_RAG_LLM_URL, _MODEL and _KEY")

    def _reply(self, url: str, body: Mapping[str, Any]) -> tuple[int, bytes | None]:
        """Status and bytes of a reply, read piece by piece; None if there are more than MAX_REPLY_BYTES."""
        with self._session.post(url, json=body, timeout=self.timeout_s, allow_redirects=False, stream=True) as reply:
            parts, n_bytes = [], 0
            for part in reply.iter_content(_PIECE_BYTES):
                n_bytes += len(part)
                if n_bytes > MAX_REPLY_BYTES:
                    return reply.status_code, None
                parts.append(part)
            return reply.status_code, b"".join(parts)

    def _ask(self, prompt: FilledPrompt, max_new_tokens: int, **more: Any) -> Any:
        body: dict[str, Any] = {"model": self.model, "max_tokens": max_new_tokens, "temperature": 0}
        if self.api == "completions":
            return self._post(f"{self.base_url}/completions", body | {"prompt": prompt.plain} | more)
        turns = [{"role": "system", "content": prompt.system}] if prompt.system else []
        body["messages"] = [*turns, {"role": "user", "content": prompt.user}]
        return self._post(f"{self.base_url}/chat/completions", body | more)

    def generate(self, prompt: FilledPrompt, max_new_tokens: int) -> Generated:
        """Generate greedily (temperature 0). Token counts are the server's own."""
        reply = self._ask(prompt, max_new_tokens)
        try:
            choice = reply["choices"][0]
            text = choice["message"]["content"] if self.api == "chat" else choice["text"]
        except (KeyError, IndexError, TypeError):
            raise _odd(self.base_url, reply) from None
        if not isinstance(text, str | None):
            raise _odd(self.base_url, reply)
        return Generated(text or "", _n_tokens(reply, "prompt_tokens"), _n_tokens(reply, "completion_tokens"))

    def next_token_logprobs(self, prompt: FilledPrompt, texts: Sequence[str]) -> NextToken:
        """How likely the answer starts with each text, from the `n_top` likeliest tokens that the server returns.

        A text that is not among them gets the lowest log-probability returned, which is an upper bound.
        """
        chat = self.api == "chat"
        reply = self._ask(
            prompt, 1, **({"logprobs": True, "top_logprobs": self.n_top} if chat else {"logprobs": self.n_top})
        )
        likeliest = _first_token(reply)
        if not likeliest:
            raise SubmissionError(
                self.base_url,
                "does not return the log-probabilities of the next token (`top_logprobs`)",
                "use answer style `letter`, or a server such as vLLM, llama.cpp or OpenAI",
            )
        least = min(value for _, value in likeliest)
        found = [_log_sum([value for token, value in likeliest if _says(token, text)], least) for text in texts]
        return NextToken(found, _n_tokens(reply, "prompt_tokens"))

    def likelihoods(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        """How likely each continuation is after the prefix, by the first way that the server can do."""
        if self._ask_logprobs is None:
            self._ask_logprobs = self._way_of_server()
        return self._ask_logprobs(prefix, continuations)

    def _way_of_server(self) -> Callable[[str, Sequence[str]], Likelihoods]:
        reply = self._post(f"{self.base_url}/completions", self._echo_body("One two"))
        if _echoed(reply, 0):
            return self._echo_logprobs
        try:
            self._tokens("One two", special=True)
        except SubmissionError:
            raise SubmissionError(
                self.base_url,
                "does not tell log-probabilities of given text (no `echo`, no llama.cpp `/completion`)",
                "use answer style `letter`, or a server such as vLLM or llama.cpp",
            ) from None
        return self._llama_logprobs

    def _echo_body(self, text: str) -> dict[str, Any]:
        # One token more than wanted: some servers refuse max_tokens = 0.
        return {
            "model": self.model,
            "prompt": text,
            "max_tokens": 1,
            "temperature": 0,
            "echo": True,
            "logprobs": 1,
        }

    def _echo_logprobs(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        """For vLLM: the server reads prefix + continuation and returns each token's log-probability and position."""
        logprobs, n_input = [], 0
        for text in continuations:
            reply = self._post(f"{self.base_url}/completions", self._echo_body(prefix + text))
            places = _echoed(reply, len(prefix))
            inside = [value for place, value in places if len(prefix) <= place < len(prefix) + len(text)]
            if not inside:
                raise _odd(self.base_url, reply)
            logprobs.append(inside)
            n_input += _n_tokens(reply, "prompt_tokens")
        return Likelihoods(logprobs, n_input)

    @property
    def _root(self) -> str:
        return self.base_url.removesuffix("/v1")

    def _tokens(self, text: str, *, special: bool) -> list[int]:
        body = {"content": text, "add_special": special, "parse_special": False}
        reply = self._post(f"{self._root}/tokenize", body)
        try:
            return [int(token) for token in reply["tokens"]]
        except (KeyError, TypeError, ValueError):
            raise _odd(self._root, reply) from None

    def _llama_logprobs(self, prefix: str, continuations: Sequence[str]) -> Likelihoods:
        """llama.cpp's way: force one token after the other by its bias, and read its log-probability.

        `/completion` returns the log-probability before biases and samplers (`post_sampling_probs` false), and keeps
        the prefix in its cache, so that each request reads one token.
        """
        start = self._tokens(prefix, special=True)
        rows = [self._tokens(text, special=False) for text in continuations]
        logprobs = []
        for row in rows:
            read = list(start)
            values = []
            for token in row:
                values.append(self._forced(read, token))
                read.append(token)
            logprobs.append(values)
        return Likelihoods(logprobs, len(start) + sum(len(row) for row in rows))

    def _forced(self, read: list[int], token: int) -> float:
        body = {
            "prompt": read,
            "n_predict": 1,
            "n_probs": 1,
            "temperature": 0,
            "cache_prompt": True,
            "post_sampling_probs": False,
            "samplers": ["temperature"],
            "logit_bias": [[token, _FORCE]],
        }
        reply = self._post(f"{self._root}/completion", body)
        try:
            first = reply["completion_probabilities"][0]
            if first["id"] == token and math.isfinite(first["logprob"]):
                return float(first["logprob"])
        except (KeyError, IndexError, TypeError, ValueError):
            pass
        raise _odd(self._root, reply)


def _beginning(data: bytes | None) -> str:
    return f"over {MAX_REPLY_BYTES:,} bytes" if data is None else data[:200].decode("utf-8", "replace")


def _n_tokens(reply: Any, name: str) -> int:
    """A count that the server returns; 0 if it returns none, because no answer depends on it."""
    usage = reply.get("usage")
    n = usage.get(name) if isinstance(usage, dict) else None
    return n if isinstance(n, int) and n >= 0 else 0


def _first_token(reply: Any) -> list[tuple[str, float]]:
    """The likeliest first tokens of a reply, as chat (a list of records) or completions (one table) tell them."""
    try:
        logprobs = reply["choices"][0]["logprobs"]
        if "content" in logprobs:
            pairs = [(one["token"], float(one["logprob"])) for one in logprobs["content"][0]["top_logprobs"]]
        else:
            pairs = [(token, float(value)) for token, value in logprobs["top_logprobs"][0].items()]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return []
    return [(token, value) for token, value in pairs if isinstance(token, str) and math.isfinite(value)]


def _says(token: str, text: str) -> bool:
    return token.strip().casefold() == text.strip().casefold()


def _log_sum(values: Sequence[float], least: float) -> float:
    """The logarithm of the sum of what these logarithms stand for; `least` for none."""
    if not values:
        return least
    best = max(values)
    return best + math.log(math.fsum(math.exp(value - best) for value in values))


def _echoed(reply: Any, at_least: int) -> list[tuple[int, float]]:
    """Places (in characters of the text) and log-probabilities of an echoed prompt; empty when it was not echoed."""
    try:
        logprobs = reply["choices"][0]["logprobs"]
        pairs = zip(logprobs["text_offset"], logprobs["token_logprobs"], strict=True)
        places = [(int(place), float(value)) for place, value in pairs if value is not None]
    except (KeyError, IndexError, TypeError, ValueError):
        return []
    is_complete = len(places) > 1 and places[-1][0] >= at_least and all(math.isfinite(value) for _, value in places)
    return places if is_complete else []


def _odd(where: str, reply: object) -> SubmissionError:
    return SubmissionError(where, f"answered in a form we do not know: {str(reply)[:200]}", "check what server it is")
