"""What a model with state remembers between the runs of one stream."""

from __future__ import annotations

from jitney import _core


class State:
    """The state of one stream of runs; Session.new_state() makes one, Session.run(…, state=…) uses and updates it."""

    def __init__(self, core: _core.State) -> None:
        """Called by Session.new_state()."""
        self._core = core

    def reset(self) -> None:
        """Zeros again, as at the start."""
        self._core.reset()
