"""Maximum likelihood by EM of Gaussians with missing cells. It stands below `estimate`, which uses it.

- `step`: one EM step for missing cells, by regressions on the observed ones; `accelerated_em`: from step to step
- `cells`: what of a Gaussian EM finds from statistics by pattern, and from rows; `filling`: one E step, and drawn cells
"""
