"""What a person's authenticator app does, for tests: a secret and the codes that it shows."""

from __future__ import annotations

import time
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def show_code(secret: str = SECRET, steps: int = 0) -> str:
    """Return the code of now, or of so many half minutes later."""
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))


def switch_on(user: Any) -> list[str]:
    """Switch a person's two-factor on; return the recovery codes."""
    Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={"secret": SECRET})
    return RecoveryCodes.activate(user).generate_codes()
