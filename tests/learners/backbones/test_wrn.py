import torch
from small import backbone, normal
from torch.nn.functional import batch_norm, conv2d


def test_features_equal_the_textbook_network():
    network = backbone("wrn-16-10", (3, 32, 32)).eval()
    weights = network.state_dict()

    def ready(maps, norm):
        names = ("running_mean", "running_var", "weight", "bias")
        return batch_norm(maps, *(weights[f"{norm}.{name}"] for name in names)).relu()

    images = normal(2, 3, 32, 32, dtype=torch.float32)
    maps = conv2d(images, weights["stem.weight"], padding=1)
    for number, stride in enumerate([1, 1, 2, 1, 2, 1]):
        block = f"blocks.{number}"
        start = ready(maps, f"{block}.norm1")
        inner = conv2d(start, weights[f"{block}.convolution1.weight"], stride=stride, padding=1)
        inner = ready(inner, f"{block}.norm2")
        inner = conv2d(inner, weights[f"{block}.convolution2.weight"], padding=1)
        if number % 2 == 0:
            maps = conv2d(start, weights[f"{block}.projection.weight"], stride=stride)
        maps = maps + inner
    assert maps.shape == (2, 640, 8, 8)
    expected = ready(maps, "norm").mean(dim=(2, 3))
    with torch.inference_mode():
        torch.testing.assert_close(network(images), expected, rtol=1e-4, atol=1e-4)
