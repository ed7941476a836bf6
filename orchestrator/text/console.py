"""rich's console for text that others wrote: without markup and control characters."""

from collections.abc import Iterable
from typing import Any, final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from fsl_sweep.orchestrator.text.printed import printable


@final
class SafeConsole(Console):
    """A console that escapes control characters, and reads no markup in plain strings.

    rich's own codes for colours and the cursor pass. Arguments are rich's.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments of a renderable, escaped."""
        for segment in super().render(renderable, options):
            safe = segment.text if segment.control else printable(segment.text)
            yield segment if safe == segment.text else Segment(safe, segment.style)
