//! Containers under every kind of cut.

mod damage;
mod device_power;
mod firmware;
mod host_power;
mod lossy;
mod model;
