"""The product's settings over a throw-away data folder, so that a test never touches anybody's memory."""

import atexit
import os
import shutil
import tempfile

_folder = tempfile.mkdtemp(prefix="memoryapp-tests-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ["DATA_DIR"] = _folder
os.environ["TIME_ZONE"] = "UTC"
_OURS = ("MODE", "MODEL", "MODEL_PATH", "WINDOW", "ALLOWED_HOSTS", "SECRET_KEY", "DATABASE_URL")
for _name in (*_OURS, "PROVIDER_URL", "PROVIDER_MODEL", "PROVIDER_KEY", "PROVIDER_WINDOW"):
    os.environ.pop(_name, None)

# The suite runs on PostgreSQL where this says so.
if _url := os.environ.get("TEST_DATABASE_URL"):
    os.environ["DATABASE_URL"] = _url

from memoryapp.settings import *  # noqa: E402, F403 - the environment comes first

# Hashing a password slowly protects people, not tests.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# The server looks for it; tests of pages need no files in it.
STATIC_ROOT.mkdir(exist_ok=True)  # noqa: F405
