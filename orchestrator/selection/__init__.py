"""Strategies applied to recorded trials: selections, resampling, comparisons."""
