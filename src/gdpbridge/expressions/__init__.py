"""Formulas as text: a strict grammar, an immutable tree, and what is made of the tree.

No text is ever handed to Python: the grammar knows numbers, names, a few functions, and no more.
"""
