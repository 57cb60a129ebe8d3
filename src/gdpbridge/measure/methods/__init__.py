"""The measuring algorithms, one a file, each by its ``METHOD``, whose name is the module's."""
