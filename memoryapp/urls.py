"""All addresses in one place."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import path

from chat.views import chats, graph, health, memory, replies

urlpatterns = [
    path("", chats.home, name="home"),
    path("c/<uuid:pk>/", chats.conversation, name="conversation"),
    path("c/<uuid:pk>/after/<int:seq>/", chats.messages_after, name="messages_after"),
    path("c/<uuid:pk>/flush/", chats.flush, name="flush"),
    path("c/<uuid:pk>/care/", health.care, name="care"),
    path("c/<uuid:pk>/end/", health.end, name="end"),
    path("c/<uuid:pk>/memory/", health.memory_mode, name="memory_mode"),
    path("send/", chats.send, name="send"),
    path("m/<uuid:pk>/", replies.message, name="message"),
    path("m/<uuid:pk>/stop/", replies.stop, name="stop"),
    path("m/<uuid:pk>/retry/", replies.retry, name="retry"),
    path("m/<uuid:pk>/used/", replies.used, name="used"),
    path("memory/", memory.panel, name="memory"),
    path("memory/graph/", graph.graph, name="memory_graph"),
    path("memory/pill/", memory.pill, name="memory_pill"),
    path("memory/health/", health.health, name="memory_health"),
    path("memory/add/", memory.add, name="fact_add"),
    path("memory/undo/<uuid:pk>/", memory.undo, name="undo"),
    path("memory/<uuid:pk>/", memory.fact, name="fact"),
    path("memory/<uuid:pk>/edit/", memory.edit, name="fact_edit"),
    path("memory/<uuid:pk>/pin/", memory.pin, name="fact_pin"),
    path("memory/<uuid:pk>/delete/", memory.delete, name="fact_delete"),
    path("login/", auth.LoginView.as_view(), name="login"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("admin/", admin.site.urls),
]
