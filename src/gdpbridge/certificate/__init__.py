"""Certificates: a claim about μ that someone else can check."""
