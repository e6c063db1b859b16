"""Disclosure control: statistics in which every number sums over at least so many rows.

Statistical disclosure control calls these rules the minimum frequency rule, rounding of small counts and
microaggregation (Hundepool et al., Statistical Disclosure Control, 2012, doi:10.1002/9781118348239, chapters 3 and 5).
They keep rows from being read off a file. They are no differential privacy: see docs/editing.md for what stays open.
"""

from .blocks import release_block as release_block, release_gaussian as release_gaussian
from .counts import Given as Given, MinCount as MinCount, release_categories as release_categories
from .lonely import Kept as Kept, Terms as Terms
