"""The whole story of a stranger's submission on a local git remote, by the very lines of the workflow files.

    python bench/story.py [--out DIR] [--quiet]

A maintainers' repository with two baselines; a stranger forks it, makes a system, checks and runs it, and opens a pull
request without its predictions; the pull-request job judges it from the base, runs it and keeps the predictions; the
stranger commits these, and the job runs a sample again; it is merged; the job on main scores everything again, verifies
it, writes the site and publishes the results to a loopback Hub. Then a hostile fork is refused. Each command is printed
with what it says; tests/test_pull_request_story.py plays the same story and asserts its turns.

Steps of the workflows that install packages as root are not played: a `sudo` that just runs its arguments replaces
them, and an `edu-rag` that runs the code of the checkout that the step would have installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
PARTS = (
    "edu_rag",
    "harness",
    "builder",
    "baselines",
    "leaderboard",
    "publishing",
    ".github",
    "pyproject.toml",
    "constraints.txt",
    ".gitignore",
)
BASELINES = ("blind-abstain", "bm25-overlap")
SLUG = "stranger-overlap"
REPOSITORY = "project/edu-rag-results"
CANARY = "CANARY"
WAIT_S = 300.0
INSTALLERS = ("pip install", "apt-get install")
STRANGER = '''"""Take the choice of which most words stand on the pages; say nothing where none does."""

from edu_rag import serve
from edu_rag.serve import SystemAnswer, SystemQuestion


def answer(question: SystemQuestion) -> SystemAnswer:
    words = {word for page in question.pages for word in page.text.casefold().split()}
    found = {label: sum(word in words for word in text.casefold().split()) for label, text in question.choices.items()}
    best = max(found, key=lambda label: found[label], default=None)
    return SystemAnswer(answer=best if best is not None and found[best] else None)


serve(answer)
'''


class Turn(NamedTuple):
    """One step's output and exit code."""

    code: int
    said: str


class Judged(NamedTuple):
    """A pull request after its job: the commit that GitHub would merge, the report, the job's exit code, its artifact.

    `made` is the folder that the artifact holds, which is not there where the job made no predictions.
    """

    merge: str
    report: str
    code: int
    head: Path
    made: Path


