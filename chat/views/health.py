"""`/live` and `/ready`, for what watches this process: a container's health check, a proxy, a script.

They need no login, and tell a stranger nothing but that. `memoryapp.health_checks.HealthChecks` answers them
before hosts are compared and HTTPS is required: a container is asked by its address, over plain HTTP.
"""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from chat.actions.readiness import readiness
from chat.llm.registry import registry


@login_not_required
@require_safe
def live(_request: HttpRequest) -> JsonResponse:
    """Return that this process runs. Uses no database."""
    return JsonResponse({"live": True})


@login_not_required
@require_safe
def ready(_request: HttpRequest) -> JsonResponse:
    """Return whether this process can serve people, with the state of the model; otherwise 503.

    A missing model does not count: pages work without one, and an admin chooses one on a page. In server mode
    one that is being connected after the start counts for 30 s. Why it is not ready is in the log.
    """
    is_ready = readiness.find_reason() is None
    response = JsonResponse(
        {"ready": is_ready, "model": registry.status().state.value}, status=200 if is_ready else 503
    )
    # Otherwise Django logs each response of this status. Changes are logged once.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response
