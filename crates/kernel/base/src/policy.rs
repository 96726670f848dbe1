//! The policy registry: an algorithm is one file, and one line in its family's list.
//!
//! A *family* is a set of interchangeable algorithms (GC victims, cache eviction, cooperation, generators).
//! Its [`policy_family!`](crate::policy_family) list generates the configuration for scenarios (`"greedy"` or
//! `{ name = "d-choices", d = 10 }`), the running enum with static dispatch, and the table for the
//! documentation, the command line and the contract tests.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess};
use std::marker::PhantomData;

/// One algorithm of a family.
pub trait Policy: Sized {
    /// The parameters; [`NoParameters`] if there are none.
    type Config: Clone + std::fmt::Debug + Default + PartialEq + Serialize + DeserializeOwned + JsonSchema;
    /// A description in one sentence.
    const SUMMARY: &'static str;
    /// The publication, or "folklore".
    const SOURCE: &'static str;

    /// The memory that it takes with its default parameters, in words; empty where its family does not say.
    #[must_use]
    fn needs() -> String {
        String::new()
    }
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
    pub fn of<P: Policy>(name: &'static str) -> Self {
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
        Self { name, summary: P::SUMMARY, source: P::SOURCE, needs: P::needs(), parameters }
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
        pub enum $family {
            #[doc = concat!("`", $first_name, "`")]
            $first($first_ty),
            $(#[doc = concat!("`", $name, "`")] $variant($ty),)*
            $(#[doc = concat!("`", $external_name, "`")] $external($external_ty),)?
        }

        $(#[$meta])*
        #[doc = "\n\nIn a scenario: its name, or a table of its name and its parameters."]
        #[derive(Clone, Debug, PartialEq)]
        pub enum $config {
            #[doc = concat!("`", $first_name, "`")]
            $first(<$first_ty as $crate::Policy>::Config),
            $(#[doc = concat!("`", $name, "`")] $variant(<$ty as $crate::Policy>::Config),)*
            $(#[doc = concat!("`", $external_name, "`")] $external(<$external_ty as $crate::Policy>::Config),)?
        }

        impl $config {
            /// All names of the family, in the order of its list, without the one of external code.
            pub const NAMES: &'static [&'static str] = &[$first_name, $($name),*];
            const ALLOWED: &'static [&'static str] = &[$first_name, $($name,)* $($external_name)?];

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
                    $crate::PolicyInfo::of::<$first_ty>($first_name),
                    $($crate::PolicyInfo::of::<$ty>($name),)*
                ]
            }
        }

        impl Default for $config {
            fn default() -> Self {
                Self::$first(Default::default())
            }
        }

        impl ::serde::Serialize for $config {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                #[derive(::serde::Serialize)]
                struct Named<'a, C> {
                    name: &'static str,
                    #[serde(flatten)]
                    config: &'a C,
                }
                match self {
                    Self::$first(config) => Named { name: $first_name, config }.serialize(serializer),
                    $(Self::$variant(config) => Named { name: $name, config }.serialize(serializer),)*
                    $(Self::$external(config) => Named { name: $external_name, config }.serialize(serializer),)?
                }
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $config {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct NameOrTable;
                impl<'de> ::serde::de::Visitor<'de> for NameOrTable {
                    type Value = $config;
                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        write!(f, "a name ({}) or a table with one", $config::ALLOWED.join(", "))
                    }
                    fn visit_str<E: ::serde::de::Error>(self, name: &str) -> Result<$config, E> {
                        match name {
                            $($external_name => Ok($config::$external(Default::default())),)?
                            _ => $config::by_name(name).ok_or_else(|| E::unknown_variant(name, $config::ALLOWED)),
                        }
                    }
                    fn visit_map<A: ::serde::de::MapAccess<'de>>(self, map: A) -> Result<$config, A::Error> {
                        let (name, rest) = $crate::policy::split_name(map)?;
                        match name.as_str() {
                            $first_name => ::serde::Deserialize::deserialize(rest).map($config::$first),
                            $($name => ::serde::Deserialize::deserialize(rest).map($config::$variant),)*
                            $($external_name => ::serde::Deserialize::deserialize(rest).map($config::$external),)?
                            _ => Err(::serde::de::Error::unknown_variant(&name, $config::ALLOWED)),
                        }
                    }
                }
                deserializer.deserialize_any(NameOrTable)
            }
        }

        impl ::schemars::JsonSchema for $config {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($config).into()
            }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({
                    "oneOf": [
                        { "enum": $config::ALLOWED },
                        { "type": "object", "required": ["name"],
                          "properties": { "name": { "enum": $config::ALLOWED } } },
                    ],
                    "default": $first_name,
                })
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

