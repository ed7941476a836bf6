"""Image pools, few-shot benchmarks and the tasks that are drawn from them."""

if __name__ != "fsl_sweep.datasets":
    raise ImportError(
        f"This folder was imported as '{__name__}', but it is the package 'fsl_sweep.datasets': "
        "a top-level package of that name could shadow another project's. "
        "Write 'import fsl_sweep.datasets'."
    )
