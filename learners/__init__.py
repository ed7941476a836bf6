"""Few-shot learners: backbones, heads and the methods that join them."""

if __name__ != "fsl_sweep.learners":
    raise ImportError(
        f"This folder was imported as '{__name__}', but it is the package 'fsl_sweep.learners': "
        "a top-level package of that name could shadow another project's. "
        "Write 'import fsl_sweep.learners'."
    )
