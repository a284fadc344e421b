# What packager imports when it is first used.
from packager.api import *  # noqa: F403
