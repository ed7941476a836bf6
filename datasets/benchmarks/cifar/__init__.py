"""Benchmarks made of CIFAR-100."""
