"""Trials on Ray. No other room imports Ray."""
