"""What TabArena's registry asks to know of a model."""

from __future__ import annotations

from tabarena.models._method_metadata import MethodMetadata
from tabarena.models._model_info import ModelInfo
from tabarena.models.suffice.hpo import gen_suffice
from tabarena.models.suffice.model import SufficeModel

suffice_method_metadata = MethodMetadata.config(
    method="suffice",
    display_name="suffice",
    compute="cpu",
    date="2026-11-25",
    ag_key=SufficeModel.ag_key,
    model_key="SUFFICE",
    can_hpo=False,
    is_bag=True,
    has_raw=True,
    has_processed=True,
    has_results=True,
    suite="tabarena-2026-11-25",
    verified=False,
)

suffice_info = ModelInfo(
    model_cls=SufficeModel,
    search_space=gen_suffice,
    method_metadata=suffice_method_metadata,
    pip_extra=("suffice",),
)