class Story:
    """The world of one story below `out`, and its turns. `tell` gets every command and what it said.

    `built` is the board's bundled dataset, if it was built before.
    """

    def __init__(
        self, out: Path, hub_url: str, hub_token: str, tell: Callable[[str], None], built: Path | None = None
    ) -> None:
        self.out, self.tell = out, tell
        self.remote, self.fork = out / "project.git", out / "fork.git"
        self.tools, self.data = out / "tools", out / "data"
        self.canary = out / CANARY
        # The loopback Hub speaks the protocol before Xet.
        self._hub = {"HF_ENDPOINT": hub_url, "HF_TOKEN": hub_token, "REPOSITORY": REPOSITORY, "HF_HUB_DISABLE_XET": "1"}
        self.pulls = 0
        self.tools.mkdir(parents=True)
        if built is not None:  # else the first command builds it
            shutil.copytree(built, self.dataset)
        _program(self.tools / "sudo", 'exec "$@"')
        # -P: nothing of the folder that it is called in is ever imported.
        _program(self.tools / "edu-rag", f'exec env PYTHONPATH="$EDU_RAG_CHECKOUT" {sys.executable} -P -m edu_rag "$@"')

    def play(self, script: str, where: Path, checkout: Path, **environment: str) -> Turn:
        """One script in a folder, as `shell: bash` of a runner does it, with the code of a checkout."""
        for line in script.strip().splitlines():
            self.tell(f"    $ {line}")
        script = script.replace("/opt/edu-rag/bin", str(self.tools)).replace("/srv/edu-rag", str(self.data))
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=where,
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=WAIT_S,
            env=self._environment() | {"EDU_RAG_CHECKOUT": str(checkout)} | environment,
        )
        for line in done.stdout.splitlines():
            self.tell(f"      {line}")
        return Turn(done.returncode, done.stdout)

    def _environment(self) -> dict[str, str]:
        """Little of ours: what the jobs have, and who commits."""
        roles = [f"{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
        person = {f"GIT_{role}": "somebody@example.org" for role in roles}
        nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(self.out)}
        return person | nobody | {"PATH": f"{self.tools}:{os.environ['PATH']}", "LANG": "C.UTF-8"}

    def must(self, script: str, where: Path, checkout: Path | None = None, **environment: str) -> str:
        """As `play`, for what cannot go wrong. Raises RuntimeError where it did."""
        turn = self.play(script, where, checkout or where, **environment)
        if turn.code:
            raise RuntimeError(f"{script}: exit code {turn.code}\n{turn.said}")
        return turn.said

    def found_project(self) -> None:
        """The maintainers: code, baselines with predictions and results, in a bare repository."""
        self.tell("\n## The maintainers' repository")
        home = self.out / "maintainer"
        _copy_project(home)
        self.must("git init --quiet --initial-branch=main", home)
        self.must(f"edu-rag dataset fetch --board leaderboard/board.toml --out {self.data}", home)
        for slug in BASELINES:
            self.must(f"edu-rag run submissions/{slug} --dataset {self.dataset}", home)
        self.must(f"edu-rag score --all submissions --dataset {self.dataset} --out leaderboard/results", home)
        self.must("git add --all && git commit --quiet --message 'The project'", home)
        # In one pack, which each of the clones below is sent as it is.
        self.must(f"git repack --quiet -a -d && git clone --quiet --bare . {self.remote}", home)

    @property
    def dataset(self) -> Path:
        """The board's dataset that is part of the package."""
        return self.data / "edu-rag-mini-2.0.0"

    def stranger_forks(self, name: str) -> Path:
        """A stranger's own copy, on a branch; returns the folder to work in."""
        self.tell(f"\n## {name} forks the project")
        shutil.rmtree(self.fork, ignore_errors=True)
        self.must(f"git clone --quiet --bare {self.remote} {self.fork}", self.out)
        work = self.out / name
        self.must(f"git clone --quiet {self.fork} {work} && cd {work} && git checkout --quiet -b mine", self.out)
        return work

    def stranger_works(self, work: Path) -> None:
        """`new`, edits, `check`, `run`, `score`, a commit of the system without its predictions, and a push."""
        mine = f"submissions/{SLUG}"
        self.must(f"edu-rag new {SLUG} --name 'Word overlap' --team 'A stranger' --account stranger", work)
        untouched = self.play(f"edu-rag check {mine}", work, work)
        if not untouched.code:
            raise RuntimeError("`edu-rag check` accepts an untouched template")
        (work / mine / "system.py").write_text(STRANGER, encoding="utf-8")
        settings = work / mine / "submission.toml"
        said = settings.read_text(encoding="utf-8").replace("someone@example.org", "stranger@example.org")
        template = "What it does, in one or two sentences that let another team rebuild the idea."
        settings.write_text(said.replace(template, "Counts words of each choice on the pages."), encoding="utf-8")
        self.must(f"edu-rag check {mine}", work)
        self.must(f"edu-rag run {mine} --dataset {self.dataset}", work)
        self.must(f"edu-rag score {mine} --dataset {self.dataset} --brief", work)
        self.must(f"rm -r {mine}/predictions && git add --all && git commit --quiet --message 'Add {SLUG}'", work)
        self.must("git push --quiet origin mine", work)

    def stranger_commits(self, work: Path, judged: Judged) -> None:
        """The artifact of the pull request's job, unpacked at the top of the clone, committed and pushed."""
        self.tell("\n## The stranger commits the predictions that the job made")
        shutil.copytree(judged.made, work, dirs_exist_ok=True)
        self.must(
            "git add --all && git commit --quiet --message 'Add predictions' && git push --quiet origin mine", work
        )

    def hostile_works(self, work: Path) -> None:
        """Harness, workflow and another team's predictions changed; canaries wherever something could run them."""
        score = work / "harness" / "scoring" / "score.py"
        score.write_text(f"open({str(self.canary)!r}, 'w').write('score')\n{score.read_text()}", encoding="utf-8")
        flow = work / ".github" / "workflows" / "submission.yml"
        flow.write_text(flow.read_text().replace("contents: read", "contents: write"), encoding="utf-8")
        theirs = next((work / "submissions" / BASELINES[-1] / "predictions").rglob("*.jsonl"))
        theirs.write_text(theirs.read_text().replace('"answer":"a"', '"answer":"b"'), encoding="utf-8")
        mine = work / "submissions" / "free-points"
        mine.mkdir()
        plant = f"open({str(self.canary)!r}, 'w').write(__file__)\n"
        for place in (".", "tests", "submissions", "submissions/free-points", "harness"):
            for name in ("conftest.py", "sitecustomize.py", "usercustomize.py", "setup.py"):
                (work / place).mkdir(exist_ok=True)
                (work / place / name).write_text(plant, encoding="utf-8")
        (mine / "system.py").write_text(plant, encoding="utf-8")
        said = 'name = "Free"\nteam = "Free"\ncommand = ["python", "system.py"]\n'
        (mine / "submission.toml").write_text(said, encoding="utf-8")
        self.must("git add --all --force && git commit --quiet --message free && git push --quiet origin mine", work)

    def pull_request(self, author: str) -> Judged:
        """The pull-request job: GitHub's merge, its two checkouts, then the steps of submission.yml."""
        self.pulls += 1
        self.tell(f"\n## Pull request {self.pulls}: the job, with the base's code")
        place = self.out / f"pull-{self.pulls}"
        place.mkdir()
        merge = self._merge(place / "merging")
        head_sha = self.must("git rev-parse HEAD^2", place / "merging").strip()
        workspace, temp = place / "workspace", place / "temp"
        for folder in (workspace, temp):
            folder.mkdir()
        self.must(f"git clone --quiet --branch main file://{self.remote} base", workspace)
        fetched = f"git init --quiet head && cd head && git fetch --quiet --depth=2 file://{self.remote} {merge}"
        self.must(f"{fetched} && git checkout --quiet --detach FETCH_HEAD", workspace)
        given = {"HEAD_SHA": head_sha, "AUTHOR": author, **_runner(temp)}
        *judging, telling = steps("submission.yml", "judge")
        code = 0
        for step in judging:
            if not code:
                code = self.step(step, workspace, workspace / "base", given).code
        self.step(telling, workspace, workspace / "base", given)  # it runs after any result
        report = temp / "summary.md"
        said = report.read_text(encoding="utf-8") if report.is_file() else ""
        return Judged(merge, said, code, workspace / "head", artifact("submission.yml", "judge", temp))

    def step(self, step: Mapping[str, Any], where: Path, checkout: Path, given: Mapping[str, str]) -> Turn:
        """One step of a workflow."""
        self.tell(f"  step: {step['name']}")
        return self.play(step["run"], where, checkout, **given)

    def _merge(self, work: Path) -> str:
        """What the code host does: a merge of main and the branch, under a separate name."""
        self.must(f"git clone --quiet --branch main {self.remote} {work}", self.out)
        self.must(f"git fetch --quiet {self.fork} mine && git merge --quiet --no-ff --no-edit FETCH_HEAD", work)
        self.must(f"git push --quiet origin HEAD:refs/pull/{self.pulls}/merge", work)
        self.must("git config uploadpack.allowAnySHA1InWant true", self.remote)
        return self.must("git rev-parse HEAD", work).strip()

    def merged(self) -> None:
        """A maintainer merges."""
        self.tell("\n## A maintainer merges")
        self.must("git push --quiet origin HEAD:main", self.out / f"pull-{self.pulls}" / "merging")

    def push_job(self) -> Path:
        """The job on main: score, verify, site, Hub. Returns its workspace; the site is next to it, in temp/site."""
        self.tell("\n## The job on main")
        workspace, temp = self.out / "board", self.out / "board-temp"
        temp.mkdir()
        self.must(f"git clone --quiet --branch main {self.remote} {workspace}", self.out)
        shutil.copytree(self.data, temp / "data")  # it was built above: here it is only held against board.toml
        given = _runner(temp)
        for step in steps("board.yml", "score"):
            self._must_step(step, workspace, given)
        outputs = dict(line.split("=", 1) for line in (temp / "output").read_text(encoding="utf-8").splitlines())
        for step in steps("board.yml", "sound"):
            self._must_step(step, workspace, {**given, **{name.upper(): value for name, value in outputs.items()}})
        shutil.copytree(workspace / "leaderboard" / "results", temp / "results")
        (temp / "edu-rag" / "bin").mkdir(parents=True)
        (temp / "edu-rag" / "bin" / "edu-rag").symlink_to(self.tools / "edu-rag")
        for step in steps("board.yml", "hub"):
            self._must_step(step, workspace, {**given, **self._hub})
        return workspace

    def _must_step(self, step: Mapping[str, Any], workspace: Path, given: Mapping[str, str]) -> None:
        turn = self.step(step, workspace, workspace, given)
        if turn.code:
            raise RuntimeError(f"{step['name']}: exit code {turn.code}\n{turn.said}")


