"""Results as versioned plain data, and what is made from it: text for a person, JSON for a program."""
