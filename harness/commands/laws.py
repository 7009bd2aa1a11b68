"""``pairproof laws``: list the laws: what each promises, where the promise comes from, and what it must see.

Laws are whatever is registered as ``pairproof.laws``; nothing is judged here.
"""

from __future__ import annotations

import click

from .output import json_option, table, write_json


@click.command("laws")
@json_option
def command(json_to: str | None) -> None:
    """List the laws by what they are about: id, kind (durability, protocol, or a convention of the system's), promise,
    source, and the kinds of event without which a law cannot be observed.
    """
    from ..judging import judge
    from ..judging.law_groups import group_of, grouped

    found = [
        {
            "id": law.id, "group": group_of(law.id), "promise": law.promise, "source": law.source,
            "needs": sorted(law.needs), "kind": law.kind,
        }
        for law in judge.all_laws()
    ]  # fmt: skip
    if json_to is not None:
        write_json(found, json_to)
        return
    rows = {
        law.id: (law.id, law.kind, law.promise, law.source, " ".join(sorted(law.needs))) for law in judge.all_laws()
    }
    for title, members in grouped(rows):
        table(title, ("law", "kind", "promise", "source", "needs"), [rows[law] for law in members])
