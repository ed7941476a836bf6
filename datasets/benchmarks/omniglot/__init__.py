"""Omniglot."""
