"""Base of laws that do not apply with offsetCheckInSlave: a slave may then move a consumer past messages it lacks."""

from ...law import Law


class NeverMoved(Law):
    def applies(self) -> bool:
        return not self.known.consumption.corrects_on_slaves()
