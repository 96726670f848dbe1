//! Measures: every number of a result is declared once, beside its counter.
//!
//! A [`measures!`](crate::measures) declaration generates the struct of counters, and the table for JSON, its
//! schema, the Python classes, the sections in terminal and report, the columns of the time series and the
//! reference page.

use crate::Time;
use serde::Serialize;

/// The unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A dimensionless count.
    Count,
    /// Requests.
    Requests,
    /// Pages.
    Pages,
    /// Blocks.
    Blocks,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Ns,
    /// A share of a whole, from 0 to 1.
    Share,
    /// A ratio of two numbers.
    Ratio,
    /// Operations a second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Bytes a second.
    #[serde(rename = "bytes/s")]
    BytesPerSecond,
    /// Joules.
    #[serde(rename = "J")]
    Joules,
    /// Years of 365 days.
    Years,
}

/// The better direction of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better.
    Less,
    /// More is better.
    More,
    /// It is neither good nor bad.
    Neither,
}

/// The declaration of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Measure {
    /// The name within its section of the result.
    pub name: &'static str,
    /// The label in tables and charts.
    pub label: &'static str,
    /// The documentation, in sentences.
    pub meaning: &'static str,
    /// The unit.
    pub unit: Unit,
    /// The better direction.
    pub better: Better,
    /// The measures of its section that sum up to a total with it.
    pub part_of: &'static [&'static str],
    /// Whether tables omit a value of zero.
    pub is_rare: bool,
    /// The measure of its section that it repeats where both read alike; tables then omit it.
    pub unlike: Option<&'static str>,
    /// Where its values are the ends of a histogram's bins: the parts of a value of which a bin is at most one wide.
    pub parts_of_bin: Option<u32>,
    /// The name of its column in the time series, if it has one.
    pub column: Option<&'static str>,
    /// Whether tables contain it.
    pub is_shown: bool,
    /// Whether it may have no value, like a ratio with a zero denominator.
    pub is_optional: bool,
    /// Whether it is a whole number.
    pub is_whole: bool,
    /// Whether it is a state or a maximum: what came before counts, too.
    #[serde(skip)]
    pub is_state: bool,
}

impl Measure {
    /// Create a neutral count.
    #[must_use]
    pub const fn new(name: &'static str, label: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            label,
            meaning,
            unit: Unit::Count,
            better: Better::Neither,
            part_of: &[],
            is_rare: false,
            unlike: None,
            parts_of_bin: None,
            column: None,
            is_shown: true,
            is_optional: false,
            is_whole: false,
            is_state: false,
        }
    }

    /// A number of a type.
    #[must_use]
    pub const fn of_type<N: Number>(self) -> Self {
        Self { is_whole: N::IS_WHOLE, is_optional: N::IS_OPTIONAL, ..self }
    }
}

