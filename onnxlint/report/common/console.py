"""The console that text reports are drawn on, in memory: characters of a text that steer a terminal become visible."""

import io
from collections.abc import Iterable

from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from onnxlint.report.common.printed import printed


class Page(Console):
    """Every text that is drawn passes here, before colours and links are put around it."""

    def __init__(self, *, color: bool, width: int, theme: Theme | None = None) -> None:
        super().__init__(
            file=io.StringIO(),
            width=width,
            force_terminal=color,
            color_system="standard" if color else None,
            no_color=not color,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
            theme=theme,
        )

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Draw; what our own words did not make visible is made so here."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printed(segment.text))

    def lines(self, lines: Iterable[Text]) -> None:
        """Draw lines that are wrapped already; as `print` draws them, which takes ten times as long for each."""
        for line in lines:
            line.expand_tabs()
            if self.no_color:
                self.file.write(f"{printed(line.plain)}\n")
                continue
            for text, style, _ in line.render(self, end="\n"):
                text = printed(text)
                self.file.write(style.render(text, color_system=ColorSystem.STANDARD) if style else text)

    @property
    def drawn(self) -> str:
        """The page, without spaces at the ends of lines."""
        assert isinstance(self.file, io.StringIO)
        return printed("\n".join(line.rstrip(" ") for line in self.file.getvalue().split("\n")), styled=True)
