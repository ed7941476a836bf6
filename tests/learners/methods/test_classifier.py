import numpy as np
import torch
from scipy.special import log_softmax

from fsl_sweep.learners.batches import LabelledBatch
from fsl_sweep.learners.building import build_learner


def test_it_is_a_linear_classifier_of_the_features_as_they_are():
    learner = build_learner({"name": "classifier"}, {"name": "identity"}, (1, 4, 4), 7, seed=0)
    images = torch.randn(9, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(9) % 7
    weight, bias = (p.detach().numpy() for p in learner.classifier.parameters())
    logits = images.reshape(9, 16).numpy() @ weight.T + bias
    np.testing.assert_allclose(learner.classify(images).detach(), logits, rtol=1e-5, atol=1e-6)
    expected = -log_softmax(logits, axis=1)[np.arange(9), labels].mean()
    loss = learner.training_loss(LabelledBatch(images, labels)).item()
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
