"""SWAGs, the sliding-window aggregators: HOW a window is kept, one file per algorithm, all with one interface."""

from slidewise.swag.amta import Amta
from slidewise.swag.b_int import BInt
from slidewise.swag.daba import Daba
from slidewise.swag.daba_lite import DabaLite
from slidewise.swag.fiba.fiba import Fiba
from slidewise.swag.flat_fat import FlatFat
from slidewise.swag.flat_fit import FlatFit
from slidewise.swag.interface import Swag
from slidewise.swag.merged import Merged
from slidewise.swag.order_statistics import OrderStatistics
from slidewise.swag.recalc import Recalc
from slidewise.swag.slick_deque import SlickDeque
from slidewise.swag.slide_side import SlideSide
from slidewise.swag.structures.last_rows import LastRows, LastTimes
from slidewise.swag.subtract_on_evict import SubtractOnEvict
from slidewise.swag.timed import Timed
from slidewise.swag.two_stacks import TwoStacks
from slidewise.swag.two_stacks_lite import TwoStacksLite

ALGORITHMS: tuple[type[Swag], ...] = (
    Recalc,
    SubtractOnEvict,
    TwoStacks,
    TwoStacksLite,
    Daba,
    DabaLite,
    FlatFit,
    FlatFat,
    BInt,
    Amta,
    Fiba,
    SlickDeque,
    SlideSide,
)

__all__ = [
    "ALGORITHMS",
    "Amta",
    "BInt",
    "Daba",
    "DabaLite",
    "Fiba",
    "FlatFat",
    "FlatFit",
    "LastRows",
    "LastTimes",
    "Merged",
    "OrderStatistics",
    "Recalc",
    "SlickDeque",
    "SlideSide",
    "SubtractOnEvict",
    "Swag",
    "Timed",
    "TwoStacks",
    "TwoStacksLite",
]
