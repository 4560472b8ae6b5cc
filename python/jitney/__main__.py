"""Lets `python -m jitney` stand in for the command."""

from jitney.cli import main

main()
