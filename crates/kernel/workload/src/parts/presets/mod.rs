//! Preset workloads: `preset = "jesd219-enterprise"`.
//!
//! A preset consists of [parts](crate::parts) like any other workload; one file defines them and cites their numbers.

pub mod jedec_client;
pub mod jesd219_enterprise;
pub mod oltp_like;

use crate::WorkloadError;
use crate::parts::Part;
use coflash_base::Policy;

/// A preset workload, by its parameters.
pub trait PresetWorkload: Policy<Config = Self> {
    /// The parts of the workload over `space_bytes`.
    ///
    /// # Errors
    /// An invalid parameter, as `preset.…`. An error of a part is reported with the last word of its key, so a
    /// parameter that is passed to a part must have the same name as there.
    fn part(&self, space_bytes: u64) -> Result<Part, WorkloadError>;

    /// A title of a few words; `None` if the name is clear enough.
    const TITLE: Option<&'static str> = None;

    /// Caveats for readers of the results, in sentences.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

coflash_base::policy_family! { ($)
    /// A preset workload.
    pub family Preset, config PresetConfig, dispatch with_preset, build build_preset {
        "jesd219-enterprise" => Jesd219Enterprise(jesd219_enterprise::Jesd219EnterpriseConfig),
        "jedec-client" => JedecClient(jedec_client::JedecClientConfig),
        "oltp-like" => OltpLike(oltp_like::OltpLikeConfig),
    }
}

impl PresetConfig {
    pub(crate) fn build(&self) -> Preset {
        build_preset!(self, config => config.clone())
    }

    /// Whether all requests arrive at time 0.
    #[must_use]
    pub fn arrives_at_once(&self) -> bool {
        match self {
            Self::Jesd219Enterprise(config) => config.arrival.is_back_to_back(),
            Self::JedecClient(config) => config.arrival.is_back_to_back(),
            Self::OltpLike(_) => false,
        }
    }

    /// The title of the workload, or else its name.
    #[must_use]
    pub fn title(&self) -> &'static str {
        build_preset!(self, type Named, _ => Named::TITLE).unwrap_or(self.name())
    }
}

impl Preset {
    /// Call [`PresetWorkload::part`].
    ///
    /// # Errors
    /// See there.
    pub fn part(&self, space_bytes: u64) -> Result<Part, WorkloadError> {
        with_preset!(self, preset => preset.part(space_bytes))
    }

    /// Call [`PresetWorkload::remarks`].
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        with_preset!(self, preset => preset.remarks())
    }
}
