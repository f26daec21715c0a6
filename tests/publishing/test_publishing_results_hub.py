"""Results on a loopback Hub: one commit or none, whole whatever breaks on the way, and no token in what is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fake_hub import Hub, serving_hub
from publishing_results import card, facts, full, put

from edu_rag.errors import ConfigError, DataError, EduRagError, EngineError
from publishing.commands import publish
from publishing.hub import KEPT
from publishing.push_results import push_results
from publishing.results_tables import PublishRequest, WrittenResults, write_results

REPO = "school/edu-rag-results"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    from huggingface_hub import constants
    from huggingface_hub.utils import _http

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # the loopback hub speaks the protocol before Xet
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(_http.time, "sleep", lambda _: None)  # the library's patience between two tries
    with serving_hub() as server:
        yield server


def made(
    tmp_path: Path, name: str, *slugs: str, hidden: tuple[str, ...] = (), split: str = "val"
) -> tuple[Path, WrittenResults]:
    """A folder of results of these systems, ready to be published."""
    results, out = tmp_path / f"{name}-results", tmp_path / name
    for slug in slugs:
        put(results, card(facts(slug), split=split), full())
    out.mkdir()
    return out, write_results(out, PublishRequest(results=results, repo=REPO, hidden=hidden))


def pushed(
    hub: Hub, what: tuple[Path, WrittenResults], token: str | None = None, reveal: tuple[str, ...] = ()
) -> str | None:
    folder, told = what
    return push_results(folder, told, token=token or hub.token, endpoint=hub.url, private=False, reveal=reveal)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}


def ours(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name not in KEPT}


def test_results_are_one_commit_with_a_message_that_says_what_they_are(hub: Hub, tmp_path: Path) -> None:
    what = made(tmp_path, "one", "alpha", "beta")
    oid = pushed(hub, what)
    assert [found for found, _ in hub.commits][1:] == [oid]
    assert ours(hub.commits[-1][1]) == bytes_of(what[0])
    assert hub.messages == ["Results: 2 systems, 2 scorecards, 16 predictions (tiny 1.2.0)"]


def test_unchanged_results_make_no_commit(hub: Hub, tmp_path: Path) -> None:
    pushed(hub, made(tmp_path, "one", "alpha"))
    asked = len(hub.requests)
    assert pushed(hub, made(tmp_path, "same", "alpha")) is None
    assert len(hub.commits) == 2
    assert not [request for request in hub.requests[asked:] if "/commit/" in request or "/upload/" in request]


def test_only_files_that_changed_are_sent_and_what_is_gone_is_deleted(hub: Hub, tmp_path: Path) -> None:
    pushed(hub, made(tmp_path, "one", "alpha", split="test"))
    what = made(tmp_path, "two", "alpha", "beta")
    pushed(hub, what)
    assert ours(hub.commits[-1][1]) == bytes_of(what[0])
    assert [name for name in hub.commits[1][1] if "test-0" in name]  # the older commit stays as it was
    hub.commits[-1][1]["eval.yaml"] = b"name: kept\n"
    pushed(hub, made(tmp_path, "three", "alpha"))
    assert hub.commits[-1][1]["eval.yaml"] == b"name: kept\n"


def test_a_file_that_was_changed_on_the_hub_is_put_right(hub: Hub, tmp_path: Path) -> None:
    what = made(tmp_path, "one", "alpha")
    pushed(hub, what)
    hub.commits[-1][1]["README.md"] = b"buy my course"
    assert pushed(hub, what) is not None
    assert ours(hub.commits[-1][1]) == bytes_of(what[0])


def test_a_taken_down_system_is_gone_with_the_next_commit(hub: Hub, tmp_path: Path) -> None:
    pushed(hub, made(tmp_path, "one", "alpha", "unwanted"))
    pushed(hub, made(tmp_path, "two", "alpha"))
    assert not [name for name, data in hub.commits[-1][1].items() if b"unwanted" in data]


@pytest.mark.parametrize("answers_first", [False, True], ids=["unheard", "heard but unanswered"])
def test_a_connection_that_breaks_at_any_request_leaves_the_old_or_the_new_results_whole(
    hub: Hub, tmp_path: Path, answers_first: bool
) -> None:
    first, second = made(tmp_path, "one", "alpha"), made(tmp_path, "two", "alpha", "beta")
    pushed(hub, first)
    before = len(hub.requests)
    pushed(hub, second)
    asked = hub.requests[before:]
    landed = next(number for number, request in enumerate(asked) if "/commit/" in request)
    # After the commit everything only reads: the first of those stand for all. An answer that is lost matters where
    # something was changed.
    numbers = [n for n in range(landed + 3) if not answers_first or asked[n].startswith(("POST", "PUT"))]
    old, new = hub.commits[1:]
    seen = set()
    for number in numbers:
        hub.commits[:] = [hub.commits[0], old]
        hub.requests.clear()
        hub.dies_at, hub.answers_first = number, answers_first
        with pytest.raises(EngineError) as caught:
            pushed(hub, second)
        assert hub.token not in str(caught.value)
        assert hub.commits[-1][1] in (old[1], new[1])
        seen.add(len(hub.commits))
        hub.dies_at = None
        pushed(hub, second)  # the same command again ends it, whatever had come through
        assert hub.commits[-1][1] == new[1]
        assert len(hub.commits) == 3
    assert seen == {2, 3}


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_hub_that_stumbles_once_at_every_request_is_asked_again(hub: Hub, tmp_path: Path, status: int) -> None:
    hub.repos.add(REPO)
    hub.commits.append(("1" * 40, {".gitattributes": b""}))
    what = made(tmp_path, "one", "alpha")
    hub.stumbles = status
    refusals = []
    while len(refusals) < 8:  # a request that the library does not repeat ends the command: the next one goes on
        try:
            pushed(hub, what)
            break
        except EngineError as error:
            refusals.append(str(error))
    assert not [told for told in refusals if f"status {status}: run the same command again" not in told]
    assert ours(hub.commits[-1][1]) == bytes_of(what[0])
    assert len(hub.commits) == 2


def test_a_commit_whose_answer_is_lost_is_not_made_twice(hub: Hub, tmp_path: Path) -> None:
    what = made(tmp_path, "one", "alpha")
    pushed(hub, what)
    later = made(tmp_path, "two", "alpha", "beta")
    honest = hub.commit

    def deaf(lines: list[dict[str, object]]) -> str:
        honest(lines)
        raise BrokenPipeError  # the connection ends before the answer

    hub.commit = deaf  # type: ignore[method-assign]
    assert pushed(hub, later) == hub.commits[-1][0]
    assert len(hub.commits) == 3
    assert ours(hub.commits[-1][1]) == bytes_of(later[0])


def test_two_publishers_at_once_do_not_mix_their_files(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import HfApi

    pushed(hub, made(tmp_path, "one", "alpha"))
    other = made(tmp_path, "other", "alpha", "beta", "gamma")
    mine = made(tmp_path, "mine", "alpha", "delta")
    honest, is_first = HfApi.list_repo_tree, [True]

    def slow(*arguments: object, **named: object) -> object:
        found = list(honest(*arguments, **named))  # type: ignore[arg-type]
        if is_first.pop() if is_first else False:
            pushed(hub, other)  # between our looking and our commit
        return found

    monkeypatch.setattr(HfApi, "list_repo_tree", slow)
    with pytest.raises(EngineError, match="status 412: run the same command again"):
        pushed(hub, mine)
    assert ours(hub.commits[-1][1]) == bytes_of(other[0])
    pushed(hub, mine)
    assert ours(hub.commits[-1][1]) == bytes_of(mine[0])


def test_what_reads_back_with_other_bytes_is_told(hub: Hub, tmp_path: Path) -> None:
    hub.corrupt = "README.md"
    with pytest.raises(DataError, match=r"README\.md reads back with other bytes"):
        pushed(hub, made(tmp_path, "one", "alpha"))


def test_a_split_that_was_hidden_is_not_revealed_by_forgetting_to_hide_it(hub: Hub, tmp_path: Path) -> None:
    pushed(hub, made(tmp_path, "one", "alpha", split="test", hidden=("test",)))
    careless = made(tmp_path, "two", "alpha", "beta", split="test")
    with pytest.raises(ConfigError, match="'tiny/test' has been hidden until now"):
        pushed(hub, careless)
    assert len(hub.commits) == 2
    assert not [name for name in hub.commits[-1][1] if name.startswith("predictions/")]
    pushed(hub, careless, reveal=("test",))
    assert [name for name in hub.commits[-1][1] if name.startswith("predictions/")]


def test_a_wrong_token_is_one_error_that_does_not_repeat_it(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="status 401") as caught:
        pushed(hub, made(tmp_path, "one", "alpha"), token="hf_wrong_and_secret")
    assert "hf_wrong" not in str(caught.value)


def command(tmp_path: Path, *options: str, token: str | None = None) -> Result:
    results = tmp_path / "command-results"
    if not results.exists():
        put(results, card(facts("alpha")), full())
    environment = {"HF_TOKEN": token, "HF_ENDPOINT": None}
    return CliRunner(env=environment).invoke(publish, [str(results), "--repo", REPO, *options])


def test_the_command_needs_a_token_in_the_environment_and_never_prints_it(hub: Hub, tmp_path: Path) -> None:
    refused = command(tmp_path, "--endpoint", hub.url)
    assert isinstance(refused.exception, EduRagError)
    assert "HF_TOKEN: is not set" in str(refused.exception)
    assert hub.requests == []
    done = command(tmp_path, "--endpoint", hub.url, token=hub.token)
    assert f"published as {hub.commits[-1][0]}" in done.output
    again = command(tmp_path, "--endpoint", hub.url, token=hub.token)
    assert f"nothing to do: {REPO} is up to date" in again.output
    assert hub.token not in done.output + again.output


def test_a_dry_run_says_what_would_go_out_with_sizes_and_asks_the_hub_nothing(hub: Hub, tmp_path: Path) -> None:
    told = command(tmp_path, "--dry-run", "--endpoint", hub.url, "--out", str(tmp_path / "kept"))
    assert told.exit_code == 0
    assert "predictions/val-00000-of-00001.parquet" in told.output
    assert "nothing was published" in told.output
    assert hub.requests == []
    assert (tmp_path / "kept" / "manifest.json").is_file()


def test_a_repository_that_is_none_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    for name in ("results", "a/b/c", "../up", "a b/c"):
        refused = CliRunner().invoke(publish, [str(tmp_path), "--repo", name, "--dry-run"])
        assert "is not a repository" in str(refused.exception)
