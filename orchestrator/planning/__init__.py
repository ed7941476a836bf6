"""From a sweep file to its trials, and whether they can be run."""
