"""Maximum likelihood by EM: Gaussians with missing cells, and mixtures. It stands below `estimate`, which uses it.

- `step`: one EM step for missing cells, by regressions on the observed ones; `accelerated_em`: from step to step
- `cells`: what of a Gaussian EM finds from statistics by pattern, and from rows; `filling`: one E step, and drawn cells
- `mixture`: the steps of mixtures; `starts`: where they begin (k-means), and how many components
"""
