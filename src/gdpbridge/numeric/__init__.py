"""Numbers below the mathematics: exact decimals, and one set of operations on several kinds."""
