"""What facts speak of and how it hangs together, by rules over their house style: no model, no Django."""

from .rules import ties
from .tie import Thing, Tie

__all__ = ["Thing", "Tie", "ties"]
