//! Containers under every kind of cut.

mod damage;
mod device_power;
mod host_power;
mod model;
