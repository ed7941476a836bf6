"""Studies of a run beyond its report: ``analyze``, ``compare``, ``coverage`` and ``plan-next``."""
