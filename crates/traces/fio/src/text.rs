//! The text of a job file: sections, options, comments and includes.

use crate::Result;
use coflash_workload::WorkloadError;
use std::path::{Path, PathBuf};

/// Includes within includes.
const DEPTH_MAX: usize = 16;

/// Lines of a job file and its includes: more are no job file.
const LINES_MAX: usize = 100_000;

/// One line `name` or `name=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) at: Place,
    pub(super) name: String,
    pub(super) value: Option<String>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) line: usize,
}

impl Place {
    pub(super) fn refuse<T>(&self, problem: impl Into<String>) -> Result<T> {
        Err(WorkloadError::trace(&format!("{}:{}", self.file, self.line), problem))
    }
}

/// A section: its name, where it begins, its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) at: Place,
    pub(super) name: String,
    pub(super) lines: Vec<Line>,
}

/// A job file and its includes as one text.
pub(super) struct Text<'a> {
    /// Returns the text of a file.
    read: &'a mut dyn FnMut(&Path) -> std::io::Result<String>,
    /// The files being read, from the outside in.
    open: Vec<PathBuf>,
    lines: usize,
    /// The files in the order in which they are first read, the job file first.
    pub(super) files: Vec<String>,
    /// The sections in order.
    pub(super) sections: Vec<Section>,
}

/// The job file that says what a command line of fio does, perhaps in a script; `None` if a text has none, or sections.
fn of_command(text: &str) -> Option<String> {
    let text = text.replace("\\\n", " ");
    if text.lines().any(|line| line.starts_with('[')) {
        return None;
    }
    let is_fio = |word: &str| word.rsplit('/').next() == Some("fio");
    let line = text.lines().find(|line| line.contains(" --") && line.split_whitespace().any(is_fio))?;
    let words = line.split_whitespace().skip_while(|word| !is_fio(word)).skip(1);
    let options = words.map_while(|word| word.strip_prefix("--"));
    let lines = options.map(|option| option.replace(['"', '\''], "")).map(|option| {
        match option.strip_prefix("name=") {
            Some(name) => format!("\n[{name}]"),
            None => format!("\n{option}"),
        }
    });
    Some(format!("[global]{}", lines.collect::<String>()))
}

impl<'a> Text<'a> {
    /// Read `file` and its includes. `read` returns the text of a file.
    pub(super) fn read(
        file: &str,
        read: &'a mut dyn FnMut(&Path) -> std::io::Result<String>,
    ) -> Result<Self> {
        let mut text = Self { read, open: Vec::new(), lines: 0, files: Vec::new(), sections: Vec::new() };
        text.file(Path::new(file), None)?;
        Ok(text)
    }

    /// Read a file of lines that is named at `from`, or by the user.
    fn file(&mut self, path: &Path, from: Option<&Place>) -> Result<()> {
        let (file, text) = self.text_of(path, from)?;
        self.open.push(path.to_owned());
        let command = of_command(&text);
        for (index, line) in command.as_ref().unwrap_or(&text).lines().enumerate() {
            self.line(
                line,
                Place { file: file.clone(), line: if command.is_some() { 1 } else { index + 1 } },
            )?;
        }
        self.open.pop();
        Ok(())
    }

    /// The name of a file, which is one of the job's, and its text.
    fn text_of(&mut self, path: &Path, from: Option<&Place>) -> Result<(String, String)> {
        let file = path.display().to_string();
        let named = |problem: String| match from {
            Some(place) => WorkloadError::trace(&format!("{}:{}", place.file, place.line), problem),
            None => WorkloadError::trace(&file, problem),
        };
        if self.open.iter().any(|open| open == path) {
            return Err(named(format!("{file} includes itself")));
        }
        if self.open.len() == DEPTH_MAX {
            return Err(named(format!("includes {DEPTH_MAX} deep; fewer are allowed")));
        }
        let text = (self.read)(path).map_err(|error| {
            let what = from.map_or(String::new(), |_| format!("{file}: "));
            named(format!("{what}{error}"))
        })?;
        if !self.files.contains(&file) {
            self.files.push(file.clone());
        }
        Ok((file, text))
    }

    fn line(&mut self, text: &str, at: Place) -> Result<()> {
        self.lines += 1;
        if self.lines > LINES_MAX {
            return at.refuse(format!("at most {LINES_MAX} lines are allowed, those of includes counted"));
        }
        let text = text.split([';', '#']).next().unwrap_or_default().trim();
        if text.is_empty() {
            return Ok(());
        }
        if let Some(rest) = text.strip_prefix('[') {
            let Some(name) = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty()) else {
                return at.refuse(format!("\"{text}\" was given; a section such as [name] is allowed"));
            };
            self.sections.push(Section { at, name: name.to_owned(), lines: Vec::new() });
            return Ok(());
        }
        let beside = self.open.last().and_then(|open| open.parent()).unwrap_or(Path::new("")).to_owned();
        if let Some(path) = text.strip_prefix("include ").map(str::trim) {
            return self.file(&beside.join(path), Some(&at));
        }
        let (name, mut value) = match text.split_once('=') {
            Some((name, value)) => (name.trim().to_owned(), Some(value.trim().to_owned())),
            None => (text.to_owned(), None),
        };
        if let ("dp_scheme", Some(path)) = (name.as_str(), &value) {
            value = Some(self.text_of(&beside.join(path), Some(&at))?.1); // the ranges themselves
        }
        let Some(section) = self.sections.last_mut() else {
            return at.refuse(format!(
                "\"{text}\" stands before the first section; a section such as [global] comes first"
            ));
        };
        section.lines.push(Line { at, name, value });
        Ok(())
    }
}
