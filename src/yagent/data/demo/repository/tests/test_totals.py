import unittest
from decimal import Decimal

from cart import Line, discounted, total


class Totals(unittest.TestCase):
    def test_adds_lines(self):
        self.assertEqual(total([Line("pen", Decimal("1.20"), 3), Line("ink", Decimal("4.05"))]), Decimal("7.65"))

    def test_empty_cart_costs_nothing(self):
        self.assertEqual(total([]), Decimal("0.00"))

    def test_discount(self):
        self.assertEqual(discounted(Decimal("10.00"), Decimal("25")), Decimal("7.50"))


if __name__ == "__main__":
    unittest.main()
