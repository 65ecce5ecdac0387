"""The product's settings with a temporary data folder, so that tests never touch the data of a user."""

import atexit
import os
import shutil
import tempfile

_folder = tempfile.mkdtemp(prefix="memoryapp-tests-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ["DATA_DIR"] = _folder
os.environ["TIME_ZONE"] = "UTC"
_PRODUCT_VARIABLES = (
    "MODE",
    "MODEL",
    "MODEL_PATH",
    "WINDOW",
    "ALLOWED_HOSTS",
    "SECRET_KEY",
    "DATABASE_URL",
    "REDIS_URL",
    "REDIS_PREFIX",
    "SIGNUP",
)
for _name in (*_PRODUCT_VARIABLES, "PROVIDER_URL", "PROVIDER_MODEL", "PROVIDER_KEY", "PROVIDER_WINDOW"):
    os.environ.pop(_name, None)

# The suite runs on PostgreSQL if this names a database.
if _url := os.environ.get("TEST_DATABASE_URL"):
    os.environ["DATABASE_URL"] = _url

from memoryapp.settings import *  # noqa: E402, F403 - the environment comes first

# A fast password hash keeps the tests fast.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# The server requires this folder; tests of pages need no files in it.
STATIC_ROOT.mkdir(exist_ok=True)  # noqa: F405
