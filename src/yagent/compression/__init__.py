"""How a conversation is made to fit its model's window: three tiers, cheapest first, decided in one place."""
