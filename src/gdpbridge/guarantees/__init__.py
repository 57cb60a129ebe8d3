"""What sets of guarantees imply about a privacy profile."""
