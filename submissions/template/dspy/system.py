"""A DSPy module. To make it yours, change the lines marked CHANGE."""

import dspy

from baselines.retrieve.best_passages import best_passages
from edu_rag import serve
from edu_rag.adapters import dspy_module, stand_in


class StandInEngine:
    def complete(self, request):
        said = stand_in("\n".join(part.text for part in request.messages[-1].parts))
        text = f"[[ ## answer ## ]]\n{said}\n\n[[ ## completed ## ]]"
        message = dspy.lm15.Message(role="assistant", parts=(dspy.lm15.TextPart(text),))
        usage = dspy.lm15.Usage(input_tokens=0, output_tokens=0)
        return dspy.lm15.Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)


# CHANGE: your model, such as dspy.LM("openai/…"). The stand-in has no weights.
dspy.configure(lm=dspy.LM("stand-in", engine=StandInEngine(), cache=False), track_usage=True)


# CHANGE: your signature, and your module: a compiled one is loaded with module.load("module.json").
class Answer(dspy.Signature):
    """Answer from the context, with one letter alone (a few words if there are no choices), or with I don't know."""

    context: list[str] = dspy.InputField()
    question: str = dspy.InputField()
    choices: str = dspy.InputField()
    answer: str = dspy.OutputField()


# CHANGE: how many passages it reads, or your own function from a question to passages.
serve(dspy_module(dspy.Predict(Answer), find=best_passages(5)))
