"""Preset sweep files, found by name: ``fsl-sweep run quickstart``."""

if __name__ != "fsl_sweep.sweeps":
    raise ImportError(
        f"This folder was imported as '{__name__}', but it is the package 'fsl_sweep.sweeps': "
        "a top-level package of that name could shadow another project's. "
        "Write 'import fsl_sweep.sweeps'."
    )
