"""The name `mindspore`: a module of its own whose every name is Mycelia's.

`install` puts a finder in front of ``sys.meta_path``. ``import mindspore.nn`` then gives the very module
`mycelia.nn`; an installed
MindSpore is neither imported nor changed.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

API_VERSION = "2.10.0"  # of MindSpore, whose interface is followed

# Modules of MindSpore that live elsewhere here.
MOVED = {
    "mindspore.ops.functional": "mycelia.ops",
    "mindspore.ops.operations": "mycelia.ops",
    "mindspore.ops.composite": "mycelia.ops",
    "mindspore.ops.auto_generate.gen_ops_def": "mycelia.ops.auto_generate",
    "mindspore.ops.auto_generate.gen_ops_prim": "mycelia.ops.auto_generate",
    **{
        f"mindspore.ops.function.{part}_func": "mycelia.ops"
        for part in ("array", "clip", "image", "linalg", "math", "nn", "other", "random", "spectral")
    },
    "mindspore.context": "mycelia.common.context",
    "mindspore.device_context": "mycelia.common.device_context",
    "mindspore.common.tensor": "mycelia.tensor.tensor",
    "mindspore.common.parameter": "mycelia.tensor.parameter",
    "mindspore.common.dtype": "mycelia.common.dtype",
    "mindspore.common.api": "mycelia.common",
    "mindspore.common.mutable": "mycelia.common",
    "mindspore.common.jit_config": "mycelia.common.jit_config",
    "mindspore.dataset.core": "mycelia.dataset",
    "mindspore.dataset.core.config": "mycelia.dataset.config",
    "mindspore.dataset.text.utils": "mycelia.dataset.text",
    "mindspore.dataset.text.transforms": "mycelia.dataset.text",
    "mindspore.nn.layer.basic": "mycelia.nn.layer",
    "mindspore.train.serialization": "mycelia.train.serialization",
    "mindspore.dataset.engine.datasets_vision": "mycelia.dataset",
    "mindspore.dataset.vision.transforms": "mycelia.dataset.vision",
    "mindspore.nn.metrics": "mycelia.train.metrics",
    "mindspore.train.callback._callback": "mycelia.train.callback",
    "mindspore.train.callback._checkpoint": "mycelia.train.callback",
    "mindspore.train.callback._loss_monitor": "mycelia.train.callback",
    "mindspore.train.callback._time_monitor": "mycelia.train.callback",
    "mindspore.train.callback._summary_collector": "mycelia.train.callback",
    "mindspore.profiler.profiling": "mycelia.profiler",
}


def own_name(name: str) -> str:
    """Mycelia's module for one of MindSpore's."""
    return MOVED.get(name) or "mycelia" + name[len("mindspore") :]


class _Alias(Loader):
    """Hands out an existing module under a second name."""

    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.target)
        self.own = {
            key: getattr(module, key, None) for key in ("__spec__", "__loader__", "__name__", "__package__")
        }
        return module

    def exec_module(self, module: ModuleType) -> None:
        for key, value in self.own.items():  # the import system wrote the alias's own over them
            setattr(module, key, value)


class _Finder(MetaPathFinder):
    """Finds ``mindspore`` and everything below it here."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        if fullname != "mindspore" and not fullname.startswith("mindspore."):
            return None
        if fullname == "mindspore":
            return ModuleSpec(fullname, _Top(), is_package=True)
        mine = own_name(fullname)
        try:
            found = importlib.util.find_spec(mine)
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise ModuleNotFoundError(
                f"no module named {fullname!r} in Mycelia {_version()}, which follows MindSpore "
                f"{API_VERSION}: {mine} does not exist",
                name=fullname,
            )
        return ModuleSpec(fullname, _Alias(mine), is_package=found.submodule_search_locations is not None)


class _Top(Loader):
    """Makes the module ``mindspore`` itself."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType("mindspore", f"MindSpore {API_VERSION}'s interface, offered by Mycelia.")

    def exec_module(self, module: ModuleType) -> None:
        import mycelia

        def lookup(name: str) -> Any:
            try:
                return getattr(mycelia, name)
            except AttributeError:
                import difflib

                from mycelia.ops.equivalents import equivalent

                near = difflib.get_close_matches(name, mycelia.__all__, 3)
                hint = f"; did you mean {', '.join(near)}?" if near else ""
                raise AttributeError(
                    f"module 'mindspore' has no attribute {name!r} (Mycelia {_version()} does not offer it)"
                    + (equivalent("mindspore", name) or hint)
                ) from None

        module.__version__ = API_VERSION  # type: ignore[attr-defined]
        module.__path__ = []
        module.__getattr__ = lookup  # type: ignore[method-assign]
        module.__dir__ = lambda: sorted({*mycelia.__all__, "__version__"})  # type: ignore[method-assign]
        module.__all__ = list(mycelia.__all__)  # type: ignore[attr-defined]


def _version() -> str:
    import mycelia

    return mycelia.__version__


def install() -> None:
    """Makes ``import mindspore`` mean Mycelia in this process; does nothing the second time.

    Raises:
        RuntimeError: another `mindspore` was imported before.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if "mindspore" in sys.modules:
        raise RuntimeError(
            f"mindspore was imported already, from "
            f"{getattr(sys.modules['mindspore'], '__file__', 'somewhere')}; "
            f"call mycelia.compat.install() before"
        )
    sys.meta_path.insert(0, _Finder())
