"""Maximum likelihood by EM: Gaussians with missing cells, and mixtures. It stands below `estimate`, which uses it.

- `regression`: missing cells given the observed ones; `step`: one EM step; `climb`: the way up, step by step
- `cells`: what of a Gaussian EM finds from statistics by pattern; `cell_passes`: the same from rows;
  `tied`: a fixed number of steps for several tables side by side; `fill`: one E step over rows in memory
- `mixture_model`: what EM asks of a model of mixtures; `mixture`: its steps; `mixture_cells`: missing cells in it;
  `starts`: where it begins
"""
