# Types of the names that packager/__init__.py finds in packager.api.
from packager.api import *  # noqa: F403 - each name of __all__
