//! The reader of a scenario's values. Errors name the full key, the given and the allowed value, and the nearest match.
//!
//! An enumeration is a choice: a name, or a table of a name and the parameters that this name takes
//! ([`choice!`](crate::choice)).

use crate::misfit::Misfit;
use crate::suggest;
use crate::units::UnitError;
use serde::Serialize;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use std::fmt;
use toml::{Table, Value};

const NO_SUCH_KEY: &str = "no such key";
/// The most keys of other tables that an error names.
const OF_OTHER_TABLES_MAX: usize = 3;

impl Misfit {
    /// Whether the key does not exist.
    #[must_use]
    pub fn is_unknown_key(&self) -> bool {
        self.problem.starts_with(NO_SUCH_KEY)
    }

    /// The same error; of a key that does not exist it names those that end in it, or those of the same name in other tables
    /// where none of its own table is alike.
    #[must_use]
    pub fn or_longer(mut self, keys: &[String]) -> Self {
        let of = |end: &str| {
            let end = format!(".{end}");
            keys.iter().filter(|key| key.ends_with(&end)).map(String::as_str).collect::<Vec<_>>()
        };
        let mut meant = of(&self.key);
        if meant.is_empty() && !self.problem.contains("did you mean") {
            meant = of(self.key.rsplit('.').next().unwrap_or_default());
            meant.truncate(OF_OTHER_TABLES_MAX);
        }
        if self.is_unknown_key() && !meant.is_empty() {
            self.problem = format!("{NO_SUCH_KEY}; did you mean {}?", meant.join(" or "));
        }
        self
    }
}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self::whole(problem.to_string())
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(field, format!("{NO_SUCH_KEY}{}", suggest::hint(field, expected)))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let is_path = |one: char| one.is_alphanumeric() || "_./-:".contains(one);
        let is_own = expected.contains(&"external") && variant.contains(':') && variant.chars().all(is_path);
        let own = format!("; did you mean {{ name = \"external\", code = \"{variant}\" }}?");
        let hint = if is_own { own } else { suggest::hint(variant, expected) };
        Self::whole(format!("\"{variant}\" is not known{hint}"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(field, "it must be given")
    }

    fn invalid_type(given: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::invalid_value(given, expected)
    }

    fn invalid_value(given: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let is_negative = matches!(given, de::Unexpected::Signed(value) if value < 0);
        let is_number = matches!(given, de::Unexpected::Signed(_) | de::Unexpected::Float(_));
        let given = match given {
            de::Unexpected::Str(text) => format!("\"{text}\""),
            de::Unexpected::Bool(value) => value.to_string(),
            de::Unexpected::Signed(value) => value.to_string(),
            de::Unexpected::Unsigned(value) => value.to_string(),
            de::Unexpected::Float(value) => value.to_string(),
            de::Unexpected::Seq => "a list".to_owned(),
            de::Unexpected::Map => "a table".to_owned(),
            other => other.to_string(),
        };
        // Serde uses the names of Rust types; TOML's integers are limited to i64.
        let expected = match expected.to_string().as_str() {
            "u32" => format!("a whole number from 0 to {}", u32::MAX),
            "u64" => format!("a whole number from 0 to {}", i64::MAX),
            "a nonzero u16" => format!("a whole number from 1 to {}", u16::MAX),
            "a nonzero u32" => format!("a whole number from 1 to {}", u32::MAX),
            "a nonzero u64" => format!("a whole number from 1 to {}", i64::MAX),
            "f64" => "a number".to_owned(),
            "a string" => "a text".to_owned(),
            "a boolean" => "true or false".to_owned(),
            "a sequence" => "a list".to_owned(),
            other => match other.strip_prefix("struct ") {
                Some(_) => "a table".to_owned(),
                None => other.to_owned(),
            },
        };
        // A number where a text with a unit is expected.
        let why = match () {
            () if is_negative => ": it is negative",
            () if is_number && expected.contains("such as \"") && !expected.contains("number") => {
                ": its unit is missing"
            }
            () => "",
        };
        Self::whole(format!("{given} was given{why}; {expected} is allowed"))
    }
}

/// Read plain data; an error names its key.
///
/// # Errors
/// An invalid key or value.
pub fn read<T: DeserializeOwned>(data: &impl Serialize) -> Result<T, Misfit> {
    T::deserialize(Node(Value::try_from(without_nulls(data)).map_err(de::Error::custom)?))
}

