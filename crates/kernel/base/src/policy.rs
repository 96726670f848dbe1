//! The policy registry: an algorithm is one file, and one line in its family's list.
//!
//! A *family* is a set of interchangeable algorithms (GC victims, cache eviction, cooperation, generators).
//! Its [`policy_family!`](crate::policy_family) list generates the configuration for scenarios (`"greedy"` or
//! `{ name = "d-choices", d = 10 }`), the running enum with static dispatch, and the table for the
//! documentation, the command line and the contract tests.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The parameters of an algorithm in a scenario.
pub trait Parameters:
    Clone + std::fmt::Debug + Default + PartialEq + Serialize + DeserializeOwned + JsonSchema
{
}

impl<P> Parameters for P where
    P: Clone + std::fmt::Debug + Default + PartialEq + Serialize + DeserializeOwned + JsonSchema
{
}

/// One algorithm of a family.
pub trait Policy: Sized {
    /// The parameters; [`NoParameters`] if there are none.
    type Config: Parameters;
    /// A description in one sentence.
    const SUMMARY: &'static str;
    /// The publication, or "folklore".
    const SOURCE: &'static str;
    /// The memory that it takes, with default parameters; empty where its family does not say.
    const NEEDS: &'static str = "";
}

/// The configuration of a policy without parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

/// The documentation of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// The key in the scenario.
    pub name: String,
    /// The default value, as JSON; empty if there is none.
    pub default: String,
    /// The meaning.
    pub meaning: String,
}

/// The documentation of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyInfo {
    /// The name in the scenario.
    pub name: &'static str,
    /// A description in one sentence.
    pub summary: &'static str,
    /// The publication.
    pub source: &'static str,
    /// The memory that it takes; empty where its family does not say.
    pub needs: String,
    /// The parameters.
    pub parameters: Vec<Parameter>,
}

impl PolicyInfo {
    /// Create the documentation of policy `P`; the parameters come from their JSON schema.
    #[must_use]
    pub fn document<P: Policy>(name: &'static str) -> Self {
        let schema = schemars::schema_for!(P::Config);
        let properties = schema.get("properties").and_then(|p| p.as_object()).cloned().unwrap_or_default();
        let parameters = properties
            .into_iter()
            .map(|(name, property)| Parameter {
                default: property
                    .get("default")
                    .filter(|default| !default.is_null())
                    .map(ToString::to_string)
                    .unwrap_or_default(),
                meaning: property
                    .get("description")
                    .and_then(|d| d.as_str())
                    .unwrap_or_default()
                    .replace('\n', " "),
                name,
            })
            .collect();
        Self { name, summary: P::SUMMARY, source: P::SOURCE, needs: P::NEEDS.to_owned(), parameters }
    }
}

