//! Expressions over named features, such as `(1 - u) / (1 + u) * age`, for scores in a scenario.
//!
//! An expression is compiled to a program for a stack of columns: each operation works on several values at once, so that
//! its interpretation costs little, and nothing is allocated. The parser is our own: kept crates evaluate one value at a
//! time, through a tree or a map of names. Results are the same on any machine: exp, log and powers are those of libm.

use crate::Save;
use crate::suggest;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// The most that an expression may have: enough for any formula, and no parser recurses without end.
const LENGTH_MAX: usize = 2000;
const DEPTH_MAX: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Save)]
enum Op {
    Number(f64),
    Feature(usize),
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Less,
    LessOrEqual,
    Minimum,
    Maximum,
    Absolute,
    SquareRoot,
    Exponential,
    Logarithm,
    If,
}

/// The functions: name, number of arguments, operation.
const FUNCTIONS: [(&str, usize, Op); 7] = [
    ("min", 2, Op::Minimum),
    ("max", 2, Op::Maximum),
    ("abs", 1, Op::Absolute),
    ("sqrt", 1, Op::SquareRoot),
    ("exp", 1, Op::Exponential),
    ("log", 1, Op::Logarithm),
    ("if", 3, Op::If),
];

/// A compiled expression. Two are equal if their texts are.
#[derive(Clone, Debug, Save)]
pub struct Expression {
    text: String,
    program: Vec<Op>,
    /// The number of columns that the program needs.
    depth: usize,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Expression {
    /// Compile an expression: numbers, features by name, `+ - * / ^`, the comparisons `< <= > >=` (1 or 0), parentheses,
    /// and the functions `min`, `max`, `abs`, `sqrt`, `exp`, `log` and `if(condition, then, else)`.
    ///
    /// # Errors
    /// The fault and its place in the text; for an unknown name, the nearest one.
    pub fn parse(text: &str, features: &[&str]) -> Result<Self, String> {
        let refuse = |problem| format!("\"{text}\" was given; {problem}");
        if text.len() > LENGTH_MAX {
            return Err(format!("{} characters were given; at most {LENGTH_MAX} are allowed", text.len()));
        }
        let mut parser = Parser { text, at: 0, features, program: Vec::new(), nesting: 0 };
        parser.expression(0).map_err(refuse)?;
        if parser.peek().is_some() {
            return Err(refuse(parser.unexpected("an operator")));
        }
        let parsed = Self { text: text.to_owned(), depth: depth(&parser.program), program: parser.program };
        let mut columns = parsed.columns();
        // Features of different sizes in each lane, so that a difference of two is not zero everywhere.
        parsed.evaluate(&mut columns, |feature, column: &mut [f64; 4]| {
            *column = [0.5, 0.0, 3.0, 1e6];
            column.rotate_left(feature % 4);
        });
        if columns[0].iter().all(|value| !value.is_finite()) {
            return Err(refuse(format!(
                "it is {} whatever the features are, where a number is needed",
                columns[0][0]
            )));
        }
        Ok(parsed)
    }

    /// Whether the expression contains the feature with this index.
    #[must_use]
    pub fn uses(&self, feature: usize) -> bool {
        self.program.contains(&Op::Feature(feature))
    }

    /// Create the columns that an evaluation of up to `LANES` values at once works in.
    #[must_use]
    pub fn columns<const LANES: usize>(&self) -> Vec<[f64; LANES]> {
        vec![[0.0; LANES]; self.depth]
    }

    /// Evaluate the expression for up to `LANES` values; the result is in the first of the columns.
    /// `load` writes the values of the feature with this index.
    #[inline]
    pub fn evaluate<const LANES: usize>(
        &self,
        columns: &mut [[f64; LANES]],
        mut load: impl FnMut(usize, &mut [f64; LANES]),
    ) {
        let mut top = 0;
        for &op in &self.program {
            match op {
                Op::Number(number) => columns[top] = [number; LANES],
                Op::Feature(feature) => load(feature, &mut columns[top]),
                Op::Negate => each(&mut columns[top - 1], |x| -x),
                Op::Absolute => each(&mut columns[top - 1], f64::abs),
                Op::SquareRoot => each(&mut columns[top - 1], f64::sqrt),
                Op::Exponential => each(&mut columns[top - 1], libm::exp),
                Op::Logarithm => each(&mut columns[top - 1], libm::log),
                Op::Add => pairs(columns, top, |x, y| x + y),
                Op::Subtract => pairs(columns, top, |x, y| x - y),
                Op::Multiply => pairs(columns, top, |x, y| x * y),
                Op::Divide => pairs(columns, top, |x, y| x / y),
                Op::Power => pairs(columns, top, libm::pow),
                Op::Less => pairs(columns, top, |x, y| f64::from(x < y)),
                Op::LessOrEqual => pairs(columns, top, |x, y| f64::from(x <= y)),
                // Not f64::min: which zero it returns is up to the machine.
                Op::Minimum => pairs(columns, top, |x, y| if y < x { y } else { x }),
                Op::Maximum => pairs(columns, top, |x, y| if y > x { y } else { x }),
                Op::If => {
                    let (conditions, cases) = columns[top - 3..top].split_at_mut(1);
                    for (lane, condition) in conditions[0].iter_mut().enumerate() {
                        *condition = cases[usize::from(*condition == 0.0)][lane];
                    }
                }
            }
            top = (top + 1) - op.arguments();
        }
    }
}

/// The features of a kind of expressions.
pub trait Features {
    /// Their names.
    fn names() -> Vec<&'static str>;
}

/// An expression over the features `F`: a text in a scenario, compiled when it is read.
#[derive(Clone, PartialEq)]
pub struct Over<F>(Expression, PhantomData<F>);

impl<F: Features> Over<F> {
    /// Compile an expression.
    ///
    /// # Errors
    /// See [`Expression::parse`].
    pub fn parse(text: &str) -> Result<Self, String> {
        Expression::parse(text, &F::names()).map(|expression| Self(expression, PhantomData))
    }

