//! What a scenario says of the device cache.

use coflash_base::units::UnitError;
use coflash_base::{Bytes, Duration, Share};
use coflash_cache::EvictionConfig;
use coflash_flash::CacheTiming;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// How large a cache is: bytes (`"64MiB"`), or a share of the logical space (`"5%"`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheSize {
    /// So many bytes.
    Bytes(Bytes),
    /// A share of the logical space.
    Share(Share),
}

impl CacheSize {
    /// The size in whole pages.
    #[must_use]
    pub fn pages(self, page_bytes: u64, logical_pages: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.count / page_bytes,
            Self::Share(share) => share.of(logical_pages),
        }
    }
}

impl FromStr for CacheSize {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text.trim().ends_with('%') { text.parse().map(Self::Share) } else { text.parse().map(Self::Bytes) }
    }
}

impl fmt::Display for CacheSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Share(share) => share.fmt(f),
        }
    }
}

impl Serialize for CacheSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CacheSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for CacheSize {
    fn schema_name() -> Cow<'static, str> {
        "CacheSize".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "bytes such as \"64MiB\", or a share of the logical space such as \"5%\"" })
    }
}

/// Whether a write that needs a slot waits until the page that had it lies in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Eviction {
    /// It waits: the slot's data is in flash before the slot is reused.
    #[default]
    Foreground,
    /// It does not: the controller holds the leaving page elsewhere meanwhile. The die is busy all the same.
    Background,
}

/// Where the cache is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// In the device: cache and FTL share one controller, and telling each other is free.
    #[default]
    InStorage,
    /// In the host: what is not cached crosses the link, and so does all that cache and flash tell each other, as `[host]`
    /// says. Not with `cdm-consistent`.
    Host,
}

/// The cache: page-sized slots, of NVM or, as a write buffer, of DRAM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CacheConfig {
    /// Its size: bytes ("64MiB") or a share of the logical space ("5%"); "0B" for none.
    pub size: CacheSize,
    /// Which page leaves when it is full.
    pub policy: EvictionConfig,
    /// Whether a restart loses it: then a flush writes every dirty page to flash, and waits.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub volatile: bool,
    /// Reading a page from the cache.
    pub page_read: Duration,
    /// Writing a page into the cache.
    pub page_write: Duration,
    /// Whether a page that is read from flash enters the cache.
    pub read_allocate: bool,
    /// Whether a page that the host writes enters the cache.
    pub write_allocate: bool,
    /// Whether a write that needs a slot waits until the page that had it lies in flash.
    pub eviction: Eviction,
    /// Where the cache is.
    #[serde(skip_serializing_if = "is_in_storage")]
    #[schemars(extend("default" = "in-storage"))]
    pub placement: Placement,
}

// Left out at its default, so that scenarios older than this option keep their hashes.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_in_storage(placement: &Placement) -> bool {
    *placement == Placement::InStorage
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self {
            size: CacheSize::Bytes(Bytes::ZERO),
            policy: EvictionConfig::default(),
            volatile: false,
            page_read: Duration { ns: 1_000 },
            page_write: Duration { ns: 1_000 },
            read_allocate: true,
            write_allocate: true,
            eviction: Eviction::default(),
            placement: Placement::default(),
        }
    }
}

impl CacheConfig {
    /// What an access costs.
    #[must_use]
    pub fn timing(&self) -> CacheTiming {
        CacheTiming { read: self.page_read, write: self.page_write }
    }
}
