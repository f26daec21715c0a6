"""A model behind an OpenAI-compatible endpoint. To make it yours, change the lines marked CHANGE.

EDU_RAG_LLM_URL and EDU_RAG_LLM_MODEL name the endpoint and the model; `edu-rag run … --pass-env EDU_RAG_LLM_KEY` passes
a key. Without a URL, a stub server in this folder answers, so that the system runs at once.
"""

import os

from openai import OpenAI
from stub_server import start

from baselines.retrieve.best_passages import best_passages
from edu_rag import serve
from edu_rag.adapters import openai_chat

# CHANGE: your endpoint and your model, here or in the environment.
url = os.environ.get("EDU_RAG_LLM_URL") or start()
model = os.environ.get("EDU_RAG_LLM_MODEL", "stand-in")
client = OpenAI(base_url=url, api_key=os.environ.get("EDU_RAG_LLM_KEY", "none"))

# CHANGE: how many passages it reads. prompt=… gives a prompt of yours; other options, such as max_tokens=…, are sent.
serve(openai_chat(client, model, find=best_passages(5)))
