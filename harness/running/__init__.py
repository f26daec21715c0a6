"""Running a system: child process, time limits, resume, cache, the record of a run."""
