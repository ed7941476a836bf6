"""Plan, run, record, select and report sweeps of few-shot learners."""

if __name__ != "fsl_sweep.orchestrator":
    raise ImportError(
        f"This folder was imported as '{__name__}', but it is 'fsl_sweep.orchestrator': "
        "a top-level package of that name could shadow another project's. "
        "Write 'import fsl_sweep.orchestrator'."
    )