/// The parameters of a policy as a deserializer of its configuration.
pub type ParametersOf<E> = MapAccessDeserializer<ParameterTable<E>>;

/// Split a table into `name` and the parameters.
///
/// # Errors
/// A missing `name`, or an error of the table's source.
pub fn split_name<'de, A: MapAccess<'de>>(mut map: A) -> Result<(String, ParametersOf<A::Error>), A::Error> {
    let mut name = None;
    let mut rest = Vec::new();
    while let Some(key) = map.next_key::<String>()? {
        if key == "name" {
            name = Some(map.next_value()?);
        } else {
            rest.push((key, map.next_value()?));
        }
    }
    let name = name.ok_or_else(|| de::Error::missing_field("name"))?;
    let table = ParameterTable { entries: rest.into_iter(), value: None, error: PhantomData };
    Ok((name, MapAccessDeserializer::new(table)))
}

/// The parameters of a policy during deserialization: an error names the parameter.
#[derive(Debug)]
pub struct ParameterTable<E> {
    entries: std::vec::IntoIter<(String, ParameterValue)>,
    value: Option<(String, ParameterValue)>,
    error: PhantomData<E>,
}

impl<'de, E: de::Error> MapAccess<'de> for ParameterTable<E> {
    type Error = E;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, E> {
        self.value = self.entries.next();
        self.value.as_ref().map(|(key, _)| seed.deserialize(key.as_str().into_deserializer())).transpose()
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, E> {
        let (key, value) = self.value.take().expect("a key comes before its value");
        seed.deserialize(value.into_deserializer())
            .map_err(|error: E| E::custom(format_args!("{key}: {error}")))
    }
}

/// The common methods of deserializers of a scenario's values. The deserializers implement `deserialize_any`
/// themselves, and have two more methods: `unexpected`, the value for an error, and `into_text`, which returns the
/// value unchanged if it is not a text.
#[doc(hidden)]
#[macro_export]
macro_rules! forward_scenario_value {
    ($error:ty) => {
        fn deserialize_option<V: ::serde::de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, $error> {
            visitor.visit_some(self)
        }

        fn deserialize_newtype_struct<V: ::serde::de::Visitor<'de>>(
            self,
            _: &'static str,
            visitor: V,
        ) -> Result<V::Value, $error> {
            visitor.visit_newtype_struct(self)
        }

        fn deserialize_enum<V: ::serde::de::Visitor<'de>>(
            self,
            _: &'static str,
            names: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, $error> {
            match self.into_text() {
                Ok(name) => visitor.visit_enum(::serde::de::IntoDeserializer::into_deserializer(name)),
                Err(other) => {
                    let names = format!("one of {}", names.join(", "));
                    Err(::serde::de::Error::invalid_type(other.unexpected(), &names.as_str()))
                }
            }
        }

        /// Refuse lists for tables: a new key would change their meaning.
        fn deserialize_struct<V: ::serde::de::Visitor<'de>>(
            self,
            _: &'static str,
            _: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, $error> {
            match self.unexpected() {
                list @ ::serde::de::Unexpected::Seq => Err(::serde::de::Error::invalid_type(list, &visitor)),
                _ => self.deserialize_any(visitor),
            }
        }

        ::serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
            seq tuple tuple_struct map identifier ignored_any
        }
    };
}

pub use value::ParameterValue;

/// Values of a scenario between file and type.
mod value {
    use serde::Deserialize;
    use serde::de::{Deserializer, Error, IntoDeserializer, Unexpected, Visitor, value};
    use std::fmt;
    use std::marker::PhantomData;