    /// The expression.
    #[must_use]
    pub fn expression(&self) -> &Expression {
        &self.0
    }
}

impl<F> fmt::Debug for Over<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.text)
    }
}

impl<F> Serialize for Over<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, F: Features> Deserialize<'de> for Over<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl<F> JsonSchema for Over<F> {
    fn schema_name() -> Cow<'static, str> {
        "Expression".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

impl Op {
    /// The number of values that it takes from the stack. It leaves one.
    fn arguments(self) -> usize {
        match self {
            Self::Number(_) | Self::Feature(_) => 0,
            Self::Negate | Self::Absolute | Self::SquareRoot | Self::Exponential | Self::Logarithm => 1,
            Self::If => 3,
            _ => 2,
        }
    }
}

#[inline(always)]
fn each<const LANES: usize>(column: &mut [f64; LANES], operation: impl Fn(f64) -> f64) {
    for value in column {
        *value = operation(*value);
    }
}

#[inline(always)]
fn pairs<const LANES: usize>(columns: &mut [[f64; LANES]], top: usize, operation: impl Fn(f64, f64) -> f64) {
    let (left, right) = columns[top - 2..top].split_at_mut(1);
    for (left, right) in left[0].iter_mut().zip(&right[0]) {
        *left = operation(*left, *right);
    }
}

/// The highest stack of a program.
fn depth(program: &[Op]) -> usize {
    let mut top = 0;
    let heights = program.iter().map(|op| {
        top = top + 1 - op.arguments();
        top
    });
    heights.max().unwrap_or(0)
}

