"""Hyperparameter selectors, one idea a file."""
