"""The search space in TabArena's form: there is none, as the classifier chooses its settings by itself."""

from __future__ import annotations

from tabarena.models.suffice.model import SufficeModel
from tabarena.utils.config_utils import ConfigGenerator

gen_suffice = ConfigGenerator(model_cls=SufficeModel, search_space={}, manual_configs=[{}])
