"""Saving and loading of parameters (`save_checkpoint`, `load_checkpoint`, `load_param_into_net`)."""

from __future__ import annotations

import copy
import errno
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mycelia.train.background import Background
from mycelia.train.checkpoint_format import (
    Content,
    DamagedCheckpoint,
    has_checksum,
    read_checkpoint,
    write_checkpoint,
)
from mycelia.train.safetensors_format import SafetensorsFile, read_safetensors, write_safetensors

if TYPE_CHECKING:
    from mycelia.tensor.parameter import Parameter

Prefix = str | Sequence[str] | None
FORMATS = ("ckpt", "safetensors")


# -- saving ----------------------------------------------------------------------------------------------
def save_checkpoint(
    save_obj: Any,
    ckpt_file_name: str,
    integrated_save: bool = True,
    async_save: bool | str = False,
    append_dict: dict[str, Any] | None = None,
    enc_key: bytes | None = None,
    enc_mode: str = "AES-GCM",
    choice_func: Callable[[str], bool] | None = None,
    crc_check: bool = False,
    format: str = "ckpt",
    **kwargs: Any,
) -> None:
    """Saves parameters to a file that MindSpore reads too.

    The file is written beside its place and renamed when it is whole: an interrupted save leaves an earlier
    file of the name as it was.

    Args:
        save_obj: a Cell, a list of Parameters, a list of ``{"name": str, "data": Parameter or Tensor}``, or a
            dict from name to Parameter, Tensor, array or text (as `load_checkpoint` returns).
        ckpt_file_name: the file; ``.ckpt`` or ``.safetensors`` is appended where it lacks it. Missing folders
            are made.
        integrated_save: accepted; parameters are whole in one process.
        async_save: True or ``"thread"`` copies the parameters and writes them in a thread; ``"process"``
            copies nothing and writes them in a forked process. The next save waits for it and raises its
            error, if it had one.
        append_dict: more to keep, by name: int, float, bool, str, Parameter or Tensor.
        enc_key, enc_mode: encryption is not supported.
        choice_func: saves only names for which it is true.
        crc_check: whether the file ends in a checksum, so that loading finds any damage.
        format: ``"ckpt"`` or ``"safetensors"``.
        remove_redundancy: accepted; parameters are whole in one process.

    Raises:
        TypeError: arguments of other types.
        ValueError: an unknown format, or encryption.
        OSError: the file cannot be written, or the disk is full.

    Example:
        >>> save_checkpoint([{"name": "w", "data": Tensor([1.0, 2.0])}], "w.ckpt", append_dict={"epoch": 3})
        >>> int(load_checkpoint("w.ckpt")["epoch"].asnumpy())
        3
    """
    if enc_key is not None:
        raise ValueError(
            "save_checkpoint: encryption (enc_key) is not supported; encrypt the file or its disk instead"
        )
    _check_format("save_checkpoint", format)
    if async_save not in (False, True, "thread", "process"):
        raise ValueError(
            f"save_checkpoint: async_save must be a bool, 'thread' or 'process'. Received: {async_save!r}"
        )
    if not isinstance(crc_check, bool):
        raise TypeError(f"save_checkpoint: crc_check must be a bool. Received: crc_check={crc_check!r}")
    if not isinstance(ckpt_file_name, (str, os.PathLike)):
        raise TypeError(
            f"save_checkpoint: ckpt_file_name must be a path. Received: {ckpt_file_name!r} "
            f"(of type {type(ckpt_file_name).__name__})"
        )
    for name in kwargs:
        if name not in ("remove_redundancy", "global_step_num"):
            raise ValueError(f"save_checkpoint: got an unexpected keyword argument {name!r}")
    if choice_func is not None and not callable(choice_func):
        raise TypeError(
            f"save_checkpoint: choice_func must be callable. Received: choice_func={choice_func!r}"
        )
    entries = [(name, data) for name, data in _named(save_obj) if choice_func is None or choice_func(name)]
    entries += _appended(append_dict)
    path = os.path.realpath(os.fspath(ckpt_file_name))
    if not path.endswith(f".{format}"):
        path += f".{format}"
    _require_place(path)
    write = write_checkpoint if format == "ckpt" else write_safetensors
    _background.wait()
    if not async_save:
        write(path, ((name, _host(data)) for name, data in entries), crc_check)
        return
    in_process = async_save == "process"
    kept = [(name, _host(data) if in_process else copy.copy(_host(data))) for name, data in entries]
    _background.start(lambda: write(path, kept, crc_check), in_process)


