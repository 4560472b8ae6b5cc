"""Lets `python -m jitney.cli` stand in for the command."""

from jitney.cli import main

main()
