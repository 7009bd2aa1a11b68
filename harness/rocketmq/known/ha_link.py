"""What is known of one HA connection. Left out: what its bytes said, which is each law's own business."""


class Link:
    """One HA connection as the master's end knows it."""

    __slots__ = ("first", "incarnation", "open", "peer", "valid")

    def __init__(self, peer: str, incarnation: int) -> None:
        self.peer = peer
        self.incarnation = incarnation
        """The master's, when it accepted."""
        self.open = True
        self.first: int | None = None
        """The first report that reached the master."""
        self.valid = False
        """Whether that report was one that an honest slave could have made."""
