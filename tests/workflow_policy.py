"""What our workflow files may do, as rules over the parsed YAML: what is allowed is listed, all else is a fault."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Yaml = Mapping[str, Any]
RUNNER = "ubuntu-24.04"
LONGEST_MINUTES = 120
PINS = {
    "actions/checkout": "de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2",
    "actions/deploy-pages": "cd2ce8fcbc39b97be8ca5fce6e763baed58fa128 # v5.0.0",
    "actions/download-artifact": "3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1",
    "actions/upload-artifact": "043fb46d1a93c77aae656e7c1c64a875d1fc6a0a # v7.0.1",
}
"""The actions and the commits that were looked up; a newer one is a change of this list too."""
STOP = 'echo "::stop-commands::$token"'
SHOWS_STRANGERS_WORDS = re.compile(r"edu-rag\"? (pr|score|verify|board|publish|check)\b")


@dataclass(frozen=True)
class Job:
    """What one job is allowed: permissions, actions and commands in order, conditions, environment, secrets."""

    permissions: Mapping[str, str]
    actions: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    condition: str = ""
    environment: str = ""
    secrets: tuple[str, ...] = ()
    env: tuple[str, ...] = ()


@dataclass(frozen=True)
class Workflow:
    """What one file is allowed: triggers as they must stand there, concurrency, jobs."""

    on: Mapping[str, Any]
    concurrency: Mapping[str, str]
    jobs: Mapping[str, Job]
    step_conditions: tuple[str, ...] = ()


TOKEN = ("token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')", """trap 'echo "::$token::"' EXIT""", STOP)
DATASETS = (
    "datasets=()",
    'while IFS= read -r folder; do datasets+=("--dataset=$folder"); done < "$RUNNER_TEMP/datasets"',
)


def _locked(folder: str, project: str) -> tuple[str, ...]:
    """Packages by the hashes of their files; what builds those without a wheel is one of them."""
    return (
        f'"${{install[@]}}" --require-hashes --only-binary :all: --requirement {folder}/locked-tools.txt',
        f'"${{install[@]}}" --require-hashes --no-build-isolation --requirement {folder}/locked.txt',
        f'"${{install[@]}}" --no-build-isolation --no-deps {project}',
    )


# Word for word: a `cd head`, an `|| true` or an option without its `=` is how a stranger gets in, and the ways to write
# each are too many for rules.
JUDGE = (
    "parents=$(git -C head rev-parse 'HEAD^@')",
    "base=$(git -C head rev-parse --verify 'HEAD^1')",
    """test "$parents" = "$base"$'\\n'"$HEAD_SHA\"""",
    'git -C base merge-base --is-ancestor "$base" HEAD',
    'git -C base checkout --quiet --detach "$base"',
    "rm -rf base/.git head/.git",
    "sudo python3 -I -m venv /opt/edu-rag",
    "install=(sudo /opt/edu-rag/bin/python -I -m pip install --quiet)",
    *_locked("base/.ci", "./base"),
    "sudo apt-get update -qq",
    "sudo apt-get install -qq --no-install-recommends bubblewrap",
    "sudo install -m 0644 base/.github/apparmor/bwrap /etc/apparmor.d/edu-rag-bwrap",
    "sudo apparmor_parser --replace /etc/apparmor.d/edu-rag-bwrap",
    "sudo /opt/edu-rag/bin/edu-rag sandbox",
    "sudo install -d -m 0700 /srv/edu-rag",
    "sudo /opt/edu-rag/bin/edu-rag dataset fetch --board base/leaderboard/board.toml --out /srv/edu-rag |",
    'tee "$RUNNER_TEMP/datasets"',
    *DATASETS,
    *TOKEN,
    'sudo /opt/edu-rag/bin/edu-rag pr --base=base --head=head --author="$AUTHOR" --run=always "${datasets[@]}" '
    '--report="$RUNNER_TEMP/report.md" --keep="$RUNNER_TEMP/made"',
    'sudo head -c 1000000 "$RUNNER_TEMP/report.md" | tee -a "$GITHUB_STEP_SUMMARY" > /dev/null',
)
SCORE = (
    'python3 -I -m venv "$RUNNER_TEMP/edu-rag"',
    'install=("$RUNNER_TEMP/edu-rag/bin/python" -I -m pip install --quiet)',
    *_locked(".ci", "."),
    'echo "$RUNNER_TEMP/edu-rag/bin" >> "$GITHUB_PATH"',
    'edu-rag dataset fetch --board leaderboard/board.toml --out "$RUNNER_TEMP/data" | tee "$RUNNER_TEMP/datasets"',
    *DATASETS,
    *TOKEN,
    "all=yes",
    'edu-rag score --all submissions "${datasets[@]}" --out leaderboard/results || all=no',
    'edu-rag board leaderboard/results --submissions submissions "${datasets[@]}" --out "$RUNNER_TEMP/site" '
    '--url "https://$GITHUB_REPOSITORY_OWNER.github.io/${GITHUB_REPOSITORY#*/}" '
    '--repository "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY"',
    "again=yes",
    'edu-rag verify --results leaderboard/results --submissions submissions "${datasets[@]}" '
    '--site "$RUNNER_TEMP/site" || again=no',
    """printf 'all=%s\\nagain=%s\\n' "$all" "$again" >> "$GITHUB_OUTPUT\"""",
    'tar --create --file "$RUNNER_TEMP/artifact.tar" --dereference --hard-dereference --mode=a+rX '
    '--directory "$RUNNER_TEMP/site" .',
)
HUB = (
    'python3 -I -m venv "$RUNNER_TEMP/edu-rag"',
    'install=("$RUNNER_TEMP/edu-rag/bin/python" -I -m pip install --quiet)',
    *_locked(".ci", "."),
    *TOKEN,
    '"$RUNNER_TEMP/edu-rag/bin/edu-rag" publish "$RUNNER_TEMP/results" --repo="$REPOSITORY" --submissions submissions',
)
PROGRAMS = (
    "sudo apt-get update -qq",
    "sudo apt-get install -qq --no-install-recommends bubblewrap strace wordnet-base wordnet-sense-index",
    "sudo install -m 0644 .github/apparmor/bwrap /etc/apparmor.d/edu-rag-bwrap",
    "sudo apparmor_parser --replace /etc/apparmor.d/edu-rag-bwrap",
)
TEST = (*PROGRAMS, ".ci/run")
NIGHTLY = (*PROGRAMS, "make nightly")
CODE = {"branches": ["main"], "paths-ignore": ["submissions/**"]}
READ = {"contents": "read"}
ON_MAIN = "github.ref == 'refs/heads/main' && (needs.score.outputs.again == 'yes' || inputs.differences)"
BY_HAND = {
    "description": "Publish although a number could not be made again. Say why in the commit that mends it.",
    "type": "boolean",
    "default": "false",
}
ALLOWED = {
    "ci.yml": Workflow(
        on={"push": CODE, "pull_request": CODE},
        concurrency={"group": "ci-${{ github.ref }}", "cancel-in-progress": "true"},
        jobs={"test": Job(READ, actions=("actions/checkout",), commands=TEST)},
    ),
    "nightly.yml": Workflow(
        on={"schedule": [{"cron": "17 2 * * *"}], "workflow_dispatch": ""},
        concurrency={"group": "nightly", "cancel-in-progress": "false"},
        jobs={"nightly": Job(READ, actions=("actions/checkout",), commands=NIGHTLY)},
    ),
    "submission.yml": Workflow(
        on={"pull_request": {"branches": ["main"], "paths": ["submissions/**"]}},
        concurrency={"group": "submission-${{ github.event.pull_request.number }}", "cancel-in-progress": "true"},
        jobs={
            "judge": Job(
                READ,
                actions=("actions/checkout", "actions/checkout", "actions/upload-artifact"),
                commands=JUDGE,
                env=(
                    "HEAD_SHA=${{ github.event.pull_request.head.sha }}",
                    "AUTHOR=${{ github.event.pull_request.user.login }}",
                ),
            )
        },
        step_conditions=("${{ !cancelled() }}",),
    ),
    "board.yml": Workflow(
        on={
            "push": {
                "branches": ["main"],
                "paths": [
                    "submissions/**",
                    "leaderboard/**",
                    "harness/**",
                    "builder/**",
                    "publishing/**",
                    "edu_rag/**",
                    ".ci/locked.txt",
                    ".ci/locked-tools.txt",
                    "pyproject.toml",
                    ".github/workflows/board.yml",
                ],
            },
            "workflow_dispatch": {"inputs": {"differences": BY_HAND}},
        },
        concurrency={"group": "board", "cancel-in-progress": "false"},
        jobs={
            "score": Job(
                READ,
                actions=("actions/checkout", "actions/upload-artifact", "actions/upload-artifact"),
                commands=SCORE,
            ),
            "sound": Job(
                {},
                commands=('test "$ALL" = yes', 'test "$AGAIN" = yes'),
                env=("ALL=${{ needs.score.outputs.all }}", "AGAIN=${{ needs.score.outputs.again }}"),
            ),
            "pages": Job(
                {"pages": "write", "id-token": "write"},
                actions=("actions/deploy-pages",),
                condition=ON_MAIN,
                environment="github-pages",
            ),
            "hub": Job(
                READ,
                actions=("actions/checkout", "actions/download-artifact"),
                commands=HUB,
                condition=f"{ON_MAIN} && vars.RESULTS_REPOSITORY != ''",
                environment="hub",
                secrets=("HF_TOKEN",),
                env=("HF_TOKEN=${{ secrets.HF_TOKEN }}", "REPOSITORY=${{ vars.RESULTS_REPOSITORY }}"),
            ),
        },
    ),
}
PLAIN = {"persist-credentials": "false"}
INPUTS: Mapping[str, tuple[Mapping[str, str], ...]] = {
    "test": (PLAIN,),
    "nightly": (PLAIN,),
    "judge": (
        {"ref": "${{ github.event.pull_request.base.ref }}", "path": "base", "fetch-depth": "0", **PLAIN},
        {"ref": "${{ github.sha }}", "path": "head", "fetch-depth": "2", **PLAIN},
        {
            "name": "predictions",
            "path": "${{ runner.temp }}/made",
            "if-no-files-found": "ignore",
            "retention-days": "14",
        },
    ),
    "score": (
        PLAIN,
        {
            "name": "results",
            "path": "leaderboard/results",
            "if-no-files-found": "error",
            "retention-days": "30",
        },
        {
            "name": "github-pages",
            "path": "${{ runner.temp }}/artifact.tar",
            "if-no-files-found": "error",
            "retention-days": "1",
        },
    ),
    "pages": ({},),
    "hub": (PLAIN, {"name": "results", "path": "${{ runner.temp }}/results"}),
}
"""What each job's actions are told, in order: which trees are checked out, which artifacts go where."""
OUTPUTS = {
    "score": {"all": "${{ steps.score.outputs.all }}", "again": "${{ steps.score.outputs.again }}"},
}
ODD = ("actions", "actionlint.yaml", "actionlint.yml", "zizmor.yaml", "zizmor.yml")
"""Actions of our own, and settings by which a linter looks away."""
JOB_KEYS = {"name", "runs-on", "timeout-minutes", "permissions", "steps", "needs", "if", "environment", "outputs"}
STEP_KEYS = {"name", "id", "uses", "with", "run", "env", "if"}
TOP_KEYS = {"name", "on", "permissions", "concurrency", "defaults", "jobs"}


