"""Django settings of accounts, imported by `memoryapp.settings`: login, two-factor, email, OpenID Connect."""

from memoryapp.base import env
from memoryapp.base.service_urls import envissuer, parse_email_url

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
ACCOUNT_ADAPTER = "chat.accounts.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
# Every login lasts two weeks; the login page has no choice "Remember me".
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_FORMS = {
    "change_password": "chat.account_forms.ChangePassword",
    "set_password": "chat.account_forms.SetPassword",
    "reset_password": "chat.account_forms.RequestReset",
    "reset_password_from_key": "chat.account_forms.ResetPassword",
}
# The name of the local owner's account. Somebody who took this name on a server would get the local data when
# the program runs in local mode again.
ACCOUNT_USERNAME_BLACKLIST = ["owner"]
ACCOUNT_REAUTHENTICATION_METHODS = ("password", "mfa")
# A person has one email address. When they have confirmed a new one, it replaces the former one.
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_EMAIL_CONFIRMATION_HMAC = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
# Nothing is sent to an address that nobody has confirmed here.
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
MFA_ADAPTER = "chat.accounts.SecondFactorAdapter"
MFA_FORMS = {
    "authenticate": "chat.account_forms.EnterCode",
    "reauthenticate": "chat.account_forms.ConfirmByCode",
}
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
# Addresses are for resets only, so an unconfirmed one is no reason against two-factor.
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_TOTP_ISSUER = "memoryapp"
# The code before and after the current one are valid too, for clocks that differ by half a minute.
MFA_TOTP_TOLERANCE = 1
SOCIALACCOUNT_ADAPTER = "chat.openid_connect.IssuerAdapter"
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_RATE_LIMITS = {"login": "30/m/ip", "login_failed": "10/m/ip,5/5m/key", "signup": "10/m/ip"}
# In server mode: whether strangers can ask for an account, which an admin then approves. Otherwise accounts
# are made by invitations only.
SIGNUP = env.envchoice("SIGNUP", ("off", "approval"))
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("MinimumLengthValidator", "CommonPasswordValidator", "NumericPasswordValidator")
]

# Server mode: the mail server that sends links for confirming an address and for a new password. Without one
# no email is sent.
_EMAIL_URL = env.envstr("EMAIL_URL").strip()
HAS_EMAIL = bool(_EMAIL_URL)
if HAS_EMAIL:
    globals().update(parse_email_url(_EMAIL_URL, env.envstr("EMAIL_FROM").strip()))

# In server mode: an OpenID Connect issuer with which people can log in.
OIDC_ISSUER = envissuer("OIDC_ISSUER")
OIDC_CLIENT_ID = env.envstr("OIDC_CLIENT_ID").strip()
OIDC_CLIENT_SECRET = env.envstr("OIDC_CLIENT_SECRET").strip()
OIDC_NAME = env.envstr("OIDC_NAME").strip() or "OpenID Connect"
OIDC_SIGNUP = env.envchoice("OIDC_SIGNUP", ("off", "approval", "open"))
if OIDC_ISSUER and not OIDC_CLIENT_ID:
    raise env.BadValue("With OIDC_ISSUER, OIDC_CLIENT_ID must be the name of this program at the issuer.")
# Members log in with the issuer only; admins can use their password too.
OIDC_ONLY = env.envbool("OIDC_ONLY", False) and bool(OIDC_ISSUER)
