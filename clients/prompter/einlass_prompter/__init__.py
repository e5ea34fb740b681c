"""Shows the prompts of einlass in GTK 3 windows. Start with `Windows`."""

from .windows import Windows

__all__ = ["Windows"]
