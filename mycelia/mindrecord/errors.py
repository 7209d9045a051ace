"""Errors of MindRecord files, by MindSpore's names."""

from __future__ import annotations


class MindRecordError(RuntimeError):
    """A MindRecord file that cannot be read or written; the message names it."""


class ParamValueError(MindRecordError, ValueError):
    """An argument out of range."""


class ParamTypeError(MindRecordError, TypeError):
    """An argument of a wrong type."""


class MRMInvalidSchemaError(MindRecordError, ValueError):
    """A schema that MindRecord cannot hold."""


class MRMDefineIndexError(MindRecordError, ValueError):
    """An index over a field that is no single number or text."""


class MRMOpenError(MindRecordError):
    """A file that is missing, truncated or damaged."""


class MRMValidateDataError(MindRecordError, ValueError):
    """A row that does not fit the schema."""
