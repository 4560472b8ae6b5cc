"""InferenceSession: ONNX Runtime's interface on a Jitney session."""

from __future__ import annotations

import copy
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from jitney.errors import InvalidInput, Unsupported
from jitney.reports import BackendReport

from .binding import IOBinding
from .engine import Engine
from .exceptions import Fail, InvalidArgument, OrtError
from .feeds import to_array
from .interface import ModelMetadata, NodeArg
from .options import RunOptions, SessionOptions
from .profile import write_profile
from .providers import CPU, require_known, warn_of_missing
from .recipe import Recipe, Replaced
from .spelling import told
from .values import Array, OrtValue

Callback = Callable[[list[Any], Any, str], None]


class Session:
    """What InferenceSession and programs' own subclasses share."""

    _sess: Engine

    def get_session_options(self) -> SessionOptions:
        """The options in force."""
        return self._options._copy()

    def get_inputs(self) -> list[NodeArg]:
        """Inputs that must be fed."""
        return self._inputs_meta

    def get_outputs(self) -> list[NodeArg]:
        """Outputs that may be asked for."""
        return self._outputs_meta

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Inputs that have a default, and may be fed."""
        return self._overridable_initializers

    def get_modelmeta(self) -> ModelMetadata:
        """What the author wrote about the model."""
        return self._model_meta

    def get_providers(self) -> list[str]:
        """The CPU."""
        return [CPU]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The CPU provider's options, of which none has an effect."""
        return {CPU: {}}

    def set_providers(self, providers: Any = None, provider_options: Any = None) -> None:
        """RuntimeError for unknown names; a warning for others than the CPU, where the session stays."""
        require_known(providers, provider_options)
        warn_of_missing(providers, provider_options)

    def disable_fallback(self) -> None:
        """Without effect: there is nothing to fall back from."""

    def enable_fallback(self) -> None:
        """Without effect: there is nothing to fall back from."""

    @property
    def backend_report(self) -> BackendReport:
        """What runs the model, and which of the settings given mean nothing here."""
        report = self._sess.plain.backend_report
        ignored = self._options._ignored(("intra_op_num_threads", "enable_profiling", "profile_file_prefix"))
        reason = report.reason + (f"; without effect: {', '.join(ignored)}" if ignored else "")
        return BackendReport(report.requested, report.backend, report.isa, report.threads, reason)

    def run(
        self, output_names: Iterable[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None
    ) -> Any:
        """The outputs named, or all, as a list of arrays. Nothing is cast; nested lists become the input's type."""
        feeds = self._feeds(input_feed)
        names = self._names(output_names)
        self._start(run_options)
        return [_told(value) for value in self._results(names, feeds)]

    def run_async(
        self,
        output_names: Iterable[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callback,
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Returns at once; `callback(results, user_data, error)` is called from another thread."""
        self._require(input_feed)
        names = self._names(output_names)

        def work() -> None:
            try:
                results, message = self.run(names, input_feed, run_options), ""
            except Exception as error:
                results, message = [], str(error)
            callback(results, user_data, message)

        threading.Thread(target=work, name="jitney.ort.run_async").start()

    def run_with_ort_values(
        self,
        output_names: Iterable[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """As `run`, from OrtValues to OrtValues."""
        values = {name: value._get_c_value() for name, value in input_dict_ort_values.items()}
        feeds = self._feeds(values)
        names = self._names(output_names)
        self._start(run_options)
        return [OrtValue._holding(value) for value in self._results(names, feeds)]

    def io_binding(self) -> IOBinding:
        """Where inputs and outputs are bound for `run_with_iobinding`."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs on what is bound. Errors are plain RuntimeErrors, as with ONNX Runtime."""
        if iobinding._session is not self:
            raise ValueError("the binding was made for another session")
        try:
            self._start(run_options)
            iobinding._run(self)
        except OrtError as error:
            raise RuntimeError(f"Error in execution: {error}") from error

    def create_ortvalue_from_shape_and_type(self, shape: Sequence[int], element_type: object, *_: object) -> OrtValue:
        """A tensor with elements yet to be written."""
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type)

    def end_profiling(self) -> str:
        """Writes the times of the nodes and returns the file's path; '' unless profiling is on."""
        if not self._options.enable_profiling or self._profile_written:
            return ""
        self._profile_written = True
        return write_profile(self._options.profile_file_prefix, self._sess.sessions, self._made_ns)

    def get_profiling_start_time_ns(self) -> int:
        """When profiling began, in nanoseconds of the performance counter."""
        return self._made_ns

    def get_tuning_results(self) -> list[Any]:
        """Nothing is tuned at run time."""
        return []

    def set_tuning_results(self, results: list[Any], *, error_on_invalid: bool = False) -> None:
        """Accepts the empty list only."""
        if results:
            raise Unsupported("tuning results of ONNX Runtime cannot be used")

    def set_ep_dynamic_options(self, options: dict[str, str]) -> NoReturn:
        """Raises: no provider has such options."""
        raise Unsupported(f"the options {options!r} cannot be set: the CPU provider has none")

    # --- Checks and conversions -------------------------------------------------------------------------------------

    _inputs_meta: list[NodeArg]
    _outputs_meta: list[NodeArg]
    _overridable_initializers: list[NodeArg]
    _model_meta: ModelMetadata
    _options: SessionOptions
    _profile_written = False
    _made_ns = 0

    def _require(self, feed: Mapping[str, Any]) -> None:
        given = list(feed.keys())
        missing = [arg.name for arg in self._inputs_meta if arg.name not in feed]
        if missing:
            raise InvalidInput(f"Required inputs ({missing}) are missing from input feed ({given}).")

    def _feeds(self, feed: Mapping[str, Any]) -> dict[str, Array]:
        self._require(feed)
        engine = self._sess
        feeds: dict[str, Array] = {}
        for name, value in feed.items():
            arg = self._args.get(name)
            if arg is None:
                raise InvalidArgument.of(f"Invalid input name: {name}")
            unused = name in engine.interface.unused
            array = to_array(value, arg, unused)
            if array is not None and not unused:
                feeds[name] = array
        return feeds

    _args: dict[str, NodeArg]

    def _names(self, names: Iterable[str] | None) -> list[str]:
        if names is None:
            return [arg.name for arg in self._outputs_meta]
        if isinstance(names, (str, bytes)) or not isinstance(names, (Iterable, np.ndarray)):
            raise TypeError(f"run(): incompatible function arguments: output_names={names!r}; a list of str is wanted")
        asked = list(names) or [arg.name for arg in self._outputs_meta]
        known = {arg.name for arg in self._outputs_meta}
        for name in asked:
            if not isinstance(name, str):
                raise TypeError(f"run(): incompatible function arguments: output_names has {name!r}; str are wanted")
            if name not in known:
                raise InvalidArgument.of(f"Invalid output name:{name}")
        return [str(name) for name in asked]

    def _results(self, names: Sequence[str], feeds: Mapping[str, Array], out: Mapping[str, Array] | None = None) -> list[Any]:
        sequences = self._sess.interface.sequences
        asked = [part for name in dict.fromkeys(names) for part in sequences.get(name, (name,))]
        results: dict[str, Any] = {**self._sess.run(feeds, asked, out)}
        for name in names:
            if name in sequences:
                results[name] = [results[part] for part in sequences[name]]
        # A name asked for twice gives two results, so that writing to one leaves the other as it is.
        return [results[name] if name not in names[:at] else copy.deepcopy(results[name]) for at, name in enumerate(names)]

    @staticmethod
    def _start(options: RunOptions | None) -> None:
        if options is not None and not isinstance(options, RunOptions):
            raise TypeError(f"run(): incompatible function arguments: run_options={options!r}; RunOptions are wanted")
        if options is not None and options.terminate:
            raise Fail.of("Exiting due to terminate flag being set to true.")


class InferenceSession(Session):
    """A model, loaded and ready to run. May be used from many threads at once."""

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        """`path_or_bytes` is an ONNX model, or a .jny file. Other keywords are accepted without effect, as by ONNX Runtime."""
        if not isinstance(path_or_bytes, (str, bytes, os.PathLike)):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise TypeError(f"incompatible constructor arguments: sess_options={sess_options!r}; SessionOptions are wanted")
        source = path_or_bytes if isinstance(path_or_bytes, (bytes, str)) else os.fspath(path_or_bytes)
        if not isinstance(source, bytes) and not source:
            raise TypeError("incompatible constructor arguments: the path is empty")
        warn_of_missing(providers, provider_options)
        self._made_ns = time.perf_counter_ns()
        self._options = sess_options._copy() if sess_options is not None else SessionOptions()
        if self._options.optimized_model_filepath:
            raise Unsupported(
                f"the optimised model cannot be written to '{self._options.optimized_model_filepath}': it is no ONNX model",
                hint="leave optimized_model_filepath out; `jitney convert` writes a .jny file, which a session can load",
            )
        self._sess_options = self._sess_options_initial = sess_options
        self._providers, self._provider_options = providers, provider_options
        self._model_path = source if isinstance(source, str) else None
        replaced = Replaced({name: value.numpy().copy() for name, value in self._options._initializers.items()})
        recipe = Recipe(tuple(sorted(self._options._free_dimensions.items())), replaced)
        self._sess = Engine(source, recipe, self._options.intra_op_num_threads, self._options.enable_profiling)
        interface = self._sess.interface
        self._inputs_meta, self._outputs_meta = interface.inputs, interface.outputs
        self._overridable_initializers, self._model_meta = interface.overridable, interface.metadata
        self._args = {arg.name: arg for arg in [*interface.inputs, *interface.overridable]}

    @property
    def _model_bytes(self) -> None:
        """Not kept once the model is converted."""


def _told(value: Any) -> Any:
    """A result, or a sequence of them, as NumPy knows it."""
    return [told(each) for each in value] if isinstance(value, list) else told(value)