/// Plain data as JSON, without the keys that have no value.
///
/// # Panics
/// The data has keys that are no texts.
#[must_use]
pub fn without_nulls(data: &impl Serialize) -> serde_json::Value {
    fn strip(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(entries) => {
                entries.retain(|_, value| !value.is_null());
                entries.values_mut().for_each(strip);
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(data).expect("plain data");
    strip(&mut value);
    value
}

/// Read a table; an error names its key.
///
/// # Errors
/// An invalid key or value.
pub fn read_table<T: DeserializeOwned>(table: Table) -> Result<T, Misfit> {
    T::deserialize(Node(Value::Table(table)))
}

/// A TOML value whose errors carry their key.
struct Node(Value);

impl<'de> IntoDeserializer<'de, Misfit> for Node {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl Node {
    fn unexpected(&self) -> de::Unexpected<'_> {
        match &self.0 {
            Value::String(value) => de::Unexpected::Str(value),
            Value::Integer(value) => de::Unexpected::Signed(*value),
            Value::Float(value) => de::Unexpected::Float(*value),
            Value::Boolean(value) => de::Unexpected::Bool(*value),
            Value::Datetime(_) => de::Unexpected::Other("a date"),
            Value::Array(_) => de::Unexpected::Seq,
            Value::Table(_) => de::Unexpected::Map,
        }
    }
}

impl<'de> Deserializer<'de> for Node {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::String(value) => visitor.visit_string(value),
            Value::Integer(value) => visitor.visit_i64(value),
            // A document without a value for it would not be the same scenario.
            Value::Float(value) if !value.is_finite() => {
                Err(de::Error::invalid_value(de::Unexpected::Float(value), &"a finite number"))
            }
            Value::Float(value) => visitor.visit_f64(value),
            Value::Boolean(value) => visitor.visit_bool(value),
            Value::Datetime(value) => visitor.visit_string(value.to_string()),
            Value::Array(items) => visitor.visit_seq(Items(items.into_iter().enumerate())),
            Value::Table(table) => visitor.visit_map(Entries { entries: table.into_iter(), value: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let (name, parameters) = match self.0 {
            Value::String(name) => (Value::String(name), Table::new()),
            Value::Table(mut table) if !table.is_empty() => {
                let name =
                    table.remove("name").ok_or_else(|| <Misfit as de::Error>::missing_field("name"))?;
                (name, table)
            }
            other => (other, Table::new()),
        };
        match name {
            Value::String(name) => visitor.visit_enum(Chosen(name, parameters)),
            other => {
                let allowed = format!("one of {}", names.join(", "));
                Err(de::Error::invalid_type(Self(other).unexpected(), &allowed.as_str()))
            }
        }
    }

    /// Refuse lists for tables: a new key would change their meaning.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self.unexpected() {
            de::Unexpected::Map => self.deserialize_any(visitor),
            given => {
                let allowed = format!("a table of {}", keys.join(", "));
                Err(de::Error::invalid_type(given, &allowed.as_str()))
            }
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier ignored_any
    }
}

/// The name of a choice, and its parameters.
struct Chosen(String, Table);

impl<'de> de::EnumAccess<'de> for Chosen {
    type Error = Misfit;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Misfit> {
        let name: de::value::StrDeserializer<'_, Misfit> = self.0.as_str().into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> de::VariantAccess<'de> for Chosen {
    type Error = Misfit;

    fn unit_variant(self) -> Result<(), Misfit> {
        let Self(name, parameters) = self;
        parameters.keys().next().map_or(Ok(()), |key| {
            let problem = format!("{NO_SUCH_KEY}: \"{name}\" has no parameters");
            Err(Misfit::new(key, problem))
        })
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Misfit> {
        seed.deserialize(Node(Value::Table(self.1)))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Misfit> {
        self.struct_variant(&[], visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        Node(Value::Table(self.1)).deserialize_any(visitor)
    }
}

struct Entries {
    entries: toml::map::IntoIter<String, Value>,
    value: Option<(String, Value)>,
}

impl<'de> de::MapAccess<'de> for Entries {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Misfit> {
        self.value = self.entries.next();
        self.value.as_ref().map(|(key, _)| seed.deserialize(key.as_str().into_deserializer())).transpose()
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Misfit> {
        let (key, value) = self.value.take().expect("a key comes before its value");
        seed.deserialize(Node(value)).map_err(|misfit| misfit.within(&key))
    }
}

struct Items(std::iter::Enumerate<std::vec::IntoIter<Value>>);

impl<'de> de::SeqAccess<'de> for Items {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Misfit> {
        let read = |(index, value): (usize, _)| {
            seed.deserialize(Node(value)).map_err(|misfit| misfit.within(&index.to_string()))
        };
        self.0.next().map(read).transpose()
    }
}

/// Read a value that is a number or a text: `read` makes the value of it, if it is one.
///
/// # Errors
/// What is not expected.
pub fn number_or_text<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expected: &'static str,
    read: impl FnOnce(Result<f64, &str>) -> Result<Option<T>, UnitError>,
) -> Result<T, D::Error> {
    struct Either<R>(&'static str, R);
    impl<T, R: FnOnce(Result<f64, &str>) -> Result<Option<T>, UnitError>> Either<R> {
        fn read<E: de::Error>(self, given: Result<f64, &str>, named: de::Unexpected<'_>) -> Result<T, E> {
            let Self(expected, read) = self;
            read(given).map_err(E::custom)?.ok_or_else(|| E::invalid_value(named, &expected))
        }
    }
    impl<T, R: FnOnce(Result<f64, &str>) -> Result<Option<T>, UnitError>> Visitor<'_> for Either<R> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
        fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
            self.read(Ok(number), de::Unexpected::Float(number))
        }
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
            self.read(Ok(number as f64), de::Unexpected::Signed(number))
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            self.read(Err(text), de::Unexpected::Str(text))
        }
    }
    deserializer.deserialize_any(Either(expected, read))
}

/// Declare what a scenario gives as a number within bounds, or by a name.
#[macro_export]
macro_rules! number_or_name {
    ($(#[$meta:meta])* $visible:vis enum $choice:ident, expects $expected:literal {
        $(#[$number_meta:meta])* $number:ident($min:literal..=$max:literal),
        $($(#[$name_meta:meta])* $variant:ident = $name:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $visible enum $choice {
            $(#[$number_meta])*
            $number(f64),
            $($(#[$name_meta])* $variant,)*
        }

        impl ::serde::Serialize for $choice {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    Self::$number(number) => serializer.serialize_f64(*number),
                    $(Self::$variant => serializer.serialize_str($name),)*
                }
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $choice {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::read::number_or_text(deserializer, $expected, |given| Ok(match given {
                    Ok(number) if (f64::from($min)..=f64::from($max)).contains(&number) => Some(Self::$number(number)),
                    $(Err($name) => Some(Self::$variant),)*
                    _ => None,
                }))
            }
        }

        impl ::schemars::JsonSchema for $choice {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($choice).into()
            }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({
                    "oneOf": [{ "type": "number", "minimum": $min, "maximum": $max }, { "enum": [$($name),*] }]
                })
            }
        }
    };
}

/// Declare an enumeration of which a scenario chooses one by name: `"foreground"`, or where it takes parameters
/// `{ name = "preemptive", steps_max = 8 }`.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $visible:vis enum $choice:ident $(, default $default:ident)? { $($body:tt)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::schemars::JsonSchema)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        #[schemars(transform = $crate::read::or_its_name)]
        $visible enum $choice { $($body)* }

        $(impl Default for $choice {
            fn default() -> Self {
                Self::$default
            }
        })?

        impl<'de> ::serde::Deserialize<'de> for $choice {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                type Choice = $choice;
                #[derive(::serde::Deserialize)]
                #[serde(remote = "Choice", rename_all = "kebab-case", deny_unknown_fields)]
                enum Read { $($body)* }
                Read::deserialize(deserializer)
            }
        }
    };
}

/// Declare tables and choices of a scenario. A table has its keys, each with the value that it has by default, unless
/// that is the default of its type. A choice has its names, and the one that it has by default.
#[macro_export]
macro_rules! config {
    () => {};
    (@default) => { Default::default() };
    (@default $value:expr) => { $value };
    ($(#[$meta:meta])* $visible:vis struct $config:ident {
        $($(#[$key_meta:meta])* $key_visible:vis $key:ident: $ty:ty $(= $value:expr)?,)*
    } $($more:tt)*) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        $visible struct $config {
            $($(#[$key_meta])* $key_visible $key: $ty,)*
        }

        impl Default for $config {
            fn default() -> Self {
                Self { $($key: $crate::config!(@default $($value)?),)* }
            }
        }

        $crate::config! { $($more)* }
    };
    ($(#[$meta:meta])* $visible:vis enum $choice:ident $(, default $default:ident)? { $($names:tt)* } $($more:tt)*) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[derive($crate::Save)]
        #[serde(rename_all = "kebab-case")]
        $visible enum $choice { $($names)* }

        $(impl Default for $choice {
            fn default() -> Self {
                Self::$default
            }
        })?

        $crate::config! { $($more)* }
    };
}

/// Let the schema of a choice allow its names alone.
#[doc(hidden)]
pub fn or_its_name(schema: &mut schemars::Schema) {
    let Some(serde_json::Value::Array(options)) = schema.get_mut("oneOf") else { return };
    let name = |option: &serde_json::Value| option.pointer("/properties/name/const").cloned();
    let names: Vec<_> = options.iter().filter_map(name).collect();
    options.insert(0, serde_json::json!({ "enum": names }));
}

#[cfg(test)]
mod tests {
    use super::read;
    use serde_json::json;

    crate::config! {
        /// A table.
        #[derive(Copy)]
        pub(super) struct Tree {
            /// A key with a value of its own by default.
            pub(super) rings: u32 = 7,
            /// A key with the default of its type.
            pub(super) height: Option<u32>,
        }
    }

    #[test]
    fn keys_that_are_not_given_have_their_defaults_and_others_are_refused() {
        assert_eq!(read::<Tree>(&json!({})), Ok(Tree { rings: 7, height: None }));
        assert_eq!(read::<Tree>(&json!({ "height": 3 })), Ok(Tree { height: Some(3), ..Tree::default() }));
        assert!(read::<Tree>(&json!({ "ring": 3 })).is_err_and(|misfit| misfit.is_unknown_key()));
    }
}
