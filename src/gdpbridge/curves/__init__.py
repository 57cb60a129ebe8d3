"""What measuring sees of a mechanism: curves, their tails, and single points proved."""
