"""Django settings from environment variables; the defaults are the private, local mode."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from memoryapp.account_settings import *  # noqa: F403 - Django reads the settings of this module
from memoryapp.base import env, logs
from memoryapp.base.passphrase import is_encrypted
from memoryapp.base.public_address import envnetworks, envorigins, envpath
from memoryapp.base.secret_key import load_secret_key
from memoryapp.base.service_urls import parse_database_url, parse_redis_url

# NumPy needs one thread for the comparisons of vectors (a fraction of a millisecond). More threads would
# compete with the language model for the cores and take ten times as long while it runs. NumPy reads these
# variables once, when it is imported.
for _pool in ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_pool, "1")

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.data_dir()

# Where files are while they are received. A start empties it, so that a killed request leaves none.
FILE_UPLOAD_TEMP_DIR = env.private_folder(DATA_DIR / "incoming")
if is_encrypted(DATA_DIR):
    # Bytes: more than an upload may have then, so none is written to the disk before it is encrypted.
    FILE_UPLOAD_MAX_MEMORY_SIZE = 66 << 20

# "local": one owner on loopback, without a login. "server": everybody logs in.
MODE = env.envchoice("MODE", ("local", "server"))
DEBUG = env.envbool("DEBUG", False)


_DATABASE_URL = env.envstr("DATABASE_URL").strip()
SECRET_KEY = env.envstr("SECRET_KEY") or load_secret_key(
    DATA_DIR, None if _DATABASE_URL else env.database_path(), sys.argv[1:]
)

LOOPBACK_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
ALLOWED_HOSTS = env.envlist("ALLOWED_HOSTS", [] if MODE == "server" else LOOPBACK_HOSTS)

# In server mode, how browsers reach it: origins beside the one that the Host header says, the path in front
# of all addresses, and the proxies whose X-Forwarded headers count (`memoryapp.proxies`).
_IS_SERVER = MODE == "server"
ALLOWED_ORIGINS = CSRF_TRUSTED_ORIGINS = envorigins("ALLOWED_ORIGINS") if _IS_SERVER else []
BASE_PATH = envpath("BASE_PATH") if _IS_SERVER else ""
TRUSTED_PROXIES = envnetworks("TRUSTED_PROXIES") if _IS_SERVER else []
if BASE_PATH:
    FORCE_SCRIPT_NAME = SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = LANGUAGE_COOKIE_PATH = BASE_PATH

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
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "allauth.socialaccount",
    "chat",
]

MIDDLEWARE = [
    "memoryapp.middleware.FreshConnections",
    "memoryapp.middleware.ContentSecurityPolicy",
    "memoryapp.middleware.RejectForwarded",
    "memoryapp.middleware.ForeignPages",
    "memoryapp.health_checks.HealthChecks",
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "memoryapp.middleware.SameOrigin",
    "memoryapp.middleware.TokenScopes",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "memoryapp.middleware.LocalOwner",
    "allauth.account.middleware.AccountMiddleware",
    "memoryapp.session_activity.RecordSessions",
    "memoryapp.middleware.OwnerPreferences",
    "memoryapp.middleware.PageForNotAllowed",
    "memoryapp.upload_limits.RejectTooLarge",
    "memoryapp.middleware.LoginForPages",
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
                "chat.views.context.page_context",
            ],
        },
    },
]

# BEGIN IMMEDIATE and WAL: without them, 96 of 240 read-then-write transactions in four threads failed with
# "database is locked" (measured), with them none. The test database is a file, since a live server cannot
# share one in memory.
_SQLITE: dict[str, Any] = {
    "ENGINE": "memoryapp.encrypted_sqlite" if is_encrypted(DATA_DIR) else "memoryapp.sqlite",
    "NAME": env.database_path(),
    "OPTIONS": {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        # What is deleted is overwritten in the file. Debian's SQLite does so by itself, others do not.
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;",
    },
    "TEST": {"NAME": DATA_DIR / "test.sqlite3"},
}
# With PostgreSQL, the most connections of this process: as many as threads of requests and sockets.
_POOL_SIZE = env.envint("DATABASE_POOL_SIZE", 32)
DATABASES: dict[str, Any] = {
    "default": parse_database_url(_DATABASE_URL, _POOL_SIZE) if _DATABASE_URL else _SQLITE
}
if DATABASES["default"]["ENGINE"] == _SQLITE["ENGINE"]:
    env.tighten_file(Path(DATABASES["default"]["NAME"]))
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# In server mode with PostgreSQL: what several processes tell each other about replies, events and limits.
REDIS_URL = parse_redis_url(
    env.envstr("REDIS_URL").strip(), is_server=MODE == "server", has_database=bool(_DATABASE_URL)
)
# How the names of all keys begin, where several installations share a Redis.
REDIS_PREFIX = env.envstr("REDIS_PREFIX").strip() or "memoryapp"

# Reaches the pages of this process; chat.actions.events passes events on to other processes. It carries
# control events only, since it drops messages when more than 100 wait.
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "memoryapp.channel_layer.ChannelLayer",
        # In seconds. By default a tab that is open for more than a day gets no events any more; sockets leave
        # their groups themselves.
        "CONFIG": {"group_expiry": 10 * 365 * 86_400},
    }
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "chat" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = env.envzone("TIME_ZONE") or env.local_zone()

STATIC_URL = f"{BASE_PATH}/static/"
STATIC_ROOT = env.static_root()
STATICFILES_DIRS = [BASE_DIR / "static"]

# Attempts to log in are counted here. With the default of 300 entries others could push out an account's
# count.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}
if REDIS_URL:
    # With Redis for all processes together.
    CACHES["default"] = {
        "BACKEND": "memoryapp.shared_cache.SharedCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": f"{REDIS_PREFIX}:cache",
        "OPTIONS": {"socket_timeout": 1.0, "socket_connect_timeout": 1.0},
    }

# The same form as Django 6's setting of this name, so that our middleware can be replaced by Django's.
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

# In server mode: whether staff can read everybody's chats and memories on the admin site. Users are told so.
ADMIN_READS_CHATS = env.envbool("ADMIN_READS_CHATS", False)
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
if MODE == "server":
    SECURE_SSL_REDIRECT = env.envbool("SSL_REDIRECT", True)
    SECURE_HSTS_SECONDS = env.envint("HSTS_SECONDS", 31_536_000)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    if not TRUSTED_PROXIES and env.envbool("BEHIND_PROXY", False):
        SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
        # The address of the client is the last one that the proxy adds to X-Forwarded-For.
        ALLAUTH_TRUSTED_PROXY_COUNT = 1

# "off": this server leaves background work to `manage.py run_jobs`, which needs PostgreSQL.
JOBS = env.envchoice("JOBS", ("on", "off"))
# Where several processes share a database, one that is silent for so many seconds is taken for dead.
PROCESS_DEAD_SECONDS = env.envfloat("PROCESS_DEAD_SECONDS", 30.0)

# The model's window in tokens; 0 chooses by the machine's memory.
WINDOW = env.envint("WINDOW", 0)
# Calls that each model server works on at the same time; 0 for what the server says.
PROVIDER_PLACES = env.envint("PROVIDER_PLACES", 0)
if not 0 <= PROVIDER_PLACES <= 1024:
    raise env.BadValue(f"PROVIDER_PLACES must be between 0 and 1024, not {PROVIDER_PLACES}.")
# In local mode: search this machine for model servers of other programs, such as Ollama, and show their
# models on the pages.
FIND_MODEL_SERVERS = env.envbool("FIND_MODEL_SERVERS", True)
# MiB for the cached prompts of inactive conversations, 28 KiB a token with the default model: in memory, and
# beyond that in files of the data folder. With 0 for both, prompts are read again instead.
PARKING_MIB = env.envint("PARKING_MIB", 256)
PARKING_DISK_MIB = env.envint("PARKING_DISK_MIB", 2048)
# In server mode: after so many seconds in the line a reply is given up; 0 waits for any time.
QUEUE_SECONDS = env.envint("QUEUE_SECONDS", 300)
# In server mode: what one person may take of what all share; 0 is no limit.
QUOTA_MESSAGES_A_MINUTE = env.envint("QUOTA_MESSAGES_A_MINUTE", 20)
QUOTA_MODEL_SECONDS_A_DAY = env.envint("QUOTA_MODEL_SECONDS_A_DAY", 0)
QUOTA_IMPORTS_A_DAY = env.envint("QUOTA_IMPORTS_A_DAY", 10)
# Leave passwords, tokens, keys and card numbers out of memory; conversations keep them.
REDACT_SECRETS = env.envbool("REDACT_SECRETS", True)
# Serve Prometheus metrics at /metrics.
METRICS = env.envbool("METRICS", False)

_LEVEL = env.envchoice("LOG_LEVEL", ("WARNING", "DEBUG", "INFO", "ERROR", "CRITICAL"))
LOGGING = logs.build_logging_config(env.envstr("LOG_FORMAT", ""), _LEVEL, ALLOWED_HOSTS)
