"""Shopping carts and what they cost."""

from cart.totals import Line, discounted, total

__all__ = ["Line", "discounted", "total"]
