"""Networks without initial values, for checkpoints to be loaded into."""

from mycelia.common.initializer import no_init_parameters

__all__ = ["no_init_parameters"]
