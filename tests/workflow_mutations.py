"""Ways to weaken our workflow files, each one change of text: all must be caught by zizmor or by the policy."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

SUBMISSION, BOARD, CI, NIGHTLY = "submission.yml", "board.yml", "ci.yml", "nightly.yml"
CHECKOUT = "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2"
JUDGING = "      - name: Judge\n        env:\n"
READ_ONLY = "    permissions:\n      contents: read # to check out the two trees\n"


class Mutation(NamedTuple):
    """One change of one file: the first `old` becomes `new`. Without `old`, `new` is a whole file that is not ours."""

    name: str
    file: str
    old: str
    new: str


def _step(script: str) -> str:
    """A step of the pull request's job, before the judging one."""
    return f"      - name: More\n        run: {script}\n\n{JUDGING}"


MUTATIONS = (
    Mutation("trigger of CI: pull_request_target", CI, "  pull_request:\n", "  pull_request_target:\n"),
    Mutation("CI on submissions too", CI, '    paths-ignore: ["submissions/**"]\n  pull_request:', "  pull_request:"),
    Mutation("CI with a token that writes", CI, "contents: read #", "contents: write #"),
    Mutation("CI keeps its token on the disk", CI, "persist-credentials: false", "persist-credentials: true"),
    Mutation("CI without tests", CI, "run: .ci/run", "run: make lint"),
    Mutation("the nightly tests with a token that writes", NIGHTLY, "contents: read #", "contents: write #"),
    Mutation("the nightly tests on pull requests", NIGHTLY, "  workflow_dispatch:\n", "  pull_request:\n"),
    Mutation("the nightly tests without their exhaustive forms", NIGHTLY, "run: make nightly", "run: make test"),
    Mutation("trigger: pull_request_target", SUBMISSION, "  pull_request:\n", "  pull_request_target:\n"),
    Mutation(
        "trigger: workflow_run beside it",
        BOARD,
        "  workflow_dispatch:\n",
        "  workflow_dispatch:\n  workflow_run:\n    workflows: [Submission]\n",
    ),
    Mutation("trigger: issue_comment", SUBMISSION, "on:\n", "on:\n  issue_comment:\n    types: [created]\n"),
    Mutation("trigger: the board on pull requests", BOARD, "on:\n", "on:\n  pull_request:\n"),
    Mutation("trigger: another base branch", SUBMISSION, "branches: [main]", "branches: ['**']"),
    Mutation("trigger: paths left out", SUBMISSION, '    paths: ["submissions/**"]\n', ""),
    Mutation("action by tag", SUBMISSION, f"uses: {CHECKOUT}", "uses: actions/checkout@v6"),
    Mutation("action by a shortened commit", SUBMISSION, CHECKOUT, "actions/checkout@de0fac2e # v6.0.2"),
    Mutation("action at another commit", SUBMISSION, "de0fac2e45", "de0fac2e46"),
    Mutation(
        "action of a third party",
        SUBMISSION,
        JUDGING,
        "      - uses: peter-evans/create-or-update-comment@71345be0265236311c031f5c7866368bd1eff043 # v4.0.0\n\n"
        + JUDGING,
    ),
    Mutation("action from the stranger's tree", SUBMISSION, JUDGING, f"      - uses: ./head/action\n\n{JUDGING}"),
    Mutation(
        "cache",
        SUBMISSION,
        JUDGING,
        "      - uses: actions/cache@0057852bfaa89a56745cba8c7296529d2fc39830 # v4.3.0\n"
        f"        with:\n          path: ~/.cache/pip\n          key: pip\n\n{JUDGING}",
    ),
    Mutation(
        "title inside a script",
        SUBMISSION,
        "          datasets=()\n",
        '          echo "${{ github.event.pull_request.title }}"\n          datasets=()\n',
    ),
    Mutation("branch name inside a script", SUBMISSION, '--author="$AUTHOR"', '--author="${{ github.head_ref }}"'),
    Mutation(
        "title through the environment file",
        SUBMISSION,
        "          datasets=()\n",
        '          echo "TITLE=$TITLE" >> "$GITHUB_ENV"\n          datasets=()\n',
    ),
    Mutation("permissions: write-all", SUBMISSION, "permissions: {}\n", "permissions: write-all\n"),
    Mutation("permissions: {} left out", SUBMISSION, "permissions: {}\n", ""),
    Mutation("permissions of the job left out", SUBMISSION, READ_ONLY, ""),
    Mutation(
        "permissions: pull-requests: write", SUBMISSION, READ_ONLY, f"{READ_ONLY}      pull-requests: write # report\n"
    ),
    Mutation(
        "permissions: id-token for the pull request", SUBMISSION, READ_ONLY, f"{READ_ONLY}      id-token: write # no\n"
    ),
    Mutation(
        "permissions: contents: write on the board",
        BOARD,
        "contents: read # to check out main",
        "contents: write # to commit",
    ),
    Mutation(
        "secret in the pull request's job",
        SUBMISSION,
        "          AUTHOR:",
        "          HF_TOKEN: ${{ secrets.HF_TOKEN }}\n          AUTHOR:",
    ),
    Mutation(
        "secret by index",
        SUBMISSION,
        "          AUTHOR:",
        "          KEY: ${{ secrets['HF_TOKEN'] }}\n          AUTHOR:",
    ),
    Mutation(
        "all secrets", SUBMISSION, "          AUTHOR:", "          KEYS: ${{ toJSON(secrets) }}\n          AUTHOR:"
    ),
    Mutation(
        "the job's token", SUBMISSION, "          AUTHOR:", "          GH_TOKEN: ${{ github.token }}\n          AUTHOR:"
    ),
    Mutation(
        "secret for all steps of the hub's job",
        BOARD,
        "    environment: hub\n",
        "    environment: hub\n    env:\n      HF_TOKEN: ${{ secrets.HF_TOKEN }}\n",
    ),
    Mutation(
        "secret in the job that scores",
        BOARD,
        "        id: score\n",
        "        id: score\n        env:\n          HF_TOKEN: ${{ secrets.HF_TOKEN }}\n",
    ),
    Mutation("credentials kept", SUBMISSION, "persist-credentials: false", "persist-credentials: true"),
    Mutation("credentials kept by default", BOARD, "        with:\n          persist-credentials: false\n", ""),
    Mutation(
        "submodules of the stranger",
        SUBMISSION,
        "          path: head\n",
        "          path: head\n          submodules: recursive\n",
    ),
    Mutation(
        "large files of the stranger",
        SUBMISSION,
        "          path: head\n",
        "          path: head\n          lfs: true\n",
    ),
    Mutation(
        "the harness from the head",
        SUBMISSION,
        "ref: ${{ github.event.pull_request.base.ref }}",
        "ref: ${{ github.event.pull_request.head.sha }}",
    ),
    Mutation(
        "a head that moves",
        SUBMISSION,
        "ref: ${{ github.sha }}",
        "ref: refs/pull/${{ github.event.pull_request.number }}/merge",
    ),
    Mutation("both trees unchecked", SUBMISSION, '          git -C base merge-base --is-ancestor "$base" HEAD\n', ""),
    Mutation("install the head", SUBMISSION, "--no-deps ./base", "--no-deps ./head"),
    Mutation("the head's hashes", SUBMISSION, "base/.ci/locked.txt", "head/.ci/locked.txt"),
    Mutation("packages without hashes", SUBMISSION, "--require-hashes --no-build", "--no-build"),
    Mutation("tools without hashes", BOARD, "--require-hashes --only-binary", "--only-binary"),
    Mutation("whatever builds a package", BOARD, "--require-hashes --no-build-isolation", "--require-hashes"),
    Mutation("whatever the project asks for", BOARD, "--no-build-isolation --no-deps .", "--no-build-isolation ."),
    Mutation("install the head beside", SUBMISSION, JUDGING, _step("sudo /opt/edu-rag/bin/pip install ./head")),
    Mutation(
        "the head's requirements",
        SUBMISSION,
        JUDGING,
        _step("sudo /opt/edu-rag/bin/pip install -r head/submissions/new/requirements.txt"),
    ),
    Mutation("tests of the head", SUBMISSION, JUDGING, _step("cd head && python3 -m pytest")),
    Mutation(
        "tests of the head by working-directory",
        SUBMISSION,
        JUDGING,
        "      - name: Test\n        working-directory: head\n        run: python3 -m pytest\n\n" + JUDGING,
    ),
    Mutation("the head on the path", SUBMISSION, "          AUTHOR:", "          PYTHONPATH: head\n          AUTHOR:"),
    Mutation("the head's board.toml", SUBMISSION, "--board base/leaderboard", "--board head/leaderboard"),
    Mutation("base and head swapped", SUBMISSION, "--base=base --head=head", "--base=head --head=head"),
    Mutation("without the sandbox", SUBMISSION, "--head=head ", "--head=head --unsafe-no-sandbox "),
    Mutation("accepted though nothing was run", SUBMISSION, " --run=always", ""),
    Mutation("the author left out", SUBMISSION, ' --author="$AUTHOR"', ""),
    Mutation("the sandbox not looked at", SUBMISSION, "          sudo /opt/edu-rag/bin/edu-rag sandbox\n", ""),
    Mutation("the author unquoted", SUBMISSION, '--author="$AUTHOR"', "--author $AUTHOR"),
    Mutation("datasets readable by all", SUBMISSION, "install -d -m 0700", "install -d -m 0755"),
    Mutation("orders to the runner from strangers", SUBMISSION, '          echo "::stop-commands::$token"\n', ""),
    Mutation("orders from strangers on the board", BOARD, '          echo "::stop-commands::$token"\n', ""),
    Mutation("timeout left out", SUBMISSION, "    timeout-minutes: 90\n", ""),
    Mutation("timeout of six hours", SUBMISSION, "timeout-minutes: 90", "timeout-minutes: 360"),
    Mutation("self-hosted runner", SUBMISSION, "runs-on: ubuntu-24.04", "runs-on: [self-hosted, linux]"),
    Mutation("a runner that moves", SUBMISSION, "runs-on: ubuntu-24.04", "runs-on: ubuntu-latest"),
    Mutation("a container of somebody", SUBMISSION, READ_ONLY, f"    container: python:3.12\n{READ_ONLY}"),
    Mutation(
        "artifact for a job with rights",
        SUBMISSION,
        JUDGING,
        "      - uses: actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a # v7.0.1\n"
        f"        with:\n          name: results\n          path: head\n\n{JUDGING}",
    ),
    Mutation(
        "artifact of another run",
        BOARD,
        "          name: results\n          path: ${{ runner.temp }}/results\n",
        "          name: results\n          run-id: ${{ github.event.workflow_run.id }}\n"
        "          path: ${{ runner.temp }}/results\n",
    ),
    Mutation(
        "another artifact for the pages",
        BOARD,
        "path: ${{ runner.temp }}/artifact.tar",
        "path: submissions/new/site.tar",
    ),
    Mutation(
        "old commands of the runner allowed",
        SUBMISSION,
        "          AUTHOR:",
        '          ACTIONS_ALLOW_UNSECURE_COMMANDS: "true"\n          AUTHOR:',
    ),
    Mutation(
        "every step in the stranger's tree",
        SUBMISSION,
        "    shell: bash\n",
        "    shell: bash\n    working-directory: head\n",
    ),
    Mutation(
        "outputs of the pull request's job",
        SUBMISSION,
        READ_ONLY,
        f"    outputs:\n      said: ${{{{ steps.judge.outputs.said }}}}\n{READ_ONLY}",
    ),
    Mutation("environment left out of the hub's job", BOARD, "    environment: hub\n", ""),
    Mutation("another environment", BOARD, "    environment: hub\n", "    environment: open\n"),
    Mutation(
        "environment left out of the pages' job",
        BOARD,
        "    environment:\n      name: github-pages\n      url: ${{ steps.deploy.outputs.page_url }}\n",
        "",
    ),
    Mutation("the hub from any branch", BOARD, "      github.ref == 'refs/heads/main' && (needs", "      (needs"),
    Mutation("pages from any branch", BOARD, "    if: github.ref == 'refs/heads/main' && (needs", "    if: (needs"),
    Mutation(
        "pages though numbers differ",
        BOARD,
        "    if: github.ref == 'refs/heads/main' && (needs.score.outputs.again == 'yes' || inputs.differences)\n",
        "    if: github.ref == 'refs/heads/main'\n",
    ),
    Mutation(
        "the hub though numbers differ",
        BOARD,
        "      github.ref == 'refs/heads/main' && (needs.score.outputs.again == 'yes' || inputs.differences)\n",
        "      github.ref == 'refs/heads/main'\n",
    ),
    Mutation("differences published by default", BOARD, "        default: false\n", "        default: true\n"),
    Mutation("differences that go by another word", BOARD, "        type: boolean\n", "        type: string\n"),
    Mutation("the stranger's tree as an artifact", SUBMISSION, "path: ${{ runner.temp }}/made", "path: head"),
    Mutation(
        "the runner's files as an artifact", SUBMISSION, "path: ${{ runner.temp }}/made", "path: ${{ runner.temp }}"
    ),
    Mutation(
        "an artifact by the board's name", SUBMISSION, "          name: predictions\n", "          name: results\n"
    ),
    Mutation("an artifact for ever", SUBMISSION, "          retention-days: 14\n", ""),
    Mutation(
        "the board takes a stranger's artifact",
        BOARD,
        "          name: results\n          path: ${{ runner.temp }}/results\n",
        "          name: predictions\n          path: ${{ runner.temp }}/results\n",
    ),
    Mutation(
        "the hub without scores",
        BOARD,
        "    name: Publish the results\n    needs: score\n",
        "    name: Publish the results\n",
    ),
    Mutation(
        "the hub's job runs a submission",
        BOARD,
        "      - name: Publish\n",
        "      - name: Again\n        run: edu-rag run submissions/new --dataset data\n\n      - name: Publish\n",
    ),
    Mutation(
        "the score's job runs a submission",
        BOARD,
        "          all=yes\n",
        "          all=yes\n          python3 submissions/new/system.py\n",
    ),
    Mutation(
        "continue-on-error on the judging step",
        SUBMISSION,
        JUDGING,
        "      - name: Judge\n        continue-on-error: true\n        env:\n",
    ),
    Mutation("continue-on-error on the job", SUBMISSION, READ_ONLY, f"    continue-on-error: true\n{READ_ONLY}"),
    Mutation(
        "|| true after the verdict",
        SUBMISSION,
        '--keep="$RUNNER_TEMP/made"\n',
        '--keep="$RUNNER_TEMP/made" || true\n',
    ),
    Mutation("a verdict into a pipe without pipefail", SUBMISSION, "    shell: bash\n", "    shell: sh\n"),
    Mutation("if: always() on the pages", BOARD, "if: github.ref == 'refs/heads/main' && (", "if: always() && ("),
    Mutation(
        "if: always() on the judging step",
        SUBMISSION,
        JUDGING,
        "      - name: Judge\n        if: always()\n        env:\n",
    ),
    Mutation(
        "judging only sometimes",
        SUBMISSION,
        JUDGING,
        "      - name: Judge\n        if: github.actor != 'friend'\n        env:\n",
    ),
    Mutation("the broken told as sound", BOARD, 'test "$ALL" = yes', "true"),
    Mutation("concurrency left out", BOARD, "concurrency:\n  group: board\n  cancel-in-progress: false\n", ""),
    Mutation("a publication that is cut off", BOARD, "cancel-in-progress: false", "cancel-in-progress: true"),
    Mutation(
        "zizmor told to look away",
        SUBMISSION,
        "  pull_request:\n",
        "  pull_request_target: # zizmor: ignore[dangerous-triggers]\n",
    ),
    Mutation("a key twice", SUBMISSION, "permissions: {}\n", "permissions: {}\npermissions: write-all\n"),
    Mutation(
        "another workflow",
        "extra.yml",
        "",
        "on: pull_request_target\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make\n",
    ),
)


def text_of(mutation: Mutation, workflows: Path) -> str:
    """The mutated text. Raises LookupError where the file no longer has what is changed: then mend the mutation."""
    if not mutation.old:
        return mutation.new
    text = (workflows / mutation.file).read_text(encoding="utf-8")
    if mutation.old not in text:
        raise LookupError(f"{mutation.name}: {mutation.file} has no {mutation.old!r}")
    return text.replace(mutation.old, mutation.new, 1)
