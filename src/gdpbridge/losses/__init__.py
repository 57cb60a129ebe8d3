"""Privacy losses and their composition, between a law above and a law below: numbers only."""
