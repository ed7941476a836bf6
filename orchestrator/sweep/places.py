"""The places that trials run in: placement groups, kept as long as they are of use."""

from collections import Counter
from collections.abc import Collection

from ray.air.execution.resources.placement_group import (
    PlacementGroupAcquiredResources,
    PlacementGroupResourceManager,
)
from ray.air.execution.resources.request import AcquiredResources, ResourceRequest


class Places(PlacementGroupResourceManager):
    """Hands a place that was asked for to the next trial that wants one like it.

    Tune asks for a place for each trial, and takes the request back when a worker becomes free.
    Each of these is a round trip to the head of Ray. And a place on a node that is left out is
    never given back, so that no other trial comes there.
    """

    def __init__(self) -> None:
        super().__init__()
        self._spare: Counter[ResourceRequest] = Counter()
        self._blocked: list[AcquiredResources] = []

    def request_resources(self, resource_request: ResourceRequest) -> None:
        """Take a place that nobody waits for any more, or ask for one."""
        if self._spare[resource_request]:
            self._spare[resource_request] -= 1
        else:
            super().request_resources(resource_request)

    def cancel_resource_request(self, resource_request: ResourceRequest) -> None:
        """Keep the request for another trial."""
        self._spare[resource_request] += 1

    def drop_spare(self, wanted: Collection[ResourceRequest]) -> None:
        """Take back requests of kinds that no trial waits for."""
        for kind in [kind for kind, count in self._spare.items() if count and kind not in wanted]:
            for _ in range(self._spare.pop(kind)):
                super().cancel_resource_request(kind)

    def block(self, acquired: AcquiredResources) -> None:
        """Never give this place back."""
        self._blocked.append(acquired)

    def free_resources(self, acquired_resource: PlacementGroupAcquiredResources) -> None:
        """Give a place back, unless it is blocked."""
        if acquired_resource not in self._blocked:
            super().free_resources(acquired_resource)
