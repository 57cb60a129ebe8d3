"""Amplify: make a mechanism safer, as a plan with a proved μ and as something that runs."""
