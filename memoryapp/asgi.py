"""The ASGI application: static files, pages and sockets, each behind its door."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

from django.core.asgi import get_asgi_application

django_app = get_asgi_application()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402 - needs the loaded app registry
from django.conf import settings  # noqa: E402
from django.urls import path  # noqa: E402
from servestatic import ServeStaticASGI  # noqa: E402

from chat.consumers import ChatConsumer  # noqa: E402
from memoryapp.bodies import BoundedBody  # noqa: E402
from memoryapp.middleware import GuardedSocket  # noqa: E402

# The wrapper, not the middleware: ServeStatic's middleware is async only (traps B1).
static = ServeStaticASGI(django_app, root=settings.STATIC_ROOT, prefix=settings.STATIC_URL)
application = ProtocolTypeRouter(
    {
        "http": BoundedBody(static),
        "websocket": GuardedSocket(URLRouter([path("ws/", ChatConsumer.as_asgi())])),  # type: ignore[arg-type, list-item]
    }
)
