"""The figures of ``fsl-sweep analyze``: studies of a run beyond its report."""