def _require_place(path: str) -> None:
    """Makes the folders above a file that is to be saved.

    Raises:
        OSError: they cannot be made, or the path is a folder; the message says what is in the way.
    """
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        there = folder
        while not os.path.lexists(there):
            there = os.path.dirname(there)
        if os.path.isdir(there):
            cure = f"{there} is the last folder of it that exists: let this user write there"
        else:
            cure = f"{there} is a file, not a folder: move it away"
        raise OSError(
            error.errno,
            f"save_checkpoint: cannot make the folder {folder} of ckpt_file_name={path!r}: "
            f"{os.strerror(error.errno or 0)}. {cure}, or give another path",
        ) from error
    if os.path.isdir(path):
        raise IsADirectoryError(
            errno.EISDIR,
            f"save_checkpoint: cannot write the checkpoint {path}: Is a directory. Give a file's name, e.g. "
            f"{os.path.join(path, 'net' + os.path.splitext(path)[1])}",
        )


def async_ckpt_thread_status() -> bool:
    """Whether a checkpoint is being written in the background."""
    return _background.busy


_background = Background()


def _named(save_obj: Any) -> list[tuple[str, Any]]:
    """Names and data of what can be saved."""
    entries: list[tuple[Any, Any]] = []
    if hasattr(save_obj, "parameters_and_names"):
        return [(parameter.name, parameter) for _, parameter in save_obj.parameters_and_names()]
    if isinstance(save_obj, dict):
        entries += save_obj.items()
    elif isinstance(save_obj, (list, tuple)):
        for item in save_obj:
            if isinstance(item, dict) and "name" in item and "data" in item:
                entries.append((item["name"], item["data"]))
            elif not isinstance(item, dict) and hasattr(item, "name") and hasattr(item, "asnumpy"):
                entries.append((item.name, item))
            else:
                raise TypeError(
                    "save_checkpoint: a list must hold Parameters or dicts with 'name' and "
                    f"'data'. Received: {item!r:.80} (of type {type(item).__name__})"
                )
    else:
        raise TypeError(
            "save_checkpoint: save_obj must be a Cell, a list or a dict. Received: "
            f"{save_obj!r:.80} (of type {type(save_obj).__name__})"
        )
    for name, data in entries:
        if not isinstance(name, str):
            raise TypeError(
                f"save_checkpoint: names must be strings. Received: {name!r} (of type {type(name).__name__})"
            )
        if not isinstance(data, (str, np.ndarray)) and not hasattr(data, "asnumpy"):
            raise TypeError(
                f"save_checkpoint: the data of {name!r} must be a Parameter, Tensor, array or "
                f"text. Received: {data!r:.80} (of type {type(data).__name__})"
            )
    return entries


def _appended(append_dict: dict[str, Any] | None) -> list[tuple[str, Any]]:
    if append_dict is None:
        return []
    if not isinstance(append_dict, dict):
        raise TypeError(
            f"save_checkpoint: append_dict must be a dict. Received: {append_dict!r:.80} "
            f"(of type {type(append_dict).__name__})"
        )
    entries = []
    for name, value in append_dict.items():
        if not isinstance(name, str):
            raise TypeError(f"save_checkpoint: append_dict must have strings as keys. Received: {name!r}")
        if isinstance(value, str) or hasattr(value, "asnumpy"):
            entries.append((name, value))
        elif isinstance(value, (bool, int, float)):
            entries.append((name, np.asarray(value, np.float32 if isinstance(value, float) else None)))
        else:
            raise TypeError(
                f"save_checkpoint: append_dict[{name!r}] must be an int, float, bool, str, "
                f"Parameter or Tensor. Received: {value!r:.80} (of type {type(value).__name__})"
            )
    return entries


def _host(data: Any) -> Content:
    return data if isinstance(data, (np.ndarray, str)) else data.asnumpy()


def _check_format(function: str, format: str) -> None:
    if format not in FORMATS:
        raise ValueError(f"{function}: format must be 'ckpt' or 'safetensors'. Received: format={format!r}")


