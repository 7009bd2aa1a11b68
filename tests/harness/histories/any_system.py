"""Histories of any pair, which has a source and a copy."""

from histories import History


def pair() -> History:
    return History().start("master").start("slave")


def at_rest(*writes: str) -> History:
    """A few writes, no trouble, and the end of the trial."""
    story = pair()
    for each in writes:
        story.written(each)
    return story.mark("heal").after(50).mark("converged")
