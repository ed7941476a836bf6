"""Shapes of what passes between the parts of a learner."""

from jaxtyping import Float
from torch import Tensor

Images = Float[Tensor, "n c h w"]
Features = Float[Tensor, "n d"]
Support = Float[Tensor, "task way shot d"]
Query = Float[Tensor, "task m d"]
Logits = Float[Tensor, "task m way"]
SupportImages = Float[Tensor, "task way shot c h w"]
QueryImages = Float[Tensor, "task m c h w"]
Loss = Float[Tensor, ""]
