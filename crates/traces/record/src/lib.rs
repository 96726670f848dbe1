//! Records of a run: each flash operation, and each decision of GC with its candidates, as Parquet files.
//!
//! They begin with the measured run: preconditioning is not recorded. Rows are written in groups, and
//! operations in the order of issue once they have ended, so that memory is bounded. A file is written whole
//! or not at all. Of a device that is served the same tables are taken piece by piece.

use coflash_base::{AtomicFile, Lpn, Time};
use coflash_engine::{RunError, RunInputs, Scenario};
use coflash_ftl::{Candidate, Decision, RecordsDecisions};
use coflash_media::{BlockId, FlashOperation, Geometry, OperationKind, RecordsOperations};
use coflash_trace::table::{Kind, TableColumn, TableWriter, Value};
use coflash_trace::table_files::FilePipe;
use std::collections::VecDeque;
use std::io::{self, Write};
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

/// The rows of a batch: some megabytes.
const BATCH_ROWS: usize = 1 << 16;
/// The most rows of what is recorded of a served device between two calls.
const PIECE_ROWS: usize = 1 << 18;

const U32: Kind = Kind::Number(4);
const U64: Kind = Kind::Number(8);

const OPERATIONS: [TableColumn; 9] = [
    TableColumn::new("time_ns", U64),
    TableColumn::new("end_ns", U64).optional(),
    TableColumn::new("kind", Kind::Text),
    TableColumn::new("cause", Kind::Text),
    TableColumn::new("block", U32),
    TableColumn::new("page", U32),
    TableColumn::new("from_page", U32).optional(),
    TableColumn::new("lpn", U32).optional(),
    TableColumn::new("class", U32).optional(),
];

const DECISIONS: [TableColumn; 11] = [
    TableColumn::new("decision", U64),
    TableColumn::new("time_ns", U64),
    TableColumn::new("pool", U32),
    TableColumn::new("block", U32),
    TableColumn::new("pages", U32),
    TableColumn::new("valid", U32),
    TableColumn::new("removable", U32),
    TableColumn::new("cost", Kind::Real),
    TableColumn::new("age", U64),
    TableColumn::new("erases", U32),
    TableColumn::new("chosen", Kind::Flag),
];

/// A table that is being written, up to the first error.
struct Table<W: Write + Send> {
    writer: io::Result<TableWriter<W>>,
    /// All rows; those above `most` are left out.
    rows: usize,
    most: usize,
}

impl<W: Write + Send> Table<W> {
    /// Begin a table about the blocks of a geometry, which are divided over its dies, one after the other.
    fn begin(output: W, columns: &[TableColumn], geometry: &Geometry, most: usize) -> Self {
        let [dies, blocks] = [geometry.dies(), geometry.blocks()].map(|count| count.to_string());
        let about = [("coflash_dies", dies), ("coflash_blocks", blocks)];
        Self { writer: TableWriter::new(output, columns, BATCH_ROWS, &about), rows: 0, most }
    }

    #[inline]
    fn push<const N: usize>(&mut self, row: [Value; N]) {
        self.rows += 1;
        if self.rows <= self.most
            && let Ok(table) = &mut self.writer
            && let Err(problem) = table.push(row)
        {
            self.writer = Err(problem);
        }
    }

    fn finish(self) -> io::Result<W> {
        self.writer.and_then(TableWriter::finish)
    }
}

fn unwritten(path: &Path, problem: &io::Error) -> RunError {
    RunError::Record(format!("{}: cannot be written: {problem}", path.display()))
}

/// A recorder of operations and decisions.
pub struct Recorder<W: Write + Send> {
    operations: Option<Table<W>>,
    /// The rows of operations, from the first one with an unknown end.
    rows: VecDeque<Row>,
    /// The number of the first row, modulo 2³².
    first: u32,
    decisions: Option<Table<W>>,
    /// Whether it is of a device that is served: in pieces that are bounded, with the picked ones of the candidates.
    is_live: bool,
    geometry: Geometry,
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

impl<W: Write + Send> std::fmt::Debug for Recorder<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a recorder of decision {}", self.decision)
    }
}

