"""The words of a report that need explaining, at the foot of its page."""

WORDS = {
    "BaseGen, ValGen, NovelGen": (
        "mean accuracy on tasks of the base classes (trained on), the validation classes and the "
        "novel classes (neither)"
    ),
    "strategy": (
        "how a snapshot stands for a method: what picks the epoch / what picks the configuration; "
        "val / val picks both by ValGen"
    ),
    "oracle": "a strategy that reads novel scores: a reference, which nobody could use",
    "regret": "points of NovelGen that a strategy lost against oracle / oracle",
    "trained again": (
        "about methods: what other seeds would give, with tasks and the selection inside"
    ),
    "these snapshots": "about the networks that were trained: other tasks, the same training",
    "+- with selection": (
        "half of the 95 % interval of a method, trained again: seeds and tasks are resampled, and "
        "each resample is selected anew"
    ),
    "overtuning": (
        "points that the chosen configuration is below the first one of the grid; above 0, "
        "choosing did harm"
    ),
}
"""Each with its explanation."""
