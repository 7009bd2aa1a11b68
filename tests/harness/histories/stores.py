"""Histories of pairs whose logs differ."""

from histories import H, pair


def unequal(size: int = 400) -> H:
    """A slave of another file size has connected, and got a message."""
    story = H().config("master").config("slave", mappedFileSizeCommitLog=size).start("master").start("slave")
    return story.connect().report(0).sent("m0")


def stops(story: H) -> H:
    """The slave sees what does not fit, and closes."""
    return story.put("m1").frame(100, 200).after(1).close("s", f="local").close("m")


def rolled_back() -> H:
    """The master lost m1, which its slave holds, and wrote something else in its place."""
    lost = pair().sent("m0").sent("m1").crash("master", "machine").close("s").restart("master", 100)
    return lost.put("m2").put("m3")
