"""The ASGI application: static files, pages and sockets, with the body limit and the socket guard around
them.
"""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup(set_prefix=False)

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402 - needs the loaded app registry
from django.conf import settings  # noqa: E402
from django.urls import path, re_path  # noqa: E402
from servestatic import ServeStaticASGI  # noqa: E402

from chat.consumers import ChatConsumer  # noqa: E402
from memoryapp.proxies import AsgiApp, BasePath, PortOfOrigin, TrustedProxies  # noqa: E402
from memoryapp.shared_threads import RequestHandler, SocketHandler  # noqa: E402
from memoryapp.socket_guard import GuardedSocket, refuse_socket  # noqa: E402
from memoryapp.upload_limits import LimitBody  # noqa: E402


def stand_behind_proxy(inner: AsgiApp) -> AsgiApp:
    """Return the application with the layers that the settings of a reverse proxy ask for."""
    if settings.ALLOWED_ORIGINS:
        inner = PortOfOrigin(inner, settings.ALLOWED_ORIGINS)
    if settings.BASE_PATH:
        inner = BasePath(inner, settings.BASE_PATH)
    return TrustedProxies(inner, settings.TRUSTED_PROXIES) if settings.TRUSTED_PROXIES else inner


# The wrapper and not ServeStatic's middleware, which is asynchronous only.
static = ServeStaticASGI(RequestHandler(), root=settings.STATIC_ROOT, prefix=settings.STATIC_URL)
# Without the last one, a socket at another address raises an error.
sockets = URLRouter([path("ws/", ChatConsumer.as_asgi()), re_path("", refuse_socket)])  # type: ignore[arg-type, list-item]
application = ProtocolTypeRouter(
    {
        "http": stand_behind_proxy(LimitBody(static)),
        "websocket": stand_behind_proxy(SocketHandler(GuardedSocket(sockets))),
    }
)
