"""A LangChain runnable. To make it yours, change the lines marked CHANGE."""

from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda

from baselines.retrieve.best_passages import best_passages
from edu_rag import serve
from edu_rag.adapters import langchain_runnable, stand_in

# CHANGE: your model, such as ChatOpenAI(model="…") of langchain-openai. The stand-in has no weights.
model = RunnableLambda(lambda prompt: stand_in(prompt.to_string()))

# CHANGE: your prompt and chain. It gets question, choices and context (texts), and documents (a list of Documents).
prompt = PromptTemplate.from_template(
    "Answer from the context, with one letter alone, or with I don't know.\n\n"
    "{context}\n\nQuestion: {question}\n{choices}\nAnswer:"
)
free_text = PromptTemplate.from_template(
    "Answer from the context, in a few words, or with I don't know.\n\n{context}\n\nQuestion: {question}\nAnswer:"
)
chain = RunnableLambda(lambda given: prompt if given["choices"] else free_text) | model | StrOutputParser()

# CHANGE: how many passages it reads, or your own function from a question to passages.
serve(langchain_runnable(chain, find=best_passages(5)))
