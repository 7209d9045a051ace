"""The operations of `vision` by their module in MindSpore 1.x."""
from mycelia.dataset.vision import *  # noqa: F403
from mycelia.dataset.vision import __all__  # noqa: F401
