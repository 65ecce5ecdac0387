"""What one server can do: found by a probe, or known from an earlier probe of the same model."""

from __future__ import annotations

import logging

from chat.errors import ProviderError

from .known_servers import KnownServers
from .protocol import Capabilities
from .server_identity import identify
from .server_probe import probe
from .transport import Transport

logger = logging.getLogger(__name__)


class ServerFindings:
    """Finds what one server can do. `find` is called by one thread at a time, the rest by any.

    A probe waits for several answers of the model, behind everybody's replies. So what was found before is
    used again where the server still names the same model. It is used once: if no call succeeds then, the
    server is probed at the next connection. `is_provisional` is set where the server says something else
    about itself than at the probe, such as another version.
    """

    def __init__(self, transport: Transport, model: str, window: int, stored: KnownServers | None) -> None:
        self.is_provisional = False
        self._transport, self._model, self._window = transport, model, window
        self._stored = stored
        self._known = stored.read(transport.address.api, model) if stored else None
        self._is_confirmed, self._is_reused = True, False

    def find(self, *, afresh: bool) -> Capabilities:
        """Return what the server can do, with `afresh` by a probe in any case; raises ProviderError."""
        try:
            said = identify(self._transport, self._model, self._window)
            known = self._known
            if known and not afresh and self._is_confirmed and _is_same_model(known, said):
                self.is_provisional, self._is_reused = known.mark != said.mark, True
                return said.with_findings_of(known)
            found = probe(self._transport, said)
        except ProviderError:
            raise
        except Exception as error:  # a server may answer with anything, in any shape
            logger.warning("the answer of the model server could not be parsed", exc_info=True)
            raise ProviderError("server-not-a-model-server") from error
        self._known, self._is_confirmed = found, True
        self.is_provisional = self._is_reused = False
        if self._stored is not None:
            self._stored.write(self._transport.address.api, self._model, found)
        return found

    def begin_use(self) -> None:
        """Note that calls go to the server from now on."""
        self._is_confirmed = not self._is_reused

    def confirm(self) -> None:
        """Note that a call succeeded."""
        self._is_confirmed = True

    def adapt(self, found: Capabilities) -> None:
        """Note what a call has found out since."""
        self._known = found

    def forget(self) -> None:
        """Let the server be probed at the next connection."""
        self._known = None


def _is_same_model(known: Capabilities, said: Capabilities) -> bool:
    return (known.kind, known.model) == (said.kind, said.model)
