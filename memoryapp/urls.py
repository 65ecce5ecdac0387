"""All addresses in one place."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import path

from chat.views import (
    batches,
    chats,
    forgetting,
    graph,
    health,
    memory,
    origins,
    replies,
    reports,
    rooms,
    settings,
    topics,
)

urlpatterns = [
    path("", chats.home, name="home"),
    path("rooms/", rooms.listed, name="rooms"),
    path("c/<uuid:pk>/menu/", rooms.room, name="room"),
    path("c/<uuid:pk>/rename/", rooms.rename, name="rename"),
    path("c/<uuid:pk>/pin/", rooms.pin, name="room_pin"),
    path("c/<uuid:pk>/move/", rooms.move, name="move"),
    path("c/<uuid:pk>/", chats.conversation, name="conversation"),
    path("c/<uuid:pk>/after/<int:seq>/", chats.messages_after, name="messages_after"),
    path("c/<uuid:pk>/flush/", chats.flush, name="flush"),
    path("c/<uuid:pk>/care/", health.care, name="care"),
    path("c/<uuid:pk>/end/", health.end, name="end"),
    path("c/<uuid:pk>/strategy/", health.strategy, name="strategy"),
    path("c/<uuid:pk>/memory/", health.memory_mode, name="memory_mode"),
    path("c/<uuid:pk>/topics/", topics.topics, name="topics"),
    path("topics/<uuid:pk>/importance/", topics.importance, name="topic_importance"),
    path("send/", chats.send, name="send"),
    path("m/<uuid:pk>/", replies.message, name="message"),
    path("m/<uuid:pk>/stop/", replies.stop, name="stop"),
    path("m/<uuid:pk>/retry/", replies.retry, name="retry"),
    path("m/<uuid:pk>/edit/", replies.edit, name="message_edit"),
    path("m/<uuid:pk>/flag/", replies.flag, name="message_flag"),
    path("m/<uuid:pk>/used/", replies.used, name="used"),
    path("m/<uuid:pk>/prompt/", reports.report, name="report"),
    path("memory/", memory.panel, name="memory"),
    path("memory/graph/", graph.graph, name="memory_graph"),
    path("memory/pill/", memory.pill, name="memory_pill"),
    path("memory/health/", health.health, name="memory_health"),
    path("memory/add/", memory.add, name="fact_add"),
    path("memory/batch/", batches.batch, name="fact_batch"),
    path("memory/clear/", forgetting.clear, name="clear"),
    path("memory/archive/", origins.archive, name="archive"),
    path("memory/undo/<uuid:pk>/", forgetting.undo, name="undo"),
    path("memory/<uuid:pk>/", memory.fact, name="fact"),
    path("memory/<uuid:pk>/edit/", memory.edit, name="fact_edit"),
    path("memory/<uuid:pk>/pin/", memory.pin, name="fact_pin"),
    path("memory/<uuid:pk>/delete/", forgetting.delete, name="fact_delete"),
    path("memory/<uuid:pk>/origin/", origins.origin, name="origin"),
    path("memory/<uuid:pk>/restore/<uuid:event>/", origins.restore, name="restore"),
    path("memory/<uuid:pk>/back/", origins.bring_back, name="bring_back"),
    path("settings/", settings.page, name="settings"),
    path("login/", auth.LoginView.as_view(), name="login"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("admin/", admin.site.urls),
]
