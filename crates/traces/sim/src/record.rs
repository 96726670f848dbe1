//! Records of a run: each flash operation, and each decision of GC with its candidates, as Parquet files.
//!
//! They begin with the measured run: preconditioning is not recorded. Rows are written in groups, and
//! operations in the order of issue once they have ended, so that memory is bounded. A file is written whole
//! or not at all.

use coflash_base::{AtomicFile, Lpn, Time};
use coflash_engine::{Given, RunError, Scenario};
use coflash_ftl::{Candidate, Decision, RecordsDecisions};
use coflash_media::{BlockId, FlashOperation, OperationKind, RecordsOperations};
use coflash_trace::table::{Layout, TableWriter, Value};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The files to record to; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// The file of flash operations.
    pub operations: Option<PathBuf>,
    /// The file of decisions of GC.
    pub decisions: Option<PathBuf>,
}

/// The rows of a row group: some ten megabytes.
const GROUP_ROWS: usize = 1 << 18;

const OPERATIONS: Layout = Layout {
    schema: "message operations {
        required int64 time_ns (INTEGER(64, false));
        optional int64 end_ns (INTEGER(64, false));
        required binary kind (STRING);
        required binary cause (STRING);
        required int32 block (INTEGER(32, false));
        required int32 page (INTEGER(32, false));
        optional int32 from_page (INTEGER(32, false));
        optional int32 lpn (INTEGER(32, false));
        optional int32 class (INTEGER(32, false));
    }",
    rising: &["time_ns", "end_ns", "page", "from_page"],
    repetitive: &["kind", "cause", "block", "class"],
    group_rows: GROUP_ROWS,
};

const DECISIONS: Layout = Layout {
    schema: "message decisions {
        required int64 decision (INTEGER(64, false));
        required int64 time_ns (INTEGER(64, false));
        required int32 pool (INTEGER(32, false));
        required int32 block (INTEGER(32, false));
        required int32 pages (INTEGER(32, false));
        required int32 valid (INTEGER(32, false));
        required int32 removable (INTEGER(32, false));
        required double cost;
        required int64 age (INTEGER(64, false));
        required int32 erases (INTEGER(32, false));
        required boolean chosen;
    }",
    rising: &["decision", "time_ns", "block"],
    repetitive: &["pool", "pages", "valid", "removable", "cost", "erases"],
    group_rows: GROUP_ROWS,
};

/// A file that is being written.
#[derive(Debug)]
struct File {
    path: PathBuf,
    /// The table, up to the first error.
    table: Result<TableWriter<AtomicFile>, io::Error>,
}

impl File {
    /// Create a file. `dies` is the number of dies over which its blocks are divided, one after the other.
    fn create(path: &Path, layout: &Layout, dies: u32) -> Result<Self, RunError> {
        let about = [("coflash_dies", dies.to_string())];
        let created = AtomicFile::create(path).and_then(|file| TableWriter::new(file, layout, &about));
        let table = created.map_err(|problem| unwritten(path, &problem))?;
        Ok(Self { path: path.to_owned(), table: Ok(table) })
    }

    #[inline]
    fn push<const N: usize>(&mut self, row: [Value; N]) {
        if let Ok(table) = &mut self.table
            && let Err(problem) = table.push(row)
        {
            self.table = Err(problem);
        }
    }

    fn finish(self) -> Result<(PathBuf, AtomicFile), RunError> {
        let finished = self.table.and_then(TableWriter::finish);
        let file = finished.map_err(|problem| unwritten(&self.path, &problem))?;
        Ok((self.path, file))
    }
}

fn unwritten(path: &Path, problem: &io::Error) -> RunError {
    RunError::Record(format!("{}: cannot be written: {problem}", path.display()))
}

/// The recorder of operations and decisions.
#[derive(Debug)]
struct Recorder {
    operations: Option<File>,
    /// The rows of operations, from the first one with an unknown end.
    rows: VecDeque<Row>,
    /// The number of the first row, modulo 2³².
    first: u32,
    decisions: Option<File>,
    pages_per_block: u32,
    /// The class of each block since it was opened.
    classes: Vec<Option<u32>>,
    decision: u64,
    /// The latest known time.
    now: Time,
}

/// An operation: its values, and whether its end is known.
type Row = ([Value; 9], bool);

fn number(value: u32) -> Value {
    Value::Number(value.into())
}

fn number_if(value: Option<u32>) -> Value {
    value.map_or(Value::Missing, number)
}

