"""Which values count as keys, and that no way of cutting a stream into pieces shows one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.running.withheld_keys import WithheldKeys

KEYS = ["sk-team-0001", "sk-team-0001-extra-secret", "secretsecret", "ababababX"]


def shown(chunks: list[bytes], values: list[str] = KEYS) -> bytes:
    return b"".join(WithheldKeys(values).filtered(chunks))


def test_a_key_that_begins_another_one_leaves_nothing_of_the_longer_one() -> None:
    assert shown([b"sk-team-0001", b"-extra-secret\n"]) == b"(withheld)\n"
    assert shown([b"sk-team-0001", b"-other\n"]) == b"(withheld)-other\n"
    assert shown([b"a sk-team-0001"]) == b"a (withheld)"


@given(st.lists(st.sampled_from([key[i : i + 5] for key in KEYS for i in range(0, len(key), 5)] + KEYS), max_size=9))
def test_a_stream_in_pieces_shows_what_it_shows_as_a_whole(pieces: list[str]) -> None:
    whole = "".join(pieces).encode()
    assert shown([piece.encode() for piece in pieces]) == shown([whole])
    assert shown([whole[i : i + 1] for i in range(len(whole))]) == shown([whole])
    assert not any(key.encode() in shown([whole]) for key in KEYS)


@pytest.mark.parametrize(
    ("value", "is_key"),
    [
        ("aB3/xyz+890abcdefghij0123", True),
        ("team:aB3xyz890abcdefghij0123", True),
        ("https://api.example.org:8443/v1", False),
        ("four words 1 2 3 4 and more", False),
        ("none", False),
    ],
)
def test_a_value_that_looks_like_a_key_is_withheld_under_any_name(value: str, is_key: bool) -> None:
    said = WithheldKeys.passed(["SERVICE"], {"SERVICE": value}).out_of(f"bad: {value}")
    assert said == ("bad: (withheld)" if is_key else f"bad: {value}")
