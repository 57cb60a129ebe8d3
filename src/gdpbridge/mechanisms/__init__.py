"""Mechanisms as frozen values: the contract, the registry, and one file a kind."""
