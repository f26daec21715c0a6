"""When a model gives no reply: one question is rejected, or, after several in a row, the run ends."""

from __future__ import annotations

import threading

from edu_rag.errors import NoReplyError, SubmissionError

MAX_IN_A_ROW = 5


class FailedRequests:
    """Counts the requests to one model in a row that got no reply. Threads may share it.

    A request that the server refuses does not count once the model has replied to another: it is the fault of that
    request. A server that refuses all requests, or that is away, ends the run.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._n_in_a_row, self._has_replied = 0, False

    def replied(self) -> None:
        """Count from 0 again."""
        with self._turn:
            self._n_in_a_row, self._has_replied = 0, True

    def failed(self, error: SubmissionError) -> NoReplyError:
        """The failure of this one request. Raises SubmissionError, which ends the run, after MAX_IN_A_ROW."""
        with self._turn:
            if not (self._has_replied and isinstance(error, NoReplyError)):
                self._n_in_a_row += 1
            if self._n_in_a_row >= MAX_IN_A_ROW:
                raise SubmissionError(error.where, error.what, error.remedy)
        return NoReplyError(error.where, error.what, error.remedy)
