//! The cost model of flash caches in front of disks, in microseconds.

use crate::refused;
use coflash_base::Duration;
use coflash_hybrid::WritePolicy;
use coflash_hybrid::costmodel::{
    Costs, Demand, FlashCosts, HitCurve, Partition, effective_utilisation, victim_utilisation,
};
use coflash_media::disk::DiskCosts;
use pyo3::prelude::*;

const NS_PER_US: f64 = 1e3;

fn duration(name: &str, us: f64) -> PyResult<Duration> {
    if (0.0..=1e12).contains(&us) {
        Ok(Duration { ns: (us * NS_PER_US).round() as u64 })
    } else {
        Err(refused(format!("{name} is {us}; 0 to 1e12 is allowed")))
    }
}

fn share(name: &str, value: f64) -> PyResult<f64> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(refused(format!("{name} is {value}; 0 to 1 is allowed")))
    }
}

fn curve(name: &str, hit_rates: Vec<f64>, segment: f64) -> PyResult<HitCurve> {
    if !hit_rates.is_sorted() || hit_rates.iter().any(|rate| !(0.0..=1.0).contains(rate)) {
        return Err(refused(format!("{name}: rates from 0 to 1 that never fall are allowed")));
    }
    if segment > 0.0 && segment <= 1.0 {
        Ok(HitCurve::new(hit_rates, segment))
    } else {
        Err(refused(format!("segment is {segment}; above 0 and at most 1 is allowed")))
    }
}

#[pyfunction(name = "victim_utilisation")]
pub(crate) fn solve(u: f64) -> PyResult<f64> {
    Ok(victim_utilisation(share("u", u)?))
}

#[pyfunction(name = "effective_utilisation")]
pub(crate) fn solve_copies(copies_a_page: f64) -> PyResult<f64> {
    if copies_a_page >= 0.0 {
        Ok(effective_utilisation(copies_a_page))
    } else {
        Err(refused(format!("{copies_a_page} copies a page; at least 0 is allowed")))
    }
}

#[pyclass(frozen, module = "coflash._core", name = "CostModel")]
pub(crate) struct CostModel(Costs);

#[pymethods]
impl CostModel {
    #[new]
    #[pyo3(signature = (*, pages_per_block, page_program_us, page_read_us, page_copy_us, block_erase_us,
        read_positioning_us, write_positioning_us, bandwidth_bytes_per_s, page_bytes, write_through))]
    #[allow(clippy::too_many_arguments, reason = "named ones, on the other side")]
    fn new(
        pages_per_block: u32,
        page_program_us: f64,
        page_read_us: f64,
        page_copy_us: f64,
        block_erase_us: f64,
        read_positioning_us: f64,
        write_positioning_us: f64,
        bandwidth_bytes_per_s: u64,
        page_bytes: u64,
        write_through: bool,
    ) -> PyResult<Self> {
        if pages_per_block == 0 {
            return Err(refused("pages_per_block is 0; at least 1 is allowed"));
        }
        if bandwidth_bytes_per_s == 0 {
            return Err(refused("bandwidth_bytes_per_s is 0; at least 1 is allowed"));
        }
        let flash = FlashCosts {
            pages_per_block,
            page_program: duration("page_program_us", page_program_us)?,
            page_read: duration("page_read_us", page_read_us)?,
            page_copy: duration("page_copy_us", page_copy_us)?,
            block_erase: duration("block_erase_us", block_erase_us)?,
        };
        let disk = DiskCosts {
            read_positioning: duration("read_positioning_us", read_positioning_us)?,
            write_positioning: duration("write_positioning_us", write_positioning_us)?,
            bandwidth_bytes_per_s,
            page_bytes,
        };
        let write_policy = if write_through { WritePolicy::WriteThrough } else { WritePolicy::WriteBack };
        Ok(Self(Costs { flash, disk, write_policy }))
    }

    fn gc_us(&self, u: f64, worst: bool) -> PyResult<f64> {
        let u = share("u", u)?;
        let flash = &self.0.flash;
        Ok(if worst { flash.gc_worst_ns(u) } else { flash.gc_ns(u) } / NS_PER_US)
    }

    fn write_us(&self, u: f64, worst: bool) -> PyResult<f64> {
        let u = share("u", u)?;
        let flash = &self.0.flash;
        Ok(if worst { flash.write_worst_ns(u) } else { flash.write_ns(u) } / NS_PER_US)
    }

    fn read_cache_us(&self, hit_rate: f64, write_us: f64) -> PyResult<f64> {
        Ok(self.0.read_ns(share("hit_rate", hit_rate)?, write_us * NS_PER_US) / NS_PER_US)
    }

    fn write_cache_us(&self, hit_rate: f64, reads_of_hits: f64, write_us: f64) -> PyResult<f64> {
        let reads = share("reads_of_hits", reads_of_hits)?;
        Ok(self.0.write_ns(share("hit_rate", hit_rate)?, reads, write_us * NS_PER_US) / NS_PER_US)
    }

    fn hybrid_us(&self, demand: &PyDemand, u: f64, r: f64) -> PyResult<f64> {
        let partition = Partition { caching: share("u", u)?, read: share("r", r)? };
        Ok(self.0.hybrid_ns(&demand.0, partition) / NS_PER_US)
    }

    fn best(&self, demand: &PyDemand, step: f64, caching_max: f64) -> PyResult<(f64, f64)> {
        if !(step > 0.0 && step < 1.0) {
            return Err(refused(format!("step is {step}; above 0 and below 1 is allowed")));
        }
        if !(step..=1.0).contains(&caching_max) {
            return Err(refused(format!("caching_max is {caching_max}; {step} (the step) to 1 is allowed")));
        }
        let best = self.0.best(&demand.0, step, caching_max);
        Ok((best.caching, best.read))
    }
}

#[pyclass(frozen, module = "coflash._core", name = "CostDemand")]
pub(crate) struct PyDemand(Demand);

#[pymethods]
impl PyDemand {
    #[new]
    fn new(
        reads: f64,
        writes: f64,
        read_hit_rates: Vec<f64>,
        write_hit_rates: Vec<f64>,
        segment: f64,
        reads_of_write_hits: f64,
    ) -> PyResult<Self> {
        Ok(Self(Demand {
            reads: share("reads", reads)?,
            writes: share("writes", writes)?,
            read_hits: curve("read_hit_rates", read_hit_rates, segment)?,
            write_hits: curve("write_hit_rates", write_hit_rates, segment)?,
            reads_of_write_hits: share("reads_of_write_hits", reads_of_write_hits)?,
        }))
    }
}
