//! The cost model of flash caches in front of disks, in microseconds, for the `Costs` and `Demand` of Python.

use crate::refused;
use coflash_base::Duration;
use coflash_hybrid::WritePolicy;
use coflash_hybrid::costmodel::{Costs, Demand, FlashCosts, HitCurve, Partition, victim_utilisation};
use coflash_media::disk::DiskCosts;
use pyo3::prelude::*;

const NS_PER_US: f64 = 1e3;

#[derive(FromPyObject)]
pub(crate) struct PyCosts {
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
}

#[derive(FromPyObject)]
pub(crate) struct PyDemand {
    reads: f64,
    writes: f64,
    read_hit_rates: Vec<f64>,
    write_hit_rates: Vec<f64>,
    reads_of_write_hits: f64,
    segment: f64,
}

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

fn curve(name: &str, hit_rates: &[f64], segment: f64) -> PyResult<HitCurve> {
    if !hit_rates.is_sorted() || hit_rates.iter().any(|rate| !(0.0..=1.0).contains(rate)) {
        return Err(refused(format!("{name}: rates from 0 to 1 that never fall are allowed")));
    }
    if segment > 0.0 && segment <= 1.0 {
        Ok(HitCurve::new(hit_rates.iter().copied(), segment))
    } else {
        Err(refused(format!("segment is {segment}; above 0 and at most 1 is allowed")))
    }
}

impl PyCosts {
    fn costs(&self) -> PyResult<Costs> {
        for (name, count) in [
            ("pages_per_block", self.pages_per_block.into()),
            ("bandwidth_bytes_per_s", self.bandwidth_bytes_per_s),
        ] {
            if count == 0 {
                return Err(refused(format!("{name} is 0; at least 1 is allowed")));
            }
        }
        let flash = FlashCosts {
            pages_per_block: self.pages_per_block,
            page_program: duration("page_program_us", self.page_program_us)?,
            page_read: duration("page_read_us", self.page_read_us)?,
            page_copy: duration("page_copy_us", self.page_copy_us)?,
            block_erase: duration("block_erase_us", self.block_erase_us)?,
        };
        let disk = DiskCosts {
            read_positioning: duration("read_positioning_us", self.read_positioning_us)?,
            write_positioning: duration("write_positioning_us", self.write_positioning_us)?,
            bandwidth_bytes_per_s: self.bandwidth_bytes_per_s,
            page_bytes: self.page_bytes,
        };
        let write_policy =
            if self.write_through { WritePolicy::WriteThrough } else { WritePolicy::WriteBack };
        Ok(Costs { flash, disk, write_policy })
    }
}

impl PyDemand {
    fn demand(&self) -> PyResult<Demand> {
        Ok(Demand {
            reads: share("reads", self.reads)?,
            writes: share("writes", self.writes)?,
            read_hits: curve("read_hit_rates", &self.read_hit_rates, self.segment)?,
            write_hits: curve("write_hit_rates", &self.write_hit_rates, self.segment)?,
            reads_of_write_hits: share("reads_of_write_hits", self.reads_of_write_hits)?,
        })
    }
}

#[pyfunction(name = "victim_utilisation")]
pub(crate) fn solve(u: f64) -> PyResult<f64> {
    Ok(victim_utilisation(share("u", u)?))
}

#[pyfunction]
pub(crate) fn cost_of_write(costs: PyCosts, u: f64) -> PyResult<f64> {
    Ok(costs.costs()?.flash.write_ns(share("u", u)?) / NS_PER_US)
}

#[pyfunction]
pub(crate) fn cost_of_request(costs: PyCosts, demand: PyDemand, u: f64, r: f64) -> PyResult<f64> {
    let partition = Partition { caching: share("u", u)?, read: share("r", r)? };
    Ok(costs.costs()?.hybrid_ns(&demand.demand()?, partition) / NS_PER_US)
}

/// u, r, and the cost there.
#[pyfunction]
pub(crate) fn least_cost(
    costs: PyCosts,
    demand: PyDemand,
    step: f64,
    u_max: f64,
) -> PyResult<(f64, f64, f64)> {
    if !(step > 0.0 && step < 1.0) {
        return Err(refused(format!("step is {step}; above 0 and below 1 is allowed")));
    }
    if !(step..=1.0).contains(&u_max) {
        return Err(refused(format!("u_max is {u_max}; {step} (the step) to 1 is allowed")));
    }
    let (costs, demand) = (costs.costs()?, demand.demand()?);
    let best = costs.best(&demand, step, u_max);
    Ok((best.caching, best.read, costs.hybrid_ns(&demand, best) / NS_PER_US))
}
