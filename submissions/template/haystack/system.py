"""A Haystack pipeline. To make it yours, change the lines marked CHANGE."""

from haystack import Pipeline, component
from haystack.components.builders import PromptBuilder

from baselines.retrieve.best_passages import best_passages
from edu_rag import serve
from edu_rag.adapters import haystack_pipeline, stand_in


@component
class StandInGenerator:
    @component.output_types(replies=list[str])
    def run(self, prompt: str):
        return {"replies": [stand_in(prompt)]}


PROMPT = """Answer from the documents, {% if choices %}with one letter alone
{%- else %}in a few words{% endif %}, or with I don't know.
{% for document in documents %}
{{ document.content }}
{% endfor %}
Question: {{ question }}
{{ choices }}
Answer:"""

# CHANGE: your pipeline. Its inputs may be question, choices, context (texts) and documents (a list of Documents).
pipeline = Pipeline()
pipeline.add_component("prompt", PromptBuilder(PROMPT, required_variables="*"))
# CHANGE: your model, such as OpenAIGenerator(model="…"). The stand-in has no weights.
pipeline.add_component("model", StandInGenerator())
pipeline.connect("prompt", "model")

# CHANGE: how many passages it reads, or your own function from a question to passages.
serve(haystack_pipeline(pipeline, find=best_passages(5)))
