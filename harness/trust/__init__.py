"""How far a result can be believed: maintainers' runs, warnings, implausible agreement with the gold."""
