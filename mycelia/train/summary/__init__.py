"""Records of training for TensorBoard (`mindspore.train.summary`)."""

from mycelia.train.summary.summary_record import SummaryRecord

__all__ = ["SummaryRecord"]