class _Strict(yaml.BaseLoader):
    """YAML as GitHub reads it: no key twice; and every scalar stays the text it is."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        if len(set(keys)) < len(keys):
            raise yaml.YAMLError(f"a key stands twice: {keys}")
        return super().construct_mapping(node, deep)


def lines_of(script: str) -> list[str]:
    """The commands of a script: continued lines joined, comments and blank lines left out."""
    joined = re.sub(r"\\\n\s*", "", script)
    return [line.strip() for line in joined.splitlines() if line.strip() and not line.strip().startswith("#")]


def _top(file: str, flow: Yaml, text: str) -> Iterator[str]:
    wanted = ALLOWED[file]
    if set(flow) - TOP_KEYS:
        yield f"unknown keys {sorted(set(flow) - TOP_KEYS)}"
    if flow.get("on") != wanted.on:
        yield f"triggers are {flow.get('on')}"
    if flow.get("permissions") != {}:
        yield "top-level permissions are not {}"
    if flow.get("concurrency") != wanted.concurrency:
        yield "another concurrency"
    if flow.get("defaults") != {"run": {"shell": "bash"}}:
        yield "run steps are not in bash, which stops at the first failure"
    if set(flow.get("jobs", {})) != set(wanted.jobs):
        yield f"jobs are {sorted(flow.get('jobs', {}))}"
    if re.search(r"zizmor:\s*ignore|actionlint|[&*]\w+\s*$", text, re.MULTILINE):
        yield "a linter is told to look away, or YAML is hidden behind an anchor"


def _of_job(name: str, job: Yaml, wanted: Job) -> Iterator[str]:
    if set(job) - JOB_KEYS:
        yield f"unknown keys {sorted(set(job) - JOB_KEYS)}"
    if job.get("permissions") != wanted.permissions:
        yield f"permissions are {job.get('permissions')}"
    if job.get("runs-on") != RUNNER:
        yield f"runs on {job.get('runs-on')}"
    minutes = str(job.get("timeout-minutes", ""))
    if not minutes.isdigit() or int(minutes) > LONGEST_MINUTES:
        yield f"timeout is {minutes or 'missing'}"
    if job.get("if", "") != wanted.condition:
        yield f"runs if {job.get('if')}"
    environment = job.get("environment", "")
    if (environment.get("name") if isinstance(environment, dict) else environment) != wanted.environment:
        yield f"environment is {environment!r}"
    if job.get("needs", "") != ("" if name in {"test", "nightly", "judge", "score"} else "score"):
        yield f"waits for {job.get('needs')}"
    # Over the whole job's text, so that no token comes by another spelling: secrets['X'], toJSON(secrets) …
    for said in re.findall(r"secrets\b[^\s}]*|github\.token|GITHUB_TOKEN|ACTIONS_\w+", str(job)):
        if said not in {f"secrets.{secret}" for secret in wanted.secrets}:
            yield f"reads {said}"


def _actions(name: str, job: Yaml, wanted: Job) -> Iterator[str]:
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    if tuple(action.split("@")[0] for action in used) != wanted.actions:
        yield f"actions are {used}"
    given = [step.get("with", {}) for step in job["steps"] if "uses" in step]
    if tuple(given) != INPUTS.get(name, ()):
        yield f"tells its actions {given}"
    if job.get("outputs", {}) != OUTPUTS.get(name, {}):
        yield f"gives on {job['outputs']}"


def _steps(file: str, job: Yaml, wanted: Job) -> Iterator[str]:
    for step in job["steps"]:
        script = step.get("run", "")
        if set(step) - STEP_KEYS:
            yield f"step with {sorted(set(step) - STEP_KEYS)}"
        if "if" in step and step["if"] not in ALLOWED[file].step_conditions:
            yield f"step runs if {step['if']}"
        if "${{" in script:
            yield "an expression stands inside a script"
        yield from (
            f"env {said}" for said in (f"{k}={v}" for k, v in step.get("env", {}).items()) if said not in wanted.env
        )
        found = SHOWS_STRANGERS_WORDS.search(script)
        if found and STOP not in script[: found.start()]:
            yield "strangers' words are printed where the runner takes orders"


def _commands(job: Yaml, wanted: Job) -> Iterator[str]:
    lines = [line for step in job["steps"] for line in lines_of(step.get("run", ""))]
    if tuple(lines) != wanted.commands:
        new = [line for line in lines if line not in wanted.commands]
        yield f"runs other commands: {new or 'fewer, or in another order'}"


def faults_of(file: str, text: str) -> list[str]:
    """Every fault of one workflow file, `job: what`."""
    if file not in ALLOWED:
        return [f"{file} is no workflow of ours"]
    try:
        flow = yaml.load(text, _Strict)
    except yaml.YAMLError as error:
        return [f"not YAML: {error}"]
    told = [*_top(file, flow, text), *_pins(text)]
    for name, job in flow.get("jobs", {}).items():
        wanted = ALLOWED[file].jobs.get(name)
        if wanted is None or "steps" not in job:
            told.append(f"{name}: no job of ours")
            continue
        found = (
            *_of_job(name, job, wanted),
            *_actions(name, job, wanted),
            *_steps(file, job, wanted),
            *_commands(job, wanted),
        )
        told += [f"{name}: {fault}" for fault in found]
    return told


def _pins(text: str) -> Iterator[str]:
    for line in re.findall(r"^\s*-?\s*uses:\s*(.+?)\s*$", text, re.MULTILINE):
        action, _, pin = line.partition("@")
        if PINS.get(action) != pin:
            yield f"not among the pinned actions: {line}"


def faults(github: Path) -> list[str]:
    """Every fault of a `.github` folder: its workflows, and files that would weaken or add to them."""
    workflows = sorted((github / "workflows").iterdir())
    told = [f"{path.name}: {fault}" for path in workflows for fault in faults_of(path.name, path.read_text("utf-8"))]
    missing = set(ALLOWED) - {path.name for path in workflows}
    told += [f"{name} is missing" for name in sorted(missing)]
    odd = [name for name in ODD if (github / name).exists() or (github.parent / name).exists()]
    return told + [f"{name} has no place here" for name in odd]
