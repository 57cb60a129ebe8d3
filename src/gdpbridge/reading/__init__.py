"""Text, files and data frames as numbers: cells, rows, tables and loss files."""
