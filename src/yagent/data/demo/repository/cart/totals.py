"""What a cart costs."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Line:
    """One article of a cart."""

    name: str
    price: Decimal
    count: int = 1


def total(lines: Iterable[Line]) -> Decimal:
    """The sum of all lines, to the cent."""
    return to_cent(sum((line.price * line.count for line in lines), Decimal(0)))


def discounted(amount: Decimal, percent: Decimal) -> Decimal:
    """The amount after a discount, to the cent."""
    return to_cent(amount * (100 - percent) / 100)


def to_cent(amount: Decimal) -> Decimal:
    """Round half a cent up."""
    return amount.quantize(CENT)
