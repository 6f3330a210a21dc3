"""Which Phalanx this package belongs to. A test keeps it the same as the program's own."""

__version__ = "0.1.0"
