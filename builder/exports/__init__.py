"""Exports of a dataset in the formats of other programs: tasks of Inspect and lm-eval, BEIR and TREC folders."""
