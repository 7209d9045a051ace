"""The names of `mindspore.dataset.engine`."""

from mycelia.dataset import *  # noqa: F403
from mycelia.dataset import __all__  # noqa: F401
