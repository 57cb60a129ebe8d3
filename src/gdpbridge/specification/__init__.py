"""Mechanisms as plain data: specification files, their schema, titles and release facts."""
