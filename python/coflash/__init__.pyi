"""The names of the package, and where each is defined."""

from . import costmodel as costmodel
from . import device as device
from . import trace as trace
from ._core import Candidates as Candidates
from ._core import CoflashError as CoflashError
from ._core import __version__ as __version__
from .evaluation import Evaluation as Evaluation
from .evaluation import evaluate as evaluate
from .external import (
    EvictionPolicy as EvictionPolicy,
)
from .external import (
    PlacementPolicy as PlacementPolicy,
)
from .external import (
    VictimPolicy as VictimPolicy,
)
from .external import (
    policy as policy,
)
from .keys import ScenarioKey as ScenarioKey
from .keys import keys as keys
from .measures.metrics import Metrics as Metrics
from .measures.record import SoFar as SoFar
from .policies import Parameter as Parameter
from .policies import Policy as Policy
from .policies import PolicyFamily as PolicyFamily
from .policies import policies as policies
from .results.database import Results as Results
from .results.database import results as results
from .results.histogram import Histogram as Histogram
from .results.result import Result as Result
from .results.side_by_side import SideBySide as SideBySide
from .results.side_by_side import compare as compare
from .runs.run import FewestPrograms as FewestPrograms
from .runs.run import fewest_programs as fewest_programs
from .runs.run import run as run
from .runs.run import trace_info as trace_info
from .runs.warm import Warm as Warm
from .runs.warm import warm as warm
from .scenario import Scenario as Scenario
from .scenario import built_in_scenarios as built_in_scenarios
from .scenario import scenario_schema as scenario_schema
from .sweep import Sweep as Sweep
from .sweep import sweep as sweep
from .sweep.advise import Advice as Advice
from .sweep.advise import advise as advise
from .sweep.fleet import Fleet as Fleet
from .sweep.fleet import fleet as fleet
from .sweep.size import Sizing as Sizing
from .sweep.size import size as size
from .sweep.tune import Tuning as Tuning
from .sweep.tune import tune as tune
from .table import Table as Table
