"""The operations of `transforms` by their module in MindSpore 1.x."""
from mycelia.dataset.transforms import *  # noqa: F403
from mycelia.dataset.transforms import __all__  # noqa: F401
