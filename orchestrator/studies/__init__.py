"""Studies of a run beyond its report: one study a file.

Nothing is imported here: the command line lists the studies without loading one.
"""
