//! The two sides of a link, which may lose power one without the other.

/// The side that loses power at a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The host, with the slots and words of its cache.
    Host,
    /// The device, with its flash.
    Device,
    /// Both; or the device, where the cache is in the device.
    Both,
}

impl Side {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Host, Self::Device, Self::Both];

    /// Whether the device is cut.
    #[must_use]
    pub fn has_device(self) -> bool {
        self != Self::Host
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Device => "device",
            Self::Both => "both",
        })
    }
}

impl std::str::FromStr for Side {
    type Err = String;

    /// Read `host`, `device` or `both`.
    fn from_str(text: &str) -> Result<Self, String> {
        let side = Self::ALL.into_iter().find(|side| side.to_string() == text);
        side.ok_or_else(|| format!("\"{text}\" was given; \"host\", \"device\" or \"both\" is allowed"))
    }
}