impl RecordsOperations for Recorder {
    fn operation(&mut self, operation: &FlashOperation) {
        let &FlashOperation { kind, page, from, lpn, cause, time, end } = operation;
        self.now = time;
        let block = page.get() / self.pages_per_block;
        let class = &mut self.classes[block as usize];
        let is_programmed = matches!(kind, OperationKind::Program | OperationKind::Copy);
        if kind == OperationKind::Erase {
            *class = None;
        }
        let class = class.filter(|_| is_programmed);
        if self.operations.is_some() {
            let row = [
                Value::Number(time.ns),
                end.map_or(Value::Missing, |end| Value::Number(end.ns)),
                Value::Text(kind.name()),
                Value::Text(cause.name()),
                number(block),
                number(page.get()),
                number_if(from.map(|page| page.get())),
                number_if(lpn.map(|lpn| lpn.get())),
                number_if(class),
            ];
            self.rows.push_back((row, end.is_some()));
            self.write_ended();
        }
    }

    fn ended(&mut self, number: u32, at: Time) {
        if let Some((row, has_end)) = self.rows.get_mut(number.wrapping_sub(self.first) as usize) {
            (row[1], *has_end) = (Value::Number(at.ns), true);
            self.write_ended();
        }
    }
}

impl Recorder {
    /// Write the operations before the first one with an unknown end.
    fn write_ended(&mut self) {
        let Some(file) = &mut self.operations else { return };
        while let Some(&(row, true)) = self.rows.front() {
            self.rows.pop_front();
            self.first = self.first.wrapping_add(1);
            file.push(row);
        }
    }
}

impl RecordsDecisions for Recorder {
    /// Nothing: a row is a candidate.
    fn answered(&mut self, _: BlockId, _: u32, _: Lpn, _: Decision) {}

    fn opened(&mut self, block: BlockId, class: u32) {
        self.classes[block.get() as usize] = Some(class);
    }

    fn picked(
        &mut self,
        pool: u32,
        picked: BlockId,
        time: Option<Time>,
        candidates: &mut dyn Iterator<Item = Candidate>,
    ) {
        let Some(file) = &mut self.decisions else { return };
        let time = time.unwrap_or(self.now);
        for Candidate { block, pages, valid, removable, cost, age, erases } in candidates {
            file.push([
                Value::Number(self.decision),
                Value::Number(time.ns),
                number(pool),
                number(block.get()),
                number(pages),
                number(valid),
                number(removable),
                Value::Real(cost),
                Value::Number(age),
                number(erases),
                Value::Flag(block == picked),
            ]);
        }
        self.decision += 1;
    }
}

/// The recording of a run, if there is one.
pub(crate) struct RunRecording(Option<Arc<Mutex<Recorder>>>);

impl RunRecording {
    /// Create the files, before any work.
    pub(crate) fn begin(records: &Records, scenario: &Scenario) -> Result<Self, RunError> {
        if *records == Records::default() {
            return Ok(Self(None));
        }
        // Its blocks are numbered by a table.
        coflash_engine::check(scenario)?;
        let geometry = scenario.ftl.erase_units(&scenario.flash);
        let file = |path: &Option<PathBuf>, layout| {
            path.as_ref().map(|path| File::create(path, layout, geometry.dies())).transpose()
        };
        Ok(Self(Some(Arc::new(Mutex::new(Recorder {
            operations: file(&records.operations, &OPERATIONS)?,
            rows: VecDeque::new(),
            first: 0,
            decisions: file(&records.decisions, &DECISIONS)?,
            pages_per_block: geometry.pages_per_block,
            classes: vec![None; geometry.blocks() as usize],
            decision: 0,
            now: Time::ZERO,
        })))))
    }

    /// Have the run recorded.
    pub(crate) fn given<'a>(&self, given: Given<'a>) -> Given<'a> {
        match &self.0 {
            Some(recorder) => {
                Given { operations: Some(recorder.clone()), decisions: Some(recorder.clone()), ..given }
            }
            None => given,
        }
    }

    /// Write the files.
    pub(crate) fn finish(self) -> Result<(), RunError> {
        let Some(recorder) = self.0 else { return Ok(()) };
        let mut recorder = recorder.lock().expect("no holder has panicked");
        let files = [recorder.operations.take(), recorder.decisions.take()];
        let finished: Vec<_> = files.into_iter().flatten().map(File::finish).collect::<Result<_, _>>()?;
        for (path, file) in finished {
            file.commit().map_err(|problem| unwritten(&path, &problem))?;
        }
        Ok(())
    }
}
