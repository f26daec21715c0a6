"""`edu-rag sandbox`: what this machine can enforce on a stranger's system."""

from __future__ import annotations

import click

from harness.commands.options import print_json, print_lines


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
def sandbox(*, as_json: bool) -> None:
    """Show which sandbox protections work on this machine.

    Starts a sandbox and tests it from inside. `edu-rag run` and `edu-rag probe` run every system in one. Exits 1 if a
    protection is missing. If the sandbox does not start at all, those commands need --unsafe-no-sandbox.

    \b
    Example:
      edu-rag sandbox
      edu-rag sandbox --json
    """
    from edu_rag.progress import say

    say("start a sandbox, and test it from inside")

    from harness.sandbox.caps import Caps
    from harness.sandbox.doctor import examine

    checks = examine(Caps())
    whole = all(check.in_force for check in checks)
    if as_json:
        print_json({"in_force": whole, "checks": [check._asdict() for check in checks]})
    else:
        width = max(len(check.name) for check in checks)
        print_lines(
            f"{'ok' if check.in_force else 'MISSING':8}{check.name:{width}}  "
            + ": ".join(filter(None, (check.detail, check.remedy)))
            for check in checks
        )
    if not whole:
        raise SystemExit(1)
