"""Labelling evidence: which sentences of a question's pages support its gold answer, by named, versioned methods."""

from builder.evidence.methods import DEFAULT_METHODS as DEFAULT_METHODS
from builder.evidence.methods import METHODS as METHODS
from builder.evidence.methods import EvidenceMethod as EvidenceMethod
from builder.evidence.methods import check_methods as check_methods
from builder.evidence.methods import label_evidence as label_evidence