    /// The value of a parameter, of one of the types of TOML.
    #[derive(Clone, Debug)]
    pub enum ParameterValue {
        /// true or false
        Bool(bool),
        /// a whole number
        Integer(i64),
        /// a number
        Float(f64),
        /// a text
        Text(String),
        /// a list
        List(Vec<Self>),
        /// a table
        Table(Vec<(String, Self)>),
    }

    impl ParameterValue {
        fn unexpected(&self) -> Unexpected<'_> {
            match self {
                Self::Bool(v) => Unexpected::Bool(*v),
                Self::Integer(v) => Unexpected::Signed(*v),
                Self::Float(v) => Unexpected::Float(*v),
                Self::Text(v) => Unexpected::Str(v),
                Self::List(_) => Unexpected::Seq,
                Self::Table(_) => Unexpected::Map,
            }
        }
    }

    impl<'de> Deserialize<'de> for ParameterValue {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Any;
            impl<'de> Visitor<'de> for Any {
                type Value = ParameterValue;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a parameter")
                }
                fn visit_bool<E: Error>(self, v: bool) -> Result<ParameterValue, E> {
                    Ok(ParameterValue::Bool(v))
                }
                fn visit_i64<E: Error>(self, v: i64) -> Result<ParameterValue, E> {
                    Ok(ParameterValue::Integer(v))
                }
                fn visit_u64<E: Error>(self, v: u64) -> Result<ParameterValue, E> {
                    i64::try_from(v)
                        .map(ParameterValue::Integer)
                        .map_err(|_| E::custom(format!("{v} is too large")))
                }
                fn visit_f64<E: Error>(self, v: f64) -> Result<ParameterValue, E> {
                    Ok(ParameterValue::Float(v))
                }
                fn visit_str<E: Error>(self, v: &str) -> Result<ParameterValue, E> {
                    Ok(ParameterValue::Text(v.to_owned()))
                }
                fn visit_seq<A: serde::de::SeqAccess<'de>>(
                    self,
                    mut seq: A,
                ) -> Result<ParameterValue, A::Error> {
                    let mut items = Vec::new();
                    while let Some(item) = seq.next_element()? {
                        items.push(item);
                    }
                    Ok(ParameterValue::List(items))
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(
                    self,
                    mut map: A,
                ) -> Result<ParameterValue, A::Error> {
                    let mut items = Vec::new();
                    while let Some(item) = map.next_entry()? {
                        items.push(item);
                    }
                    Ok(ParameterValue::Table(items))
                }
            }
            deserializer.deserialize_any(Any)
        }
    }

    impl<E> ParameterDeserializer<E> {
        fn unexpected(&self) -> Unexpected<'_> {
            self.0.unexpected()
        }

        fn into_text(self) -> Result<String, Self> {
            match self.0 {
                ParameterValue::Text(text) => Ok(text),
                other => Err(Self(other, PhantomData)),
            }
        }
    }

    impl<'de, E: Error> IntoDeserializer<'de, E> for ParameterValue {
        type Deserializer = ParameterDeserializer<E>;
        fn into_deserializer(self) -> ParameterDeserializer<E> {
            ParameterDeserializer(self, PhantomData)
        }
    }

    /// A parameter as a deserializer with any error type.
    #[derive(Debug)]
    pub struct ParameterDeserializer<E>(ParameterValue, PhantomData<E>);

    impl<'de, E: Error> Deserializer<'de> for ParameterDeserializer<E> {
        type Error = E;
        fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
            match self.0 {
                ParameterValue::Bool(v) => visitor.visit_bool(v),
                ParameterValue::Integer(v) => visitor.visit_i64(v),
                ParameterValue::Float(v) => visitor.visit_f64(v),
                ParameterValue::Text(v) => visitor.visit_string(v),
                ParameterValue::List(v) => visitor.visit_seq(value::SeqDeserializer::new(v.into_iter())),
                ParameterValue::Table(v) => visitor.visit_map(value::MapDeserializer::new(v.into_iter())),
            }
        }
        crate::forward_scenario_value! { E }
    }
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

    fn read(text: &str) -> Result<FamilyConfig, serde_json::Error> {
        serde_json::from_str(text)
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
        assert_eq!(FamilyConfig::default().name(), "plain");
        assert_eq!(family_dispatch!(Family::Plain(Plain), _ => 1), 1);
        let _ = Family::Tuned(Tuned);
    }
}
