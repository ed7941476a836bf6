"""rich's console for text that others wrote: it is shown as it is, and steers nothing."""

from collections.abc import Iterable
from typing import Any, final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from fsl_sweep.orchestrator.printed import printable


@final
class SafeConsole(Console):
    """A console that writes control characters out, and reads no markup in plain strings.

    rich's own codes, for colours and the cursor, are no text and pass. Arguments are rich's.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of a renderable, each safe to be written."""
        for segment in super().render(renderable, options):
            safe = segment.text if segment.control else printable(segment.text)
            yield segment if safe == segment.text else Segment(safe, segment.style)
