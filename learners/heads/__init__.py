"""Heads: classifiers that are fitted to the support features of each task, one a file."""
