"""What can be followed to from an object: for tests of what a sealed view holds."""

import gc
import types

import numpy as np

SECRET = 0.123456789


def reachable(root: object) -> list[object]:
    """Everything that can be followed to, short of classes, modules and functions."""
    seen: dict[int, object] = {}
    stack = [root]
    while stack:
        one = stack.pop()
        if id(one) in seen or isinstance(one, (type, types.ModuleType, types.FunctionType)):
            continue
        seen[id(one)] = one
        stack.extend(gc.get_referents(one))
        if isinstance(one, np.ndarray) and one.base is not None:
            stack.append(one.base)
    return list(seen.values())


def holds_secret(root: object) -> bool:
    """Whether ``SECRET`` can be followed to."""
    return any(
        (isinstance(one, float) and one == SECRET)
        or (isinstance(one, np.ndarray) and bool(np.isin(SECRET, one).any()))
        for one in reachable(root)
    )
