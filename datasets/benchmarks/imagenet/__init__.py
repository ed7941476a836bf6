"""Benchmarks made of ImageNet."""
