"""Backbones: networks from images to feature vectors, one a file."""