impl<W: Write + Send> RecordsOperations for Recorder<W> {
    fn operation(&mut self, operation: &FlashOperation) {
        let &FlashOperation { kind, page, from, lpn, cause, time, end } = operation;
        self.now = time;
        let block = page.get() / self.geometry.pages_per_block;
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

impl<W: Write + Send> Recorder<W> {
    fn new(geometry: Geometry, operations: Option<W>, decisions: Option<W>, is_live: bool) -> Self {
        let most = if is_live { PIECE_ROWS } else { usize::MAX };
        Self {
            operations: operations.map(|output| Table::begin(output, &OPERATIONS, &geometry, most)),
            rows: VecDeque::new(),
            first: 0,
            decisions: decisions.map(|output| Table::begin(output, &DECISIONS, &geometry, most)),
            is_live,
            classes: vec![None; geometry.blocks() as usize],
            geometry,
            decision: 0,
            now: Time::ZERO,
        }
    }

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

impl<W: Write + Send> RecordsDecisions for Recorder<W> {
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
            if block != picked && self.is_live {
                continue;
            }
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

/// A recorder of a device that is served: in memory, and of candidates those that were picked.
pub type LiveRecorder = Recorder<Vec<u8>>;

/// What happened in a part of a session, as the same tables: of operations, and of decisions.
pub struct Piece([Option<Table<Vec<u8>>>; 2]);

impl LiveRecorder {
    /// Begin to record a device of a scenario that was checked.
    #[must_use]
    pub fn live(scenario: &Scenario) -> Self {
        Self::new(scenario.ftl.erase_units(&scenario.flash), Some(Vec::new()), Some(Vec::new()), true)
    }

    /// Take what was recorded since the last call.
    pub fn take(&mut self) -> Piece {
        let next = |columns| Table::begin(Vec::new(), columns, &self.geometry, PIECE_ROWS);
        let (operations, decisions) = (next(&OPERATIONS[..]), next(&DECISIONS[..]));
        Piece([self.operations.replace(operations), self.decisions.replace(decisions)])
    }
}

impl Piece {
    /// Operations that are left out: there were more than a piece may have.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.0[0].as_ref().map_or(0, |table| table.rows.saturating_sub(table.most)) as u64
    }

    /// Write the tables of operations and of decisions as streams of Arrow; empty ones as no bytes.
    ///
    /// # Errors
    /// A table cannot be encoded.
    pub fn write(self) -> io::Result<[Vec<u8>; 2]> {
        let written = |table: Option<Table<Vec<u8>>>| {
            table.filter(|table| table.rows > 0).map_or_else(|| Ok(Vec::new()), Table::finish)
        };
        let [operations, decisions] = self.0.map(written);
        Ok([operations?, decisions?])
    }
}

/// The recording of a run, if there is one.
pub struct RunRecording<'a> {
    recorder: Option<Arc<Mutex<Recorder<FilePipe>>>>,
    /// Of operations and of decisions.
    files: [Option<(&'a Path, AtomicFile)>; 2],
}

impl<'a> RunRecording<'a> {
    /// Create the files, before any work.
    pub fn begin(records: &'a Records, scenario: &Scenario) -> Result<Self, RunError> {
        if *records == Records::default() {
            return Ok(Self { recorder: None, files: [None, None] });
        }
        // Its blocks are numbered by a table.
        coflash_engine::check(scenario)?;
        let begin = |path: &'a Path| {
            AtomicFile::clear(path);
            let file = AtomicFile::create(path)?;
            let pipe = FilePipe::create(file.hand_over()?, "parquet")?;
            Ok(((path, file), pipe))
        };
        let begun = |path: &'a Option<PathBuf>| {
            let begun = path.as_deref().map(|path| begin(path).map_err(|problem| unwritten(path, &problem)));
            Ok::<_, RunError>(begun.transpose()?.unzip())
        };
        let geometry = scenario.ftl.erase_units(&scenario.flash);
        let (operations, pipe) = begun(&records.operations)?;
        let (decisions, other) = begun(&records.decisions)?;
        let recorder = Recorder::new(geometry, pipe, other, false);
        Ok(Self { recorder: Some(Arc::new(Mutex::new(recorder))), files: [operations, decisions] })
    }

    /// Have the run recorded.
    pub fn given<'b>(&self, given: RunInputs<'b>) -> RunInputs<'b> {
        let Some(recorder) = &self.recorder else { return given };
        RunInputs { operations: Some(recorder.clone()), decisions: Some(recorder.clone()), ..given }
    }

    /// Write the files.
    pub fn finish(self) -> Result<(), RunError> {
        let Self { recorder: Some(recorder), files } = self else { return Ok(()) };
        let mut recorder = recorder.lock().expect("no holder has panicked");
        let mut finished = Vec::new();
        for (file, table) in files.into_iter().zip([recorder.operations.take(), recorder.decisions.take()]) {
            let (Some((path, file)), Some(table)) = (file, table) else { continue };
            let written = table.finish().and_then(|pipe| pipe.finish(&[]));
            written.map_err(|problem| unwritten(path, &problem))?;
            finished.push((path, file));
        }
        for (path, file) in finished {
            file.commit().map_err(|problem| unwritten(path, &problem))?;
        }
        Ok(())
    }
}
