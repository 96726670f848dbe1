//! Workloads that are known by name: `preset = "jesd219-enterprise"`.
//!
//! Each is made of [parts](crate::parts) like any other workload; one file says of which, and where its numbers are from.

pub mod jedec_client;
pub mod jesd219_enterprise;
pub mod oltp_like;

use crate::WorkloadError;
use crate::parts::Part;
use coflash_base::Policy;

/// A workload that is ready made. The life of one: [`new`](ReadyMade::new), then [`part`](ReadyMade::part), once.
pub trait ReadyMade: Policy {
    /// The workload with these parameters; they are checked when it is opened.
    fn new(config: &Self::Config) -> Self;

    /// What it is made of, over `space_bytes`.
    ///
    /// # Errors
    /// The parameter that is not allowed, as `preset.…`. What a part refuses is reported by the last word of its key,
    /// so a parameter that goes to a part unchanged has the name that it has there.
    fn part(&self, space_bytes: u64) -> Result<Part, WorkloadError>;

    /// What it is called where there is room for a few words only; nothing where its name says enough.
    const TITLE: Option<&'static str> = None;

    /// What a reader of its results must know, in sentences.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

coflash_base::policy_family! { ($)
    /// A workload that is ready made.
    pub family Preset, config PresetConfig, dispatch with_preset, build build_preset {
        "jesd219-enterprise" => Jesd219Enterprise(jesd219_enterprise::Jesd219Enterprise),
        "jedec-client" => JedecClient(jedec_client::JedecClient),
        "oltp-like" => OltpLike(oltp_like::OltpLike),
    }
}

impl PresetConfig {
    pub(crate) fn build(&self) -> Preset {
        build_preset!(self, config => ReadyMade::new(config))
    }

    /// What it is, in a few words.
    #[must_use]
    pub fn title(&self) -> &'static str {
        fn of<P: ReadyMade>(_: &P) -> Option<&'static str> {
            P::TITLE
        }
        with_preset!(&self.build(), preset => of(preset)).unwrap_or(self.name())
    }
}

impl Preset {
    /// As [`ReadyMade::part`].
    ///
    /// # Errors
    /// As there.
    pub fn part(&self, space_bytes: u64) -> Result<Part, WorkloadError> {
        with_preset!(self, preset => preset.part(space_bytes))
    }

    /// As [`ReadyMade::remarks`].
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        with_preset!(self, preset => preset.remarks())
    }
}