def _program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)


def _runner(temp: Path) -> dict[str, str]:
    """The variables that a runner gives every step."""
    files = {"GITHUB_STEP_SUMMARY": temp / "summary.md", "GITHUB_OUTPUT": temp / "output"}
    names = {
        "GITHUB_SERVER_URL": "https://code.example.org",
        "GITHUB_REPOSITORY": "team/project",
        "GITHUB_REPOSITORY_OWNER": "team",
    }
    return {"RUNNER_TEMP": str(temp), **names, **{name: str(path) for name, path in files.items()}}


def steps(file: str, job: str) -> list[Mapping[str, Any]]:
    """The steps of a workflow's job that run lines, without those that install."""
    flow: Mapping[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / file).read_text(encoding="utf-8"))
    return [
        step for step in flow["jobs"][job]["steps"] if not any(word in step.get("run", word) for word in INSTALLERS)
    ]


def artifact(file: str, job: str, temp: Path) -> Path:
    """The folder that a workflow's job uploads."""
    flow: Mapping[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / file).read_text(encoding="utf-8"))
    (given,) = (step["with"] for step in flow["jobs"][job]["steps"] if "upload-artifact" in step.get("uses", ""))
    return Path(given["path"].replace("${{ runner.temp }}", str(temp)))


def _copy_project(home: Path) -> None:
    """The checkout's code with two baselines and no results."""
    left_out = shutil.ignore_patterns("__pycache__", "results", "predictions", "*.log")
    for name in PARTS:
        # builder has a room called results too; only the board's is data.
        ignore = left_out if name in ("leaderboard", "edu_rag") else shutil.ignore_patterns("__pycache__")
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, home / name, ignore=ignore)
        else:
            home.mkdir(exist_ok=True)
            shutil.copyfile(ROOT / name, home / name)
    for slug in ("template", *BASELINES):
        shutil.copytree(ROOT / "submissions" / slug, home / "submissions" / slug, ignore=left_out)
    _keep_bundled(home / "leaderboard" / "board.toml")


