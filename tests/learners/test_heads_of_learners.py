"""What holds of the head of every embedding learner, and the formulas of each."""

from functools import partial

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from small import embedded, features, on_features, unit

from fsl_sweep.learners.heads.prototype import log_densities
from fsl_sweep.learners.heads.svm import solve_dual


def squared(query, centres):
    return np.square(query[:, :, None] - centres[:, None]).sum(-1)


def cosines(query, centres):
    return np.einsum("tmd,tnd->tmn", unit(query), unit(centres))


def by_dual(solved, scale, support, query):
    """Logits of the dual's solution for one-hot targets, a task at a time."""
    S, Y = support.reshape(2, 6, 6), np.eye(3).repeat(2, axis=0)
    logits = [q @ s.T @ solved(s @ s.T, Y) for s, q in zip(S, query, strict=True)]
    return scale * np.stack(logits)


def ridge(lam, kernel, targets):
    return 2 * np.linalg.solve(kernel + lam * np.eye(6), targets)


def svm(C, *task):
    return solve_dual(*(torch.from_numpy(part)[None] for part in task), C).value[0].numpy()


def by_sklearn(support, query):
    model, labels = LogisticRegression(tol=1e-10, max_iter=1000), np.arange(3).repeat(2)
    pairs = zip(unit(support).reshape(2, 6, 6), unit(query), strict=True)
    return np.stack([model.fit(s, labels).predict_log_proba(q) for s, q in pairs])


def gaussian(scale, shrinkage, *task):
    return scale * log_densities(*(torch.from_numpy(part) for part in task), shrinkage).numpy()


SEVEN = {"scale": 7.0, "learn_scale": False}
FORMULAS = [  # of 3-way 2-shot tasks with 6 features; those without options have the papers'
    ("protonet", {}, lambda S, Q: -10 * squared(Q, S.mean(2)) / 6),
    ("protonet", {"scale": 4.0}, lambda S, Q: -4 * squared(Q, S.mean(2)) / 6),
    ("protonet", {"metric": "cosine"}, lambda S, Q: 10 * cosines(Q, S.mean(2))),
    ("ridge", {}, partial(by_dual, partial(ridge, 50), 1)),
    ("ridge", {**SEVEN, "lam": 2.0}, partial(by_dual, partial(ridge, 2), 7)),
    ("svm", {}, partial(by_dual, partial(svm, 0.1), 1)),
    ("svm", {**SEVEN, "C": 0.01}, partial(by_dual, partial(svm, 0.01), 7)),
    ("conv-qda", {}, partial(gaussian, 1, 0.5)),
    ("conv-qda", {"scale": 7.0, "shrinkage": 0.9}, partial(gaussian, 7, 0.9)),
    ("supervised", {}, lambda S, Q: -10 * squared(unit(Q), unit(S).mean(2))),
    ("meta-baseline", {}, lambda S, Q: 10 * cosines(Q, unit(S).mean(2))),
    ("ncc", {}, lambda S, Q: 10 * cosines(Q, unit(S).mean(2))),
    ("logistic", {}, by_sklearn),
]


CASES = {str(formula[:2]): formula for formula in FORMULAS}


@pytest.mark.parametrize("case", CASES)
def test_logits_are_those_of_the_formula_differentiable_and_of_float32_under_autocast(case):
    name, options, formula = CASES[case]
    learner = on_features(name, **options)
    task = embedded(learner, *features(3, 2))
    logits, rtol = learner.head(*task).detach(), 1e-10
    if name == "logistic":
        logits, rtol = logits.log_softmax(dim=-1), 1e-5
    expected = formula(*(part.numpy() for part in features(3, 2)))
    np.testing.assert_allclose(logits, expected, rtol, atol=1e-11)
    if name != "logistic":
        small = [part[:1].requires_grad_() for part in features(3, 2, queries=3)]
        assert torch.autograd.gradcheck(learner.head, small)
    head, task = learner.float().head, [part.float() for part in task]
    expected = head(*task)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(head(*task), expected)
        assert head(*(part.bfloat16() for part in task)).dtype == torch.float32


@pytest.mark.parametrize(
    ("name", "factor", "learned"),
    [
        ("protonet", "scale", False),
        ("ridge", "scale", True),
        ("svm", "scale", True),
        ("meta-baseline", "temperature", True),
    ],
)
def test_the_factor_of_the_logits_is_trained_only_where_it_should_be(name, factor, learned):
    for options, trained in (({}, learned), ({f"learn_{factor}": not learned}, not learned)):
        learner = on_features(name, **options)
        support, query = (part.requires_grad_() for part in features(3, 2))
        learner.head(support, query).square().sum().backward()
        assert bool(getattr(learner, factor).grad) is trained
        assert factor in learner.state_dict()
