"""Transforms F(w) = E_Q[e^{wL}; L finite] of privacy losses, one kind a file."""