def _keep_bundled(board: Path) -> None:
    """Leave on the board only the dataset that the package carries: the others are made from the network."""
    head, *datasets = board.read_text(encoding="utf-8").split("[[datasets]]\n")
    kept = [dataset for dataset in datasets if "\nbundled = true\n" in dataset]
    board.write_text("[[datasets]]\n".join([head, *kept]), encoding="utf-8")


def play(story: Story) -> None:
    """The whole story."""
    story.found_project()
    work = story.stranger_forks("stranger")
    story.stranger_works(work)
    first = story.pull_request("stranger")
    if first.code:
        raise RuntimeError("the stranger's pull request was refused")
    story.stranger_commits(work, first)
    again = story.pull_request("stranger")
    if again.code:
        raise RuntimeError("the stranger's pull request was refused with its predictions")
    story.merged()
    story.push_job()
    story.hostile_works(story.stranger_forks("hostile"))
    second = story.pull_request("hostile")
    if not second.code or story.canary.exists():
        raise RuntimeError("the hostile pull request was accepted, or something of it ran")


def main() -> None:
    """Play it and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="keep everything here; a temporary folder else")
    parser.add_argument("--quiet", action="store_true", help="only say how it ended")
    asked = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    from fake_hub import serving_hub

    with tempfile.TemporaryDirectory(prefix="edu-rag-story-") as temporary, serving_hub() as hub:
        out = (asked.out or Path(temporary) / "story").resolve()
        play(Story(out, hub.url, hub.token, (lambda _: None) if asked.quiet else print))
        print(f"\nThe story went as it should; the Hub has {len(hub.commits) - 1} commit(s) of results.")


if __name__ == "__main__":
    main()
