"""One training run, epoch by epoch. It does not know Ray."""
