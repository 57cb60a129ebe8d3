"""What sets of (ε, δ) statements imply: refinement, envelopes, implicit profiles, decay."""
