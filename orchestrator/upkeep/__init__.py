"""The upkeep of a run folder, without Ray: what it is given, what it lacks, and what may go."""
