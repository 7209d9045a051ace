"""MindRecord files (`mindspore.mindrecord`): rows of numbers, text, bytes and arrays, read in any order."""

from mycelia.mindrecord.errors import (
    MindRecordError,
    MRMDefineIndexError,
    MRMInvalidSchemaError,
    MRMOpenError,
    MRMValidateDataError,
    ParamTypeError,
    ParamValueError,
)
from mycelia.mindrecord.reader import FileReader
from mycelia.mindrecord.writer import FileWriter

__all__ = [
    "FileReader",
    "FileWriter",
    "MRMDefineIndexError",
    "MRMInvalidSchemaError",
    "MRMOpenError",
    "MRMValidateDataError",
    "MindRecordError",
    "ParamTypeError",
    "ParamValueError",
]
