"""Settings from the environment; the defaults are the private, local way of running (design §10)."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from memoryapp import env, logs

# NumPy compares vectors in a fraction of a millisecond on one thread; a second pool of threads would fight
# the language model for its cores, and takes ten times as long when they are busy. It reads this once.
for _pool in ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_pool, "1")

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.data_dir()

# "local": this machine's one owner, loopback only. "server": logins everywhere.
MODE = env.envone("MODE", ("local", "server"))
DEBUG = env.envbool("DEBUG", False)


def _secret_key() -> str:
    """Return the key kept in the data folder, made on the first start."""
    if given := env.envstr("SECRET_KEY", ""):
        return given
    path = DATA_DIR / "secret_key"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(64))
    return path.read_text()


SECRET_KEY = _secret_key()

LOOPBACK_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
ALLOWED_HOSTS = env.envlist("ALLOWED_HOSTS", [] if MODE == "server" else LOOPBACK_HOSTS)

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "template_partials",
    "channels",
    "chat",
]

MIDDLEWARE = [
    "memoryapp.middleware.ContentSecurityPolicy",
    "memoryapp.middleware.RefuseForwarded",
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "memoryapp.middleware.SameOrigin",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "memoryapp.middleware.LocalOwner",
    "memoryapp.middleware.OwnersWay",
    "memoryapp.pages.PageForNotAllowed",
    "memoryapp.bodies.TooLarge",
    "memoryapp.pages.LoginForPages",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "memoryapp.urls"
ASGI_APPLICATION = "memoryapp.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["template_partials.templatetags.partials"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "chat.views.context.shell",
            ],
        },
    },
]

# BEGIN IMMEDIATE and WAL: read-then-write in four threads failed 96 times of 240 without (traps C12).
# The test database is a file, since a live server cannot share one in memory (traps C23).
_SQLITE: dict[str, Any] = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": env.database_path(),
    "OPTIONS": {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    },
    "TEST": {"NAME": DATA_DIR / "test.sqlite3"},
}
_DATABASE_URL = env.envstr("DATABASE_URL").strip()
DATABASES: dict[str, Any] = {"default": env.postgresql(_DATABASE_URL) if _DATABASE_URL else _SQLITE}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# In one process; several need Redis. It carries control events only (traps C4).
CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "chat" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = env.envzone("TIME_ZONE") or env.local_zone()

STATIC_URL = "/static/"
STATIC_ROOT = env.static_root()
STATICFILES_DIRS = [BASE_DIR / "static"]

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("MinimumLengthValidator", "CommonPasswordValidator", "NumericPasswordValidator")
]

# Written like Django 6's setting of this name, so that the middleware can go one day.
SECURE_CSP = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "connect-src": ["'self'"],
    "font-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
if MODE == "server":
    SECURE_SSL_REDIRECT = env.envbool("SSL_REDIRECT", True)
    SECURE_HSTS_SECONDS = env.envint("HSTS_SECONDS", 31_536_000)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    if env.envbool("BEHIND_PROXY", False):
        SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# The model's window in tokens; 0 takes what suits the machine (design §4).
WINDOW = env.envint("WINDOW", 0)
# MiB for the cached prompts of conversations that wait their turn, 28 KiB a token with the default model: in
# memory, and beyond that in files of the data folder; with 0 for both they are read again instead.
PARKING_MIB = env.envint("PARKING_MIB", 256)
PARKING_DISK_MIB = env.envint("PARKING_DISK_MIB", 2048)
# Passwords, tokens, keys and card numbers stay out of memory; the chat itself keeps what was said.
REDACT_SECRETS = env.envbool("REDACT_SECRETS", True)
# Numbers for Prometheus at /metrics.
METRICS = env.envbool("METRICS", False)

_LEVEL = env.envone("LOG_LEVEL", ("WARNING", "DEBUG", "INFO", "ERROR", "CRITICAL"))
LOGGING = logs.configuration(env.envstr("LOG_FORMAT", ""), _LEVEL)
