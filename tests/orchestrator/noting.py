"""A Tune callback as a user writes one; it is found by name in the process that holds Ray."""

import json
from pathlib import Path

from ray import tune

SEEN = ("trial", "method", "epoch", "BaseGen", "ValGen", "NovelGen", "train_loss", "learning_rate")


class Noting(tune.Callback):
    """Writes a line to a file for whatever it sees."""

    def __init__(self, path):
        self.path = str(path)

    def note(self, event, **content):
        with Path(self.path).open("a") as file:
            file.write(json.dumps({"event": event, **content}) + "\n")

    def setup(self, **info):
        self.note("setup")

    def on_trial_result(self, iteration, trials, trial, result, **info):
        both = {**trial.config, **result}
        self.note("result", **{key: both[key] for key in SEEN if key in both})

    def on_trial_complete(self, iteration, trials, trial, **info):
        self.note("complete", trial=trial.trial_id, epoch=trial.last_result.get("epoch"))

    def on_experiment_end(self, trials, **info):
        self.note("end")


class Failing(tune.Callback):
    def on_trial_start(self, iteration, trials, trial, **info):
        raise KeyError("no such\nkey")
