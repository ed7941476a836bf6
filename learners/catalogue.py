"""The learners that a sweep file can name.

Their modules are imported when they are used: listing them does not import torch.
"""

from typing import TYPE_CHECKING, Any

from fsl_sweep.orchestrator.catalogue import Catalogue, Ours

if TYPE_CHECKING:
    from fsl_sweep.learners.base import Learner


LEARNERS: "Catalogue[Learner[Any]]" = Catalogue(
    "learner",
    "fsl_sweep.learners",
    [
        Ours(
            "protonet",
            "fsl_sweep.learners.methods.protonet:Protonet",
            "Prototypical Networks for Few-shot Learning, arXiv 1703.05175",
            "nearest class mean, trained on episodes",
        ),
        Ours(
            "ridge",
            "fsl_sweep.learners.methods.metaoptnet:Ridge",
            "Meta-Learning with Differentiable Convex Optimization, arXiv 1904.03758",
            "ridge regression solved for each task, trained on episodes",
        ),
        Ours(
            "svm",
            "fsl_sweep.learners.methods.metaoptnet:Svm",
            "Meta-Learning with Differentiable Convex Optimization, arXiv 1904.03758",
            "maximum-margin classifier solved for each task, trained on episodes",
        ),
        Ours(
            "supervised",
            "fsl_sweep.learners.methods.supervised:Supervised",
            "Lessons from Chasing Few-Shot Learning Benchmarks, table 4",
            "classifier over all base classes, tested as nearest class mean",
        ),
        Ours(
            "fomaml",
            "fsl_sweep.learners.methods.maml:Fomaml",
            "Model-Agnostic Meta-Learning, arXiv 1703.03400, section 5.2",
            "network adapted to each task by gradient descent, first-order outer gradient",
        ),
        Ours(
            "maml",
            "fsl_sweep.learners.methods.maml:Maml",
            "Model-Agnostic Meta-Learning, arXiv 1703.03400",
            "network adapted to each task by gradient descent, trained through the adaptation",
        ),
        Ours(
            "meta-baseline",
            "fsl_sweep.learners.methods.meta_baseline:MetaBaseline",
            "Meta-Baseline: Exploring Simple Meta-Learning, arXiv 2003.04390",
            "classifier over all base classes, then trained on episodes by cosine",
        ),
        Ours(
            "ncc",
            "fsl_sweep.learners.methods.ncc:Ncc",
            "Oops, I Sampled it Again, section 2.2, after arXiv 2301.12246",
            "frozen features, cosine to the class centroid",
        ),
        Ours(
            "logistic",
            "fsl_sweep.learners.methods.logistic:Logistic",
            "Oops, I Sampled it Again, section 2.2, after arXiv 2301.12246",
            "frozen features, logistic regression fitted to each task",
        ),
        Ours(
            "finetune",
            "fsl_sweep.learners.methods.finetune:Finetune",
            "Oops, I Sampled it Again, section 2.2, after arXiv 2301.12246",
            "classifier over all base classes, trained on with each task's support",
        ),
        Ours(
            "transfer",
            "fsl_sweep.learners.methods.transfer:Transfer",
            "Advances in MetaDL: AAAI 2021 challenge and workshop, section 4.3",
            "frozen features, new softmax layer trained briefly on each task",
        ),
        Ours(
            "metadelta",
            "fsl_sweep.learners.methods.metadelta:MetaDelta",
            "MetaDelta, arXiv 2102.10744; Advances in MetaDL, section 4.4",
            "ensemble of encoders, soft prototypes; transductive",
        ),
        Ours(
            "pt-map",
            "fsl_sweep.learners.methods.pt_map:PtMap",
            "Leveraging the Feature Distribution in Transfer-based Few-Shot Learning, "
            "arXiv 2006.03806",
            "power transform and optimal transport to class centres; transductive",
        ),
        Ours(
            "conv-qda",
            "fsl_sweep.learners.methods.conv_qda:ConvQda",
            "Advances in MetaDL: AAAI 2021 challenge and workshop, section 4.4",
            "quadratic discriminant analysis of features, trained on episodes",
        ),
        Ours(
            "classifier",
            "fsl_sweep.learners.methods.classifier:Classifier",
            "Two Sides of Meta-Learning Evaluation, figure 2(b) and table 4",
            "plain image classification, on an in-distribution benchmark only",
        ),
        Ours(
            "metadl",
            "fsl_sweep.learners.metadl.learner:Metadl",
            "Advances in MetaDL: AAAI 2021 challenge and workshop, section 3.2",
            "runs a program with the challenge's meta_fit, fit and predict",
        ),
    ],
)
