"""The older name of `mycelia.train.metrics`."""

from mycelia.train.metrics import *  # noqa: F403
from mycelia.train.metrics import __all__  # noqa: F401
