"""The Gaussian privacy curve δ_μ(ε) and its inverses: numbers only, no mechanisms."""
