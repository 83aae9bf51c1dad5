"""The ways in which nodes are bought: the words of the language, of the catalogue and of the recorded spec."""

import enum


class CapacityKind(enum.StrEnum):
    """Its values are plain text in blueprints, in the catalogue's files and in records."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    """Cheap, and reclaimed at short notice."""
    RESERVED = "reserved"
    """Taken from a reservation, which is billed on demand."""
    BLOCK = "block"
    """Bought ahead for a number of days."""
    FLEX = "flex"
    """Given when the cloud has it, for a limited time."""
    OWNED = "owned"
    """The machines exist already: on bare metal and on this machine nothing is bought. A blueprint can't request it."""

    @property
    def is_bought_ahead(self) -> bool:
        """Say whether the purchase has an identifier, is in one zone and brings its own placement."""
        return self in (CapacityKind.RESERVED, CapacityKind.BLOCK)

    @property
    def billed_as(self) -> "CapacityKind":
        """Name the kind whose price it has.

        Both clouds bill a reservation on demand: EC2 User Guide, Capacity Reservation pricing and billing; Compute Engine, reservations of zonal resources.
        """
        return CapacityKind.ON_DEMAND if self is CapacityKind.RESERVED else self