# -- loading ---------------------------------------------------------------------------------------------
def load_checkpoint(
    ckpt_file_name: str,
    net: Any = None,
    strict_load: bool = False,
    filter_prefix: Prefix = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: Prefix = None,
    choice_func: Callable[[str], bool] | None = None,
    crc_check: bool = False,
    remove_redundancy: bool = False,
    format: str = "ckpt",
) -> dict[str, Parameter | str]:
    """Loads what a checkpoint file of Mycelia or MindSpore holds.

    Args:
        ckpt_file_name: the file.
        net: a Cell to load the parameters into as well, as `load_param_into_net` does with `strict_load`.
        filter_prefix, specify_prefix: leaves out names that begin so; takes only names that begin so. A
            string or several.
        choice_func: takes only names for which it is true; where no prefix is given.
        crc_check: warns if the file holds no checksum. A checksum that it holds is verified in any case.
        dec_key, dec_mode: encrypted files are not supported.
        remove_redundancy: accepted; parameters are whole in one process.
        format: ``"ckpt"`` or ``"safetensors"``; a file whose name ends in either is read as what it is.

    Returns:
        A dict from name to Parameter, or to str for text kept by ``append_dict``.

    Raises:
        ValueError: no such file, a damaged or truncated file or one of another format, or nothing that was
            asked for in it.
    """
    if dec_key is not None:
        raise ValueError(
            "load_checkpoint: encrypted files (dec_key) are not supported; save it with MindSpore "
            "without enc_key first"
        )
    _check_format("load_checkpoint", format)
    if not isinstance(ckpt_file_name, (str, os.PathLike)):
        raise TypeError(
            f"load_checkpoint: ckpt_file_name must be a path. Received: {ckpt_file_name!r} "
            f"(of type {type(ckpt_file_name).__name__})"
        )
    path = os.fspath(ckpt_file_name)
    if path.endswith(".mindir"):
        raise ValueError(
            f"load_checkpoint: {path} holds a graph, not parameters. Use nn.GraphCell(ms.load({path!r}))"
        )
    if os.path.isdir(path):
        raise ValueError(
            f"load_checkpoint: {path} is a folder, not a checkpoint; give a file's name. "
            f"{_checkpoints_in(path, 'It')}"
        )
    if not path.endswith((".ckpt", ".safetensors")):
        raise ValueError(
            f"load_checkpoint: the file's name must end in .ckpt or .safetensors. Received: {path}"
        )
    if not os.path.isfile(path):
        path = os.path.realpath(path)
        raise ValueError(
            f"load_checkpoint: the file {path} does not exist. "
            f"{_checkpoints_in(os.path.dirname(path), 'Its folder')}"
        )
    if not os.path.getsize(path):
        raise DamagedCheckpoint(f"load_checkpoint: {path} is empty (0 bytes)")
    _refuse_encrypted(path)
    mapped = path.endswith(".safetensors")
    if crc_check and not (SafetensorsFile(path).has_checksum if mapped else has_checksum(path)):
        warnings.warn(
            f"load_checkpoint: {path} holds no checksum to check (it was saved without crc_check=True)",
            stacklevel=2,
        )
    wanted, unwanted = _prefixes("specify_prefix", specify_prefix), _prefixes("filter_prefix", filter_prefix)

    def choose(name: str) -> bool:
        if wanted is None and unwanted is None:
            return choice_func is None or choice_func(name)
        return (wanted is None or name.startswith(wanted)) and (
            unwanted is None or not name.startswith(unwanted)
        )

    contents = (read_safetensors if mapped else read_checkpoint)(path, choose)
    if not contents:
        raise ValueError(
            f"load_checkpoint: {path} holds no parameter that filter_prefix, specify_prefix or "
            "choice_func let pass"
        )
    parameters = {name: _parameter(name, content) for name, content in contents.items()}
    if net is not None:
        load_param_into_net(net, parameters, strict_load)
    return parameters


