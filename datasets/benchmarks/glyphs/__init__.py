"""Procedural handwriting, which needs no download."""
