# Types of the names that omptool/__init__.py finds in packager.
from packager.api import *  # noqa: F403 - each name of __all__

__version__: str