def _checkpoints_in(folder: str, subject: str) -> str:
    """What to say of a folder in which a checkpoint is looked for."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith((".ckpt", ".safetensors")))
    except NotADirectoryError:
        return f"{folder} is a file, not a folder"
    except OSError as error:
        return f"{subject} cannot be read: {os.strerror(error.errno or 0)}"
    if not names:
        return f"{subject} holds no checkpoint (.ckpt or .safetensors)"
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{subject} holds {', '.join(names[:5])}{more}"


# How files begin that MindSpore has encrypted.
_ENCRYPTED = (b"\xd8^:\x7f", b"\xd9^:\x7f", b"\xda^:\x7f")


def _refuse_encrypted(path: str) -> None:
    with open(path, "rb") as file:
        begin = file.read(4)
    if begin in _ENCRYPTED:
        raise ValueError(
            f"load_checkpoint: {path} is encrypted, which is not supported; decrypt it by loading it "
            "with dec_key and saving it again without enc_key in MindSpore"
        )


def load_checkpoint_async(*args: Any, **kwargs: Any) -> Future[dict[str, Parameter | str]]:
    """As `load_checkpoint`, in a thread: ``.result()`` waits for what it returns, or raises its error.

    Example:
        >>> loading = load_checkpoint_async("lenet.ckpt")
        >>> load_param_into_net(net, loading.result())
    """
    future: Future[dict[str, Parameter | str]] = Future()

    def run() -> None:
        try:
            future.set_result(load_checkpoint(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="mycelia-load-checkpoint", daemon=True).start()
    return future


def _parameter(name: str, content: Content) -> Parameter | str:
    if isinstance(content, str):
        return content
    from mycelia.tensor.parameter import Parameter
    from mycelia.tensor.tensor import Tensor

    return cast(Parameter, Parameter(Tensor.from_numpy(content), name=name, requires_grad=True))


def _prefixes(name: str, prefix: Any) -> tuple[str, ...] | None:
    if prefix is None:
        return None
    values = (prefix,) if isinstance(prefix, str) else prefix
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, str) for value in values):
        raise TypeError(
            f"load_checkpoint: {name} must be a string or a list of strings. Received: {name}={prefix!r}"
        )
    if not values or "" in values:
        raise ValueError(f"load_checkpoint: {name} must not be empty. Received: {name}={prefix!r}")
    return tuple(values)


def load_param_into_net(
    net: Any, parameter_dict: dict[str, Any], strict_load: bool = False, remove_redundancy: bool = False
) -> tuple[list[str], list[str]]:
    """Gives a network's parameters the values of a checkpoint, by name.

    Args:
        net: a Cell (a network or an optimizer).
        parameter_dict: from name to Parameter, as `load_checkpoint` returns.
        strict_load: if False, values of another type of the same kind are converted (with a warning), and
            names that have a common prefix more in the checkpoint than in the network match.
        remove_redundancy: accepted; parameters are whole in one process.

    Returns:
        Names of the network's parameters that were not loaded, and names of the checkpoint that were not
        used.

    Raises:
        TypeError: net is no Cell, or parameter_dict holds other things.
        RuntimeError: a parameter of another shape or type.

    Example:
        >>> missing, unused = load_param_into_net(net, load_checkpoint("lenet.ckpt"))
    """
    if not hasattr(net, "parameters_and_names"):
        raise TypeError(
            f"load_param_into_net: net must be a Cell. Received: {net!r:.80} (of type {type(net).__name__})"
        )
    if not isinstance(parameter_dict, dict):
        raise TypeError(
            "load_param_into_net: parameter_dict must be a dict. Received: "
            f"{parameter_dict!r:.80} (of type {type(parameter_dict).__name__})"
        )
    for name, value in parameter_dict.items():
        if not isinstance(name, str) or not (isinstance(value, str) or hasattr(value, "asnumpy")):
            raise TypeError(
                "load_param_into_net: parameter_dict must go from names to Parameters. Received: "
                f"{name!r}: {value!r:.80} (of type {type(value).__name__})"
            )
    parameters = [parameter for _, parameter in net.parameters_and_names()]
    available = {name: value for name, value in parameter_dict.items() if not isinstance(value, str)}
    loaded = set()
    for parameter in parameters:
        if parameter.name in available:
            _update(parameter, parameter.name, available[parameter.name], strict_load)
            loaded.add(parameter.name)
    unused = [name for name in parameter_dict if name not in loaded]
    missing = [parameter for parameter in parameters if parameter.name not in loaded]
    if missing and not strict_load:
        missing = _load_with_prefix(missing, available)
    names = [parameter.name for parameter in missing]
    if names:
        warnings.warn(
            f"load_param_into_net: {len(names)} parameters of the network are not in "
            "parameter_dict and keep their values: "
            f"{', '.join(names[:20])}{', ...' if len(names) > 20 else ''}",
            stacklevel=2,
        )
    return names, unused


def _load_with_prefix(missing: list[Any], available: dict[str, Any]) -> list[Any]:
    """Loads parameters whose names in the checkpoint have one prefix more, e.g. ``network.``; returns those
    left."""
    tried: set[str] = set()
    while True:
        prefix = next(
            (
                name[: -len(parameter.name)]
                for parameter in missing
                for name in available
                if name.endswith(parameter.name) and name[: -len(parameter.name)] not in tried
            ),
            None,
        )
        if prefix is None:
            return missing
        tried.add(prefix)
        found = [parameter for parameter in missing if prefix + parameter.name in available]
        warnings.warn(
            f"load_param_into_net: {len(found)} parameters are in parameter_dict with the prefix "
            f"{prefix!r}, which is left out",
            stacklevel=3,
        )
        for parameter in found:
            _update(parameter, prefix + parameter.name, available[prefix + parameter.name], False)
        missing = [parameter for parameter in missing if prefix + parameter.name not in available]


def _update(parameter: Any, name: str, value: Any, strict: bool) -> None:
    array = value.asnumpy()
    shape, dtype = tuple(parameter.shape), parameter.dtype
    if array.shape != shape:
        # Devices that pad shapes to four axes have written axes of extent one behind the others.
        if array.shape[: len(shape)] != shape or any(extent != 1 for extent in array.shape[len(shape) :]):
            raise RuntimeError(
                f"load_param_into_net: parameter {parameter.name!r} has shape {shape} in the "
                f"network. Received: shape {array.shape} for {name!r} in parameter_dict"
            )
        array = array.reshape(shape)
    if value.dtype is not dtype:
        if strict or value.dtype.kind != dtype.kind or dtype.kind not in "fi":
            raise RuntimeError(
                f"load_param_into_net: parameter {parameter.name!r} has type {dtype.name} in the network. "
                f"Received: type {value.dtype.name} for {name!r} in parameter_dict"
                f"{', and strict_load=True converts nothing' if strict else ''}"
            )
        warnings.warn(
            f"load_param_into_net: {name!r} is {value.dtype.name} in parameter_dict and is "
            f"converted to the network's {dtype.name}",
            stacklevel=4,
        )
        array = array.astype(dtype.numpy)
    from mycelia.tensor.tensor import Tensor

    parameter.set_data(Tensor(array))


# -- other formats -----------------------------------------------------------------------------------------
def ckpt_to_safetensors(
    file_path: str,
    save_path: str | None = None,
    name_map: dict[str, str] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Writes what checkpoints hold as safetensors files, beside them or in another folder.

    Args:
        file_path: a file, or a folder that is searched with all below it.
        save_path: a folder; default: each file's own.
        name_map: new names of parameters by their old ones.
        file_name_regex: takes only files whose names match.
        processes_num: accepted; files are converted one after another.

    Raises:
        ValueError: no such file, or none that matches.
    """
    _convert("ckpt_to_safetensors", ".ckpt", file_path, save_path, name_map, file_name_regex)


