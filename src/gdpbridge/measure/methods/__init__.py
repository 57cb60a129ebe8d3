"""The measuring algorithms, one a file: a module here is a method of its name, by its ``solve``."""
