//! Containers under every kind of cut.

mod device_power;
mod host_power;
mod model;