/// Operators: text, strength, operation, whether the operands change places. A longer text comes before its beginning.
const OPERATORS: [(&str, u8, Op, bool); 9] = [
    ("<=", 1, Op::LessOrEqual, false),
    (">=", 1, Op::LessOrEqual, true),
    ("<", 1, Op::Less, false),
    (">", 1, Op::Less, true),
    ("+", 2, Op::Add, false),
    ("-", 2, Op::Subtract, false),
    ("*", 3, Op::Multiply, false),
    ("/", 3, Op::Divide, false),
    ("^", 5, Op::Power, false),
];
/// A minus sign binds its operand less than a power: -u^2 is -(u^2).
const SIGN: u8 = 4;

/// A parser by operator precedence that emits the program directly.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    features: &'a [&'a str],
    program: Vec<Op>,
    nesting: usize,
}

impl<'a> Parser<'a> {
    /// Skip blanks, and look at the next character.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, symbol: &str) -> bool {
        self.peek();
        let found = self.text[self.at..].starts_with(symbol);
        self.at += if found { symbol.len() } else { 0 };
        found
    }

    /// Take the longest prefix of the rest with characters of a word only.
    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let word = &rest[..rest.find(|c| !belongs(c)).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    fn unexpected(&mut self, expected: &str) -> String {
        match self.peek() {
            Some(found) => {
                let column = self.text[..self.at].chars().count() + 1;
                format!("{expected} is expected in place of \"{found}\" at character {column}")
            }
            None => format!("{expected} is expected at its end"),
        }
    }

    /// Parse operators that bind at least as strongly as `weakest`.
    fn expression(&mut self, weakest: u8) -> Result<(), String> {
        self.nesting += 1;
        if self.nesting > DEPTH_MAX {
            return Err(format!("it is nested deeper than {DEPTH_MAX} levels"));
        }
        let left_at = self.program.len();
        self.operand()?;
        loop {
            let start = self.at;
            let Some(&(symbol, strength, op, swapped)) =
                OPERATORS.iter().find(|(symbol, ..)| self.take(symbol))
            else {
                break;
            };
            if strength < weakest {
                self.at = start;
                break;
            }
            let operand_at = self.program.len();
            // A power is grouped from the right, all others from the left.
            self.expression(if symbol == "^" { strength } else { strength + 1 })?;
            if swapped {
                self.program[left_at..].rotate_left(operand_at - left_at);
            }
            self.program.push(op);
        }
        self.nesting -= 1;
        Ok(())
    }

    fn operand(&mut self) -> Result<(), String> {
        match self.peek() {
            Some('-') => {
                self.at += 1;
                self.expression(SIGN)?;
                self.program.push(Op::Negate);
            }
            Some('(') => {
                self.at += 1;
                self.expression(0)?;
                self.expect(")")?;
            }
            Some('0'..='9' | '.') => self.number()?,
            Some(letter) if letter.is_ascii_alphabetic() => self.name()?,
            _ => return Err(self.unexpected("a number, a feature or \"(\"")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), String> {
        let begin = self.at;
        self.word(|c| c.is_ascii_digit() || c == '.');
        if self.text[self.at..].starts_with(['e', 'E']) {
            self.at += 1;
            self.at += usize::from(self.text[self.at..].starts_with(['+', '-']));
            self.word(|c| c.is_ascii_digit());
        }
        let digits = &self.text[begin..self.at];
        let number = digits.parse().map_err(|_| format!("\"{digits}\" is not a number"))?;
        self.program.push(Op::Number(number));
        Ok(())
    }

    fn name(&mut self) -> Result<(), String> {
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        if self.peek() == Some('(') {
            let Some(&(_, arguments, op)) = FUNCTIONS.iter().find(|(function, ..)| *function == name) else {
                let known = FUNCTIONS.map(|(function, ..)| function);
                return Err(format!("\"{name}\" is no function{}", suggest::hint(name, &known)));
            };
            for number in 0..arguments {
                self.expect(if number == 0 { "(" } else { "," })?;
                self.expression(0)?;
            }
            self.expect(")")?;
            self.program.push(op);
            return Ok(());
        }
        let found = self.features.iter().position(|feature| *feature == name);
        let feature =
            found.ok_or_else(|| format!("\"{name}\" is no feature{}", suggest::hint(name, self.features)))?;
        self.program.push(Op::Feature(feature));
        Ok(())
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        if self.take(symbol) { Ok(()) } else { Err(self.unexpected(&format!("\"{symbol}\""))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEATURES: [&str; 3] = ["u", "age", "erases"];

    fn value(text: &str) -> f64 {
        let expression = Expression::parse(text, &FEATURES).unwrap();
        let mut columns = expression.columns::<3>();
        expression.evaluate(&mut columns, |feature, lanes| *lanes = [[0.25, 8.0, 3.0][feature]; 3]);
        columns[0][2]
    }

    #[test]
    fn operators_bind_as_in_mathematics() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("8 - 4 - 2", 2.0),
            ("8 / 4 / 2", 1.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("-2 ^ 2", -4.0),
            ("2 * -3 + 1", -5.0),
            ("--3", 3.0),
            ("(1 - u) / (1 + u) * age", 4.8),
            ("1 < 2", 1.0),
            ("2 + 1 <= 3 - 1", 0.0),
            ("age / 2 > erases - 1", 1.0),
            ("2 >= 2", 1.0),
            ("5 - (1 > 2)", 5.0),
            ("min(3, 1) + max(u, age)", 9.0),
            ("if(u < 0.5, 1e3, 2)", 1000.0),
            ("if(u > 0.5, age, -erases)", -3.0),
            ("sqrt(16) + abs(-2) + log(exp(1))", 7.0),
            ("1.5e-1+.5", 0.65),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
        assert!(value("if(u > 0.3, 0, 0 / 0)").is_nan());
        assert_eq!(value("1 / (u - 0.25)"), f64::INFINITY);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, expected) in [
            ("1 - ag", "\"ag\" is no feature; did you mean \"age\"? (allowed: u, age, erases)"),
            ("sqr(u)", "\"sqr\" is no function; did you mean \"sqrt\"?"),
            ("1 +", "a number, a feature or \"(\" is expected at its end"),
            ("", "a number, a feature or \"(\" is expected at its end"),
            ("(u + 1", "\")\" is expected at its end"),
            ("u age", "an operator is expected in place of \"a\" at character 3"),
            ("min(u)", "\",\" is expected in place of \")\" at character 6"),
            ("1.2.3", "\"1.2.3\" is not a number"),
            ("1 / 0", "it is inf whatever the features are, where a number is needed"),
            ("age + log(0)", "it is -inf whatever the features are"),
            ("sqrt(u - u - 1) * age", "it is NaN whatever the features are"),
            ("u § 2", "an operator is expected in place of \"§\" at character 3"),
        ] {
            let problem = Expression::parse(text, &FEATURES).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }

    #[test]
    fn an_expression_without_end_is_refused() {
        for text in ["(".repeat(1000), "-".repeat(1000), "1 + ".repeat(1000)] {
            let problem = Expression::parse(&text, &FEATURES).unwrap_err();
            assert!(problem.contains("nested deeper") || problem.contains("at most 2000"), "{problem}");
        }
        let sum = format!("0{}", " + u".repeat(400));
        assert_eq!(value(&sum), 100.0);
        assert_eq!(Expression::parse(&sum, &FEATURES).unwrap().depth, 2);
    }

    #[test]
    fn each_lane_has_its_own_value() {
        let expression = Expression::parse("if(age > 2, age * 2, u)", &FEATURES).unwrap();
        assert!(expression.uses(0) && expression.uses(1) && !expression.uses(2));
        let mut columns = expression.columns::<5>();
        expression.evaluate(&mut columns, |feature, lanes| {
            for (lane, value) in lanes.iter_mut().enumerate() {
                *value = if feature == 1 { lane as f64 } else { 0.5 };
            }
        });
        assert_eq!(columns[0], [0.5, 0.5, 0.5, 6.0, 8.0]);
    }
}