def safetensors_to_ckpt(
    file_path: str,
    save_path: str | None = None,
    name_map: dict[str, str] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Writes what safetensors files hold as checkpoints; arguments as in `ckpt_to_safetensors`."""
    _convert("safetensors_to_ckpt", ".safetensors", file_path, save_path, name_map, file_name_regex)


def _convert(
    function: str,
    suffix: str,
    file_path: str,
    save_path: str | None,
    name_map: dict[str, str] | None,
    file_name_regex: str | None,
) -> None:
    if save_path is not None and not os.path.isdir(save_path):
        raise ValueError(f"{function}: save_path must be a folder. Received: save_path={save_path!r}")
    pattern = re.compile(file_name_regex or "")
    files = [
        path
        for path in _files(function, file_path)
        if path.endswith(suffix) and pattern.search(os.path.basename(path)[: -len(suffix)])
    ]
    if not files:
        raise ValueError(
            f"{function}: {file_path} holds no {suffix} file that matches. Received: "
            f"file_name_regex={file_name_regex!r}"
        )
    read, write, other = (
        (read_checkpoint, write_safetensors, ".safetensors")
        if suffix == ".ckpt"
        else (read_safetensors, write_checkpoint, ".ckpt")
    )
    renamed = name_map or {}
    for path in files:
        folder = os.path.dirname(path) if save_path is None else save_path
        target = os.path.join(folder, os.path.basename(path)[: -len(suffix)] + other)
        write(target, [(renamed.get(name, name), content) for name, content in read(path).items()])


def _files(function: str, path: str) -> Iterator[str]:
    if os.path.isdir(path):
        for folder, _, names in sorted(os.walk(path)):
            yield from (os.path.join(folder, name) for name in sorted(names))
    elif os.path.isfile(path):
        yield path
    else:
        raise ValueError(f"{function}: there is no file or folder {path}")


def export(net: Any, *inputs: Any, file_name: str, file_format: str, **kwargs: Any) -> None:
    """Writes a network's graph to a file. No format is built yet.

    Raises:
        ValueError: an unknown format.
        NotImplementedError: a known one; the message says how to keep the parameters.
    """
    known = ("AIR", "GEIR", "MINDIR", "ONNX")
    if file_format not in known:
        raise ValueError(
            f"export: file_format must be one of {', '.join(map(repr, known))}. Received: "
            f"file_format={file_format!r}"
        )
    raise NotImplementedError(
        f"export: files of the format {file_format!r} cannot be written yet. Parameters alone "
        f"can be kept with save_checkpoint(net, {file_name!r})"
    )
