"""The cost of a page request to a flash cache in front of a disk: [`coflash.calibrate.costmodel`][]."""

from coflash.calibrate.costmodel import BOTH_EXAMPLE as BOTH_EXAMPLE
from coflash.calibrate.costmodel import READS_EXAMPLE as READS_EXAMPLE
from coflash.calibrate.costmodel import Costs as Costs
from coflash.calibrate.costmodel import Demand as Demand
from coflash.calibrate.costmodel import Partition as Partition
from coflash.calibrate.costmodel import victim_utilisation as victim_utilisation
from coflash.calibrate.costmodel import zipf_hit_rates as zipf_hit_rates
