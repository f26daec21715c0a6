"""Make the files of other programs that the tests of `edu-rag import` read: real runs of Inspect and lm-eval.

Usage: PYTHON bench/import_files.py inspect|lm-eval [OUT]

PYTHON is that of an environment with inspect-ai or lm-eval alone; neither is a dependency of ours. The model is a list
of replies: what matters is how the packages write them. Writes into tests/harness/imports, eight questions of the mini
benchmark a file. The files in the repository are from inspect-ai 0.3.285 and lm-eval 0.4.13.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "tests" / "harness" / "imports"
REPLIES = (
    "ANSWER: C",
    "Silica makes magma thick.\n\nANSWER: B",
    "I don't know.",
    "ANSWER: B",
    "The answer is A or B.",
    "ANSWER: A",
    "ANSWER: D",
    "B",
)
"""One for each question: choices, a thought before one, an abstention, two choices, a letter alone."""
TEMPLATE = "{question}\n\n{choices}\n\nReply with ANSWER: and one of {letters}."
N_SHUFFLED = 3


def questions() -> list[dict[str, Any]]:
    """The first questions of the mini benchmark."""
    lines = (ROOT / "edu_rag" / "mini" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[: len(REPLIES)]]


def inspect_logs(out: Path) -> None:
    """`choice.eval`: with ids, tokens and dollars. `shuffled.json`: no ids, shuffled choices, two epochs."""
    from inspect_ai import Task, eval  # noqa: A004 - its name there
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    def outputs(replies: list[str]) -> Iterator[ModelOutput]:
        for number, reply in enumerate(replies):
            output = ModelOutput.from_content("mockllm/model", reply)
            output.usage = ModelUsage(
                input_tokens=80 + number,
                input_tokens_cache_read=20,
                output_tokens=5 + number,
                total_tokens=105 + 2 * number,
                total_cost=0.0001 * (number + 1),
            )
            yield output

    def run(samples: list[Sample], replies: list[str], name: str, **options: Any) -> None:
        data = MemoryDataset(samples, name="mini")
        if name.endswith(".json"):
            data.shuffle_choices(seed=7)
        task = Task(dataset=data, solver=multiple_choice(template=TEMPLATE), scorer=choice(), name=Path(name).stem)
        model = get_model("mockllm/model", custom_outputs=outputs(replies))
        with tempfile.TemporaryDirectory() as folder:
            suffix = Path(name).suffix.removeprefix(".")
            eval(task, model=model, log_dir=folder, log_format=suffix, max_samples=1, display="none", **options)
            (log,) = Path(folder).glob(f"*.{suffix}")
            (out / name).write_bytes(log.read_bytes())

    asked = questions()
    samples = [
        Sample(id=q["id"], input=q["question"], choices=list(q["choices"].values()), target=q["answer"].upper())
        for q in asked
    ]
    run(samples, list(REPLIES), "choice.eval")
    for sample in samples:
        sample.id = None
    replies = ["ANSWER: B", "I think of A.\n\nANSWER: A", "I don't know."] * 2
    run(samples[:N_SHUFFLED], replies, "shuffled.json", epochs=2)


def lm_eval_samples(out: Path) -> None:
    """`samples_*.jsonl`: choices ranked by their texts, by their letters, and generated answers with two filters."""
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class Replies(LM):  # type: ignore[misc]
        """Ranks by a checksum, and generates the replies in order."""

        def loglikelihood(self, requests: list[Any], **_: Any) -> list[tuple[float, bool]]:
            return [(-(zlib.crc32(repr(one.args).encode()) % 1_000) / 50, False) for one in requests]

        def loglikelihood_rolling(self, requests: list[Any], **_: Any) -> list[float]:
            raise NotImplementedError

        def generate_until(self, requests: list[Any], **_: Any) -> list[str]:
            return list(REPLIES[: len(requests)])

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [
            {
                "question_id": q["id"],
                "question": q["question"],
                "choices": list(q["choices"].values()),
                "key": q["answer"],
            }
            for q in questions()
        ]
        (folder / "mini.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        for task, text in _tasks(folder / "mini.jsonl").items():
            (folder / f"{task}.yaml").write_text(text, encoding="utf-8")
        tasks = list(_tasks(folder))
        found = simple_evaluate(
            model=Replies(), tasks=tasks, task_manager=TaskManager(include_path=name), bootstrap_iters=0
        )
        samples = found.pop("samples")
        tracker = EvaluationTracker(output_path=name)
        tracker.general_config_tracker.model_name_sanitized = "replies"
        tracker.save_results_aggregated(results=found, samples=samples)
        for task in tasks:
            tracker.save_results_samples(task_name=task, samples=samples[task])
            (path,) = folder.glob(f"**/samples_{task}_*.jsonl")
            (out / f"samples_{task}.jsonl").write_bytes(path.read_bytes())


def _tasks(data: Path) -> dict[str, str]:
    """The tasks' files, as one writes them for lm-eval."""
    listed = "{% for one in choices %}{{'ABCDEFGH'[loop.index0]}}. {{one}}\\n{% endfor %}"
    head = f"dataset_path: json\ndataset_kwargs:\n  data_files: {{test: {data}}}\ntest_split: test\n"
    target = "doc_to_target: \"{{'abcdefgh'.index(key)}}\"\n"
    ranked = f"{head}output_type: multiple_choice\n{target}"
    return {
        "mini_texts": f'task: mini_texts\n{ranked}doc_to_text: "{{{{question}}}}\\nAnswer:"\n'
        'doc_to_choice: "{{choices}}"\nmetric_list: [{metric: acc}, {metric: acc_norm}]\n',
        "mini_letters": f'task: mini_letters\n{ranked}doc_to_text: "{{{{question}}}}\\n{listed}Answer:"\n'
        "doc_to_choice: \"{{'ABCDEFGH'[:choices|length]|list}}\"\nmetric_list: [{metric: acc}]\n",
        "mini_generated": f"task: mini_generated\n{head}output_type: generate_until\n"
        'doc_to_target: "{{key|upper}}"\n'
        f'doc_to_text: "{{{{question}}}}\\n{listed}Answer:"\ngeneration_kwargs: {{until: ["###"], max_gen_toks: 32}}\n'
        "filter_list:\n"
        "  - {name: letter, filter: [{function: regex, regex_pattern: 'ANSWER: ([A-G])'}, {function: take_first}]}\n"
        "  - {name: whole, filter: [{function: take_first}]}\n"
        "metric_list: [{metric: exact_match, ignore_case: true}]\n",
    }


def main() -> None:
    """Write the files of one package."""
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else OUT
    out.mkdir(parents=True, exist_ok=True)
    {"inspect": inspect_logs, "lm-eval": lm_eval_samples}[sys.argv[1]](out)


if __name__ == "__main__":
    main()