/// Declare properties of a measure: each sets one value of its declaration.
macro_rules! properties {
    ($($(#[$meta:meta])* $property:ident $(($argument:ident: $ty:ty))? => $field:ident: $value:expr;)*) => {
        impl Measure {$(
            $(#[$meta])*
            #[must_use]
            pub const fn $property(self $(, $argument: $ty)?) -> Self {
                Self { $field: $value, ..self }
            }
        )*}
    };
}

properties! {
    /// In requests.
    requests => unit: Unit::Requests;
    /// In pages.
    pages => unit: Unit::Pages;
    /// In blocks.
    blocks => unit: Unit::Blocks;
    /// In bytes.
    bytes => unit: Unit::Bytes;
    /// In nanoseconds.
    ns => unit: Unit::Ns;
    /// A share of a whole.
    share => unit: Unit::Share;
    /// A ratio.
    ratio => unit: Unit::Ratio;
    /// Operations a second.
    per_second => unit: Unit::PerSecond;
    /// Bytes a second.
    bytes_per_second => unit: Unit::BytesPerSecond;
    /// In joules.
    joules => unit: Unit::Joules;
    /// In years.
    years => unit: Unit::Years;
    /// Less is better.
    cost => better: Better::Less;
    /// More is better.
    gain => better: Better::More;
    /// Make it a part of the sum of these measures.
    of(part_of: &'static [&'static str]) => part_of: part_of;
    /// Omit a value of zero from tables.
    rare => is_rare: true;
    /// Omit it from tables where it reads as this measure of its section.
    unlike(other: &'static str) => unlike: Some(other);
    /// Its values are the ends of bins, each at most one part in `parts` of its value wide.
    binned(parts: u32) => parts_of_bin: Some(parts);
    /// Make it a column of the time series, under this name.
    series(column: &'static str) => column: Some(column);
    /// Omit it from tables; it is available by its name.
    untabled => is_shown: false;
    /// Permit no value.
    optional => is_optional: true;
    /// A whole number.
    whole => is_whole: true;
    /// A state or a maximum, which is no sum of what happened.
    state => is_state: true;
}

/// The declaration of a section of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SectionInfo {
    /// The dotted path in the result; empty for the root.
    pub path: &'static str,
    /// The title in terminal and report.
    pub title: &'static str,
    /// The documentation, in sentences.
    pub meaning: &'static str,
    /// The measures, in the order of the result.
    pub measures: &'static [Measure],
}

/// The value of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// Any number.
    Real(f64),
    /// No value, like a ratio with a zero denominator.
    None,
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

/// A Rust type of measures.
pub trait Number: Sized {
    /// Whether it is a whole number.
    const IS_WHOLE: bool;
    /// Whether it may have no value.
    const IS_OPTIONAL: bool = false;

    /// The number that became this value.
    fn from_value(value: Value) -> Option<Self>;
}

/// Make types of numbers those of measures, as counts or as real numbers.
macro_rules! numbers {
    ($($number:ty as $kind:ident, whole $is_whole:literal;)*) => {$(
        impl From<$number> for Value {
            fn from(number: $number) -> Self {
                Self::$kind(number.into())
            }
        }

        impl Number for $number {
            const IS_WHOLE: bool = $is_whole;

            fn from_value(value: Value) -> Option<Self> {
                if let Value::$kind(number) = value { number.try_into().ok() } else { None }
            }
        }
    )*};
}

numbers! {
    u64 as Count, whole true;
    u32 as Count, whole true;
    f64 as Real, whole false;
}

impl<N: Number> Number for Option<N> {
    const IS_WHOLE: bool = N::IS_WHOLE;
    const IS_OPTIONAL: bool = true;

    fn from_value(value: Value) -> Option<Self> {
        if value == Value::None { Some(None) } else { N::from_value(value).map(Some) }
    }
}

/// A section declared by [`measures!`](crate::measures).
pub trait Section: Default {
    /// The declaration.
    const INFO: SectionInfo;

    /// The values of the measures, in their order.
    fn values(&self) -> Vec<Value>;

    /// The section with these [`values`](Self::values); `None` if they are of another one.
    fn with(values: &[Value]) -> Option<Self>;
}

/// A number that the measures of a section take for granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumption {
    /// The path of the section.
    pub section: &'static str,
    /// The label in tables.
    pub label: &'static str,
    /// The number.
    pub value: u64,
    /// Its origin in words: given, or a default.
    pub origin: String,
}

/// The values of a stack of levels, section by section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    end: Time,
    /// The sections at the beginning of what is reported.
    before: Vec<(&'static SectionInfo, Vec<Value>)>,
    assumptions: Vec<Assumption>,
    sections: Vec<(&'static SectionInfo, Vec<Value>)>,
    lists: Vec<(&'static SectionInfo, Vec<Vec<Value>>)>,
}

impl Report {
    /// Create an empty report of a run with its last completion at `end`.
    #[must_use]
    pub fn until(end: Time) -> Self {
        Self { end, ..Self::default() }
    }

    /// Create an empty report, until `end`, of what comes after another one: counts are those since then, but states and maxima.
    #[must_use]
    pub fn since(before: &Self, end: Time) -> Self {
        Self { before: before.sections.clone(), ..Self::until(end) }
    }

    /// The time of the last completion.
    #[must_use]
    pub fn end(&self) -> Time {
        self.end
    }

    /// Add what a section takes for granted.
    pub fn assume(&mut self, assumption: Assumption) {
        self.assumptions.push(assumption);
    }

    /// The assumptions in the order of their addition.
    #[must_use]
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }

    /// Add a list: the same section at several times, or of several parts.
    pub fn add_list<'a, S: Section + 'a>(
        &mut self,
        info: &'static SectionInfo,
        rows: impl Iterator<Item = &'a S>,
    ) {
        self.lists.push((info, rows.map(Section::values).collect()));
    }

    /// The lists in the order of their addition.
    pub fn lists(&self) -> impl Iterator<Item = (&'static SectionInfo, &[Vec<Value>])> {
        self.lists.iter().map(|(info, rows)| (*info, rows.as_slice()))
    }

    /// Add a section.
    pub fn add<S: Section>(&mut self, section: &S) {
        self.add_as(const { &S::INFO }, section);
    }

    /// Add a section under another path or title than declared. Of levels with the same section the uppermost tells it.
    pub fn add_as<S: Section>(&mut self, info: &'static SectionInfo, section: &S) {
        self.sections.retain(|(other, _)| *other != info);
        let mut values = section.values();
        if let Some((_, before)) = self.before.iter().find(|(other, _)| *other == info) {
            for ((value, before), measure) in values.iter_mut().zip(before).zip(info.measures) {
                if let (Value::Count(now), Value::Count(then), false) =
                    (&mut *value, before, measure.is_state)
                {
                    *now -= then;
                }
            }
            values = S::with(&values).expect("they are of this section").values();
        }
        self.sections.push((info, values));
    }

    /// A section of this run; zeros if it has none.
    #[must_use]
    pub fn get<S: Section>(&self) -> S {
        self.find(&S::INFO).unwrap_or_default()
    }

    /// A section of this run under a declaration; `None` if it has none.
    #[must_use]
    pub fn find<S: Section>(&self, declared: &SectionInfo) -> Option<S> {
        let (_, values) = self.sections.iter().find(|(info, _)| *info == declared)?;
        S::with(values)
    }

    /// The sections in the order of their addition.
    pub fn sections(&self) -> impl Iterator<Item = (&'static SectionInfo, &[Value])> {
        self.sections.iter().map(|(info, values)| (*info, values.as_slice()))
    }

    /// The value at a dotted path.
    #[must_use]
    pub fn value(&self, path: &str) -> Option<Value> {
        let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
        self.sections().filter(|(info, _)| info.path == section).find_map(|(info, values)| {
            let at = info.measures.iter().position(|measure| measure.name == name)?;
            Some(values[at])
        })
    }

    /// The count at a dotted path, for tests over many measures; zero if the run has no such section. A measure that code depends on
    /// is read by its type: see [`get`](Self::get).
    ///
    /// # Panics
    /// The section has no such count.
    #[must_use]
    pub fn count(&self, path: &str) -> u64 {
        let section = path.rsplit_once('.').map_or("", |(section, _)| section);
        match self.value(path) {
            Some(Value::Count(count)) => count,
            None if self.sections().all(|(info, _)| info.path != section) => 0,
            other => panic!("{path} is {other:?} and no count"),
        }
    }
}

/// The ratio of part and whole; `None` if the whole is zero.
#[must_use]
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Declare a section of a result: a struct of numbers, each with a label and with properties (methods of
/// [`Measure`]).
///
/// ```ignore
/// coflash_base::measures! {
///     /// The cost of consistency.
///     pub struct CommitCounters in "consistency", "Crash consistency" {
///         /// Commits by time, by flush, or early.
///         commits: u64, "commits";
///         /// Pages programmed so that slots become free.
///         checkpoints_pages: u64, "pages programmed so that slots become free", pages, cost;
///     }
///     derived {
///         /// Pages programmed for each commit.
///         per_commit: "pages a commit", ratio = |c| ratio(c.checkpoints_pages, c.commits);
///     }
/// }
/// ```
#[macro_export]
macro_rules! measures {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $name:ident in $path:literal, $title:literal {
            $(
                $(#[doc = $meaning:literal])+
                $field:ident : $ty:ty, $label:expr $(, $property:ident $(($($argument:expr),+))?)* ;
            )*
        }
        $(derived {
            $(
                $(#[doc = $derived_meaning:literal])+
                $derived:ident : $derived_label:literal $(, $derived_property:ident $(($($derived_argument:expr),+))?)*
                    = $formula:expr ;
            )*
        })?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, $crate::Save)]
        $vis struct $name {
            $($(#[doc = $meaning])+ pub $field: $ty,)*
        }

        impl $name {
            /// The declaration of the section.
            pub const INFO: $crate::measure::SectionInfo = $crate::measure::SectionInfo {
                path: $path,
                title: $title,
                meaning: concat!($($about),+),
                measures: &[
                    $($crate::measure::Measure::new(stringify!($field), $label, concat!($($meaning),+))
                        .of_type::<$ty>()
                        $(.$property($($($argument),+)?))*,)*
                    $($($crate::measure::Measure::new(
                        stringify!($derived), $derived_label, concat!($($derived_meaning),+))
                        .optional()
                        $(.$derived_property($($($derived_argument),+)?))*,)*)?
                ],
            };
        }

        impl $crate::measure::Section for $name {
            const INFO: $crate::measure::SectionInfo = Self::INFO;

            fn values(&self) -> Vec<$crate::measure::Value> {
                vec![
                    $($crate::measure::Value::from(self.$field),)*
                    $($({
                        let formula: fn(&Self) -> _ = $formula;
                        $crate::measure::Value::from(formula(self))
                    },)*)?
                ]
            }

            fn with(values: &[$crate::measure::Value]) -> Option<Self> {
                let mut values = values.iter();
                Some(Self { $($field: $crate::measure::Number::from_value(*values.next()?)?,)* })
            }
        }
    };
}

#[cfg(test)]
#[allow(unreachable_pub, reason = "sections are public")]
mod tests {
    use super::*;

    crate::measures! {
        /// Apples and pears.
        pub struct Fruit in "market.fruit", "Fruit" {
            /// Apples sold.
            apples: u64, "apples", pages, cost, of(&["fruit"]);
            /// Pears on the stall.
            pears: u32, "pears", rare;
            /// The price, if there is one.
            price: Option<u64>, "price", bytes;
        }
        derived {
            /// Apples for each pear.
            mix: "apples a pear", ratio, gain = |fruit| ratio(fruit.apples, fruit.pears.into());
        }
    }

    #[test]
    fn a_declaration_makes_struct_and_table() {
        let fruit = Fruit { apples: 7, pears: 2, price: Some(7) };
        assert_eq!(fruit.values(), [Value::Count(7), Value::Count(2), Value::Count(7), Value::Real(3.5)]);
        assert_eq!(Fruit::default().values()[2..], [Value::None, Value::None]);
        let SectionInfo { path, title, meaning, measures } = Fruit::INFO;
        assert_eq!((path, title, meaning.trim()), ("market.fruit", "Fruit", "Apples and pears."));
        let names: Vec<_> = measures.iter().map(|measure| measure.name).collect();
        assert_eq!(names, ["apples", "pears", "price", "mix"]);
        let [apples, pears, price, mix] = measures else { panic!("four measures") };
        assert_eq!((apples.unit, apples.better, apples.part_of), (Unit::Pages, Better::Less, &["fruit"][..]));
        assert!(pears.is_rare && !apples.is_rare && mix.is_optional && !pears.is_optional);
        assert!(price.is_whole && price.is_optional && !mix.is_whole);
    }

    #[test]
    fn a_section_is_read_back_by_its_type() {
        let fruit = Fruit { apples: 7, pears: 2, price: Some(7) };
        let mut report = Report::default();
        assert_eq!(report.get::<Fruit>(), Fruit::default());
        report.add(&Fruit { price: None, ..fruit });
        const ABROAD: SectionInfo = SectionInfo { path: "abroad", ..Fruit::INFO };
        assert_eq!(report.find::<Fruit>(&ABROAD), None);
        report.add_as(&ABROAD, &fruit);
        assert_eq!(report.get::<Fruit>(), Fruit { price: None, ..fruit });
        assert_eq!(report.find(&ABROAD), Some(fruit));
    }
}