/// Declare a family by one list. The `($)` permits arguments of the generated dispatch macro.
///
/// ```ignore
/// coflash_base::policy_family! { ($)
///     /// Which sealed block GC cleans next.
///     pub family Victim, config VictimConfig, dispatch victim_dispatch {
///         "greedy" => Greedy(greedy::Greedy),
///         "fifo" => Fifo(fifo::Fifo),
///     }
/// }
/// ```
///
/// `VictimConfig` is the value in a scenario (the first of the list is the default), `Victim` the running policy, and
/// `victim_dispatch!(victim, policy => expression)` evaluates the expression for its variant. With `, build
/// victim_build`, `victim_build!(config, parameters => expression)` creates the policy of a configuration, and
/// `victim_build!(config, type Policy, parameters => expression)` evaluates an expression of its type. With
/// `, external "external" => External(External)` the family takes code from outside, too, which is none of its names. A family
/// whose policies have state of a run says `Victim: Save`.
#[macro_export]
macro_rules! policy_family {
    (($d:tt) $(#[$meta:meta])* pub family $family:ident $(: $save:ident)?, config $config:ident, dispatch $dispatch:ident
        $(, build $build:ident)? $(, external $external_name:literal => $external:ident($external_ty:ty))? {
        $first_name:literal => $first:ident($first_ty:ty), $($name:literal => $variant:ident($ty:ty),)*
    }) => {
        $(#[$meta])*
        #[derive(Clone)]
        $(#[derive($crate::$save)] #[save(in_place)])?
        // A tag that needs no decoding: policies are asked about each page.
        #[repr(u8)]
        pub enum $family {
            #[doc = concat!("`", $first_name, "`")]
            $first($first_ty),
            $(#[doc = concat!("`", $name, "`")] $variant($ty),)*
            $(#[doc = concat!("`", $external_name, "`")] $external($external_ty),)?
        }

        $crate::choice! {
            $(#[$meta])*
            #[doc = "\n\nIn a scenario: its name, or a table of its name and its parameters."]
            pub enum $config {
                #[serde(rename = $first_name)]
                #[doc = concat!("`", $first_name, "`")]
                $first(<$first_ty as $crate::Policy>::Config),
                $(#[serde(rename = $name)] #[doc = concat!("`", $name, "`")] $variant(<$ty as $crate::Policy>::Config),)*
                $(#[serde(rename = $external_name)] #[doc = concat!("`", $external_name, "`")]
                  $external(<$external_ty as $crate::Policy>::Config),)?
            }
        }

        impl $config {
            /// All names of the family, in the order of its list, without the one of external code.
            pub const NAMES: &'static [&'static str] = &[$first_name, $($name),*];

            /// The name in the scenario.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    Self::$first(_) => $first_name,
                    $(Self::$variant(_) => $name,)*
                    $(Self::$external(_) => $external_name,)?
                }
            }

            /// The configuration of that name with default parameters.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $first_name => Some(Self::$first(Default::default())),
                    $($name => Some(Self::$variant(Default::default())),)*
                    _ => None,
                }
            }

            /// The table of the family.
            #[must_use]
            pub fn table() -> Vec<$crate::PolicyInfo> {
                vec![
                    $crate::PolicyInfo::document::<$first_ty>($first_name),
                    $($crate::PolicyInfo::document::<$ty>($name),)*
                ]
            }
        }

        impl Default for $config {
            fn default() -> Self {
                Self::$first(Default::default())
            }
        }

        #[allow(unused_macros, reason = "a family whose trait has one method matches by hand")]
        macro_rules! $dispatch {
            ($d self:expr, $d policy:pat => $d call:expr) => {
                match $d self {
                    $family::$first($d policy) => $d call,
                    $($family::$variant($d policy) => $d call,)*
                    $($family::$external($d policy) => $d call,)?
                }
            };
        }

        $crate::policy_build! { ($d) $family, $config, [$($build)?], [$first: $first_ty, $($variant: $ty,)* $($external: $external_ty,)?] }
    };
}

/// The second half of [`policy_family!`](crate::policy_family): the macro that creates a policy from its configuration.
#[doc(hidden)]
#[macro_export]
macro_rules! policy_build {
    (($d:tt) $family:ident, $config:ident, [], [$($variant:ident: $ty:ty,)*]) => {};
    (($d:tt) $family:ident, $config:ident, [$build:ident], [$($variant:ident: $ty:ty,)*]) => {
        macro_rules! $build {
            ($d self:expr, type $d policy:ident, $d parameters:pat => $d call:expr) => {
                match $d self {
                    $($config::$variant($d parameters) => {
                        type $d policy = $ty;
                        $d call
                    })*
                }
            };
            ($d self:expr, $d parameters:pat => $d call:expr) => {
                match $d self {
                    $($config::$variant($d parameters) => $family::$variant($d call),)*
                }
            };
        }
    };
}

#[cfg(test)]
#[allow(unreachable_pub, reason = "a family is public, and so are its members")]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Clone)]
    pub struct Plain;
    impl Policy for Plain {
        type Config = NoParameters;
        const SUMMARY: &'static str = "plain";
        const SOURCE: &'static str = "folklore";
    }

    #[derive(Clone)]
    pub struct Tuned;
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct TunedConfig {
        /// how many
        d: u32,
    }
    impl Default for TunedConfig {
        fn default() -> Self {
            Self { d: 2 }
        }
    }
    impl Policy for Tuned {
        type Config = TunedConfig;
        const SUMMARY: &'static str = "tuned";
        const SOURCE: &'static str = "folklore";
    }

    crate::policy_family! { ($)
        /// A family.
        pub family Family, config FamilyConfig, dispatch family_dispatch {
            "plain" => Plain(Plain),
            "tuned" => Tuned(Tuned),
        }
    }

    fn read(text: &str) -> Result<FamilyConfig, crate::Misfit> {
        crate::read::read(&serde_json::from_str::<serde_json::Value>(text).unwrap())
    }

    #[test]
    fn a_name_or_a_table_is_read_and_anything_else_refused() {
        assert_eq!(read("\"plain\"").unwrap(), FamilyConfig::Plain(NoParameters {}));
        assert_eq!(read("{\"name\":\"tuned\"}").unwrap(), FamilyConfig::Tuned(TunedConfig { d: 2 }));
        assert_eq!(read("{\"d\":7,\"name\":\"tuned\"}").unwrap(), FamilyConfig::Tuned(TunedConfig { d: 7 }));
        for wrong in
            ["\"tune\"", "{\"d\":7}", "{\"name\":\"tuned\",\"e\":1}", "{\"name\":\"plain\",\"d\":1}", "3"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for config in [FamilyConfig::default(), FamilyConfig::Tuned(TunedConfig { d: 9 })] {
            assert_eq!(read(&serde_json::to_string(&config).unwrap()).unwrap(), config);
        }
    }

    #[test]
    fn the_table_shows_parameters_and_defaults() {
        let table = FamilyConfig::table();
        assert_eq!(table[0].parameters, []);
        let d = Parameter { name: "d".into(), default: "2".into(), meaning: "how many".into() };
        assert_eq!(table[1].parameters, [d]);
        assert_eq!(FamilyConfig::NAMES, ["plain", "tuned"]);
        assert_eq!(FamilyConfig::by_name("plain"), Some(FamilyConfig::default()));
        assert_eq!(FamilyConfig::default().name(), "plain");
        assert_eq!(family_dispatch!(Family::Plain(Plain), _ => 1), 1);
        let _ = Family::Tuned(Tuned);
    }
}
