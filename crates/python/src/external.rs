//! Policies written in Python: victim choice once per cleaned block, eviction and placement once per page.
//!
//! Hooks cannot return errors through the simulator. The first exception of a thread's run is kept here, the policy is not
//! called again, and the observer ends the run.

use crate::refused;
use coflash_base::{ExternalConfig, Lpn};
use coflash_cache::{EvictionConfig, ExternalEviction};
use coflash_ftl::placement::{Cleaned, ExternalPlacement, GcWrite, MakePlacement, UserWrite};
use coflash_ftl::victim::{Columns, ExternalVictim};
use coflash_ftl::{PlacementConfig, VictimConfig, WriteStream};
use coflash_scenario::Scenario;
use numpy::ndarray::ArrayView1;
use numpy::npyffi::{_PyArray_GET_ITEM_DATA, NPY_ARRAY_WRITEABLE};
use numpy::{Element, PyArray1, PyUntypedArrayMethods};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyBaseException, PyException, PySystemExit};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

thread_local! {
    static FAILURE: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// The time that hooks took.
    static TOOK: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Take the seconds that hooks took on this thread since they were last taken.
#[pyfunction]
pub(crate) fn hook_seconds() -> f64 {
    TOOK.take().as_secs_f64()
}

/// Take the exception that a policy raised on this thread.
pub(crate) fn take_failure() -> Option<PyErr> {
    FAILURE.take()
}

/// Whether a policy raised an exception on this thread.
pub(crate) fn has_failed() -> bool {
    FAILURE.with_borrow(Option::is_some)
}

/// A scenario bound to its external policies, with the digests of their sources. `coflash.external` finds the
/// classes.
pub(crate) fn bound(py: Python<'_>, scenario: &Scenario) -> PyResult<Scenario> {
    let mut scenario = scenario.clone();
    if let VictimConfig::External(config) = &mut scenario.gc.victim {
        let code = Code::find(py, "gc.victim", config)?;
        config.bind(Arc::new(move |_| Box::new(Victim(code.instance((), &["pick"])))));
    }
    if let PlacementConfig::External(config) = &mut scenario.ftl.placement {
        let code = Code::find(py, "ftl.placement", config)?;
        let class = code.class.bind(py);
        config.bind(Arc::new(MakePlacement {
            classes: class.getattr("classes")?.extract().unwrap_or(u32::MAX),
            gc_classes: class.getattr_opt("gc_classes")?.map(|classes| classes.extract().unwrap_or(u32::MAX)),
            make: Box::new(move |shape| {
                Box::new(Placement(code.instance((shape.pages,), &["user_write", "gc_write", "cleaned"])))
            }),
        }));
    }
    let caches = [
        ("cache.policy", &mut scenario.cache.policy),
        ("host_buffer.policy", &mut scenario.host_buffer.policy),
    ];
    for (key, policy) in caches {
        if let EvictionConfig::External(config) = policy {
            let code = Code::find(py, key, config)?;
            let hooks = &["arrive", "insert", "hit", "flag", "remove", "evict"];
            config.bind(Arc::new(move |shape| Box::new(Eviction(code.instance((shape.slots,), hooks)))));
        }
    }
    Ok(scenario)
}

/// Whether hooks are called for every page, so that the run had better keep the interpreter.
pub(crate) fn is_called_per_page(scenario: &Scenario) -> bool {
    let policies = [&scenario.cache.policy, &scenario.host_buffer.policy];
    matches!(scenario.ftl.placement, PlacementConfig::External(_))
        || policies.iter().any(|policy| matches!(policy, EvictionConfig::External(_)))
}

/// The class of a policy.
struct Code {
    /// The key and the name of the class, for messages.
    name: Arc<str>,
    class: Py<PyAny>,
    parameters: Py<PyAny>,
}

impl Code {
    fn find<F: ?Sized>(py: Python<'_>, key: &str, config: &mut ExternalConfig<F>) -> PyResult<Self> {
        let find = py.import("coflash.external")?.getattr("find")?;
        let parameters = crate::object(py, &config.parameters)?;
        let found = find.call1((key, &config.code, &config.digest, &parameters))?;
        let (class, digest): (Py<PyAny>, String) = found.extract()?;
        config.digest = digest;
        Ok(Self { name: format!("{key}: {}", config.code).into(), class, parameters: parameters.unbind() })
    }

    fn instance(&self, arguments: impl for<'py> PyCallArgs<'py>, hooks: &[&'static str]) -> Instance {
        let made = Python::attach(|py| {
            let parameters = self.parameters.bind(py).cast::<PyDict>()?;
            self.class.bind(py).call(arguments, Some(parameters)).map(Bound::unbind)
        });
        let object = settle(&self.name, "__init__", Some(&self.class), made);
        Instance::bind(&self.name, object, hooks.iter().copied())
    }
}

/// An instance of a policy's class, with those of its hooks that it has, as bound methods; none after a failure.
struct Instance {
    name: Arc<str>,
    object: Option<Py<PyAny>>,
    hooks: Vec<(&'static str, Py<PyAny>)>,
}

impl Instance {
    fn bind(name: &Arc<str>, object: Option<Py<PyAny>>, hooks: impl Iterator<Item = &'static str>) -> Self {
        let bound = |hook| Some((hook, Python::attach(|py| object.as_ref()?.getattr(py, hook).ok())?));
        Self { name: name.clone(), hooks: hooks.filter_map(bound).collect(), object }
    }

    /// Call a hook, and read what it returns, or say why that is unusable. A policy without this hook, and one that has
    /// failed, return nothing.
    #[inline]
    #[allow(clippy::disallowed_methods, reason = "wall time only tells how slow a hook is")]
    fn call<T>(
        &mut self,
        name: &str,
        arguments: impl for<'py> PyCallArgs<'py>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Result<T, String>,
    ) -> Option<T> {
        if has_failed() || self.object.is_none() {
            return None; // perhaps in another pool: the run ends
        }
        let (hook, bound) = self.hooks.iter().find(|&&(known, _)| known == name)?;
        let begun = Instant::now();
        let called = Python::attach(|py| Ok(read(&bound.bind(py).call1(arguments)?)));
        TOOK.set(TOOK.get() + begun.elapsed());
        match settle(&self.name, hook, Some(bound), called) {
            Some(Ok(answer)) => return Some(answer),
            Some(Err(problem)) => self.refuse(name, &problem),
            None => self.object = None,
        }
        None
    }

    fn tell(&mut self, name: &str, arguments: impl for<'py> PyCallArgs<'py>) {
        self.call(name, arguments, |_| Ok(()));
    }

    fn ask(
        &mut self,
        name: &str,
        arguments: impl for<'py> PyCallArgs<'py>,
        allowed: impl Display,
    ) -> Option<u32> {
        self.call(name, arguments, |answer| {
            let whole = answer.extract().ok().filter(|_| !answer.is_instance_of::<PyBool>());
            whole.ok_or_else(|| unusable(answer, allowed))
        })
    }

    /// A hook returned an unusable value.
    fn refuse(&mut self, hook: &str, problem: &str) {
        self.object = None;
        let method = self.hooks.iter().find(|&&(known, _)| known == hook).map(|(_, bound)| bound);
        let place = Python::attach(|py| place(py, None, method));
        fail(refused(format!("{}.{hook}: {problem}{place}", self.name)));
    }
}

/// A copy with a state of its own.
impl Clone for Instance {
    fn clone(&self) -> Self {
        let copied = self.object.as_ref().and_then(|object| {
            let copied = Python::attach(|py| {
                py.import("copy")?.call_method1("deepcopy", (object,)).map(Bound::unbind)
            });
            settle(&self.name, "__deepcopy__", None, copied)
        });
        Self::bind(&self.name, copied, self.hooks.iter().map(|&(hook, _)| hook))
    }
}

/// The value of a hook. An exception of it ends the run.
#[inline]
fn settle<T>(name: &str, hook: &str, method: Option<&Py<PyAny>>, called: PyResult<T>) -> Option<T> {
    called.map_err(|raised| fail(described(name, hook, method, raised))).ok()
}

#[cold]
fn fail(failure: PyErr) {
    FAILURE.with_borrow_mut(|first| _ = first.get_or_insert(failure));
}

/// The exception of a hook, also of `sys.exit`, as one that names it, unless it is such as Control-C.
#[cold]
fn described(name: &str, hook: &str, method: Option<&Py<PyAny>>, raised: PyErr) -> PyErr {
    Python::attach(|py| {
        if !raised.is_instance_of::<PyException>(py) && !raised.is_instance_of::<PySystemExit>(py) {
            return raised;
        }
        let place = place(py, Some(raised.clone_ref(py).into_value(py).bind(py)), method);
        let rule = if hook == "remove" { "; evict only names a page, remove follows" } else { "" };
        let failure = refused(format!("{name}.{hook} raised {raised}{rule}{place}"));
        failure.set_cause(py, Some(raised));
        failure
    })
}

/// What is wrong with an answer, shown in short.
#[cold]
fn unusable(answer: &Bound<'_, PyAny>, allowed: impl Display) -> String {
    let short = || answer.py().import("reprlib")?.call_method1("repr", (answer,))?.extract::<String>();
    format!("{} was returned; {allowed} is allowed, a whole number", short().unwrap_or_default())
}

/// Where a hook raised an exception, or is defined.
fn place(py: Python<'_>, raised: Option<&Bound<'_, PyBaseException>>, method: Option<&Py<PyAny>>) -> String {
    let place = || py.import("coflash.external")?.call_method1("place", (raised, method))?.extract();
    place().unwrap_or_default()
}

/// The candidates of a pick. Its arrays are views of the simulator's memory; the memory does not change while
/// a view exists.
#[pyclass(frozen, module = "coflash._core")]
pub(crate) struct Candidates(Arc<Columns>);

impl Candidates {
    fn view<'py, T: Element>(
        this: &Bound<'py, Self>,
        column: fn(&Columns) -> &Vec<T>,
    ) -> Bound<'py, PyArray1<T>> {
        let column = ArrayView1::from(column(&this.get().0).as_slice());
        // SAFETY: the array keeps `this`, and that the columns, which nobody changes while another holder has them.
        let array = unsafe { PyArray1::borrow_from_array(&column, this.clone().into_any()) };
        // SAFETY: the array is new, so that nobody else has it. `readwrite` would look it up in a table of borrows.
        unsafe { (*_PyArray_GET_ITEM_DATA(array.as_array_ptr())).flags &= !NPY_ARRAY_WRITEABLE };
        array
    }
}

#[pymethods]
impl Candidates {
    /// The number of each block in its pool.
    #[getter]
    fn blocks<'py>(this: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        Self::view(this, |columns| &columns.blocks)
    }

    /// The valid pages of each block.
    #[getter]
    fn valid<'py>(this: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        Self::view(this, |columns| &columns.valid)
    }

    /// The pages to be copied: the valid ones, with those that another memory holds by their weight.
    #[getter]
    fn cost<'py>(this: &Bound<'py, Self>) -> Bound<'py, PyArray1<f64>> {
        Self::view(this, |columns| &columns.cost)
    }

    /// The number of programs of the device since each block became full.
    #[getter]
    fn age<'py>(this: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        Self::view(this, |columns| &columns.age)
    }

    /// The erase count of each block.
    #[getter]
    fn erases<'py>(this: &Bound<'py, Self>) -> Bound<'py, PyArray1<i64>> {
        Self::view(this, |columns| &columns.erases)
    }

    /// The number of programs of the device so far.
    #[getter]
    fn now(&self) -> u64 {
        self.0.now
    }

    /// The number of data pages of a block.
    #[getter]
    fn pages_per_block(&self) -> u32 {
        self.0.pages_per_block
    }

    fn __len__(&self) -> usize {
        self.0.blocks.len()
    }
}

/// A victim policy.
#[derive(Clone)]
struct Victim(Instance);

impl ExternalVictim for Victim {
    fn pick(&mut self, candidates: &Arc<Columns>) -> Option<usize> {
        let allowed = format_args!("a place from 0 to {}", candidates.blocks.len() - 1);
        let picked = self.0.ask("pick", (Candidates(candidates.clone()),), allowed)?;
        Some(picked as usize)
    }

    fn refused(&mut self, problem: &str) {
        self.0.refuse("pick", problem);
    }
}

/// An eviction policy.
#[derive(Clone)]
struct Eviction(Instance);

impl ExternalEviction for Eviction {
    fn arrive(&mut self, page: Lpn) {
        self.0.tell("arrive", (page.get(),));
    }

    fn insert(&mut self, page: Lpn, dirty: bool) {
        self.0.tell("insert", (page.get(), dirty));
    }

    fn hit(&mut self, page: Lpn) {
        self.0.tell("hit", (page.get(),));
    }

    fn flag(&mut self, page: Lpn, dirty: bool) {
        self.0.tell("flag", (page.get(), dirty));
    }

    fn remove(&mut self, page: Lpn) {
        self.0.tell("remove", (page.get(),));
    }

    fn evict(&mut self) -> Option<Lpn> {
        self.0.ask("evict", (), "a page in the cache").map(Lpn::new)
    }

    fn refused(&mut self, problem: &str) {
        self.0.refuse("evict", problem);
    }
}

/// A placement policy.
#[derive(Clone)]
struct Placement(Instance);

impl ExternalPlacement for Placement {
    fn user_write(&mut self, UserWrite { lpn, stream, now, replaces, .. }: UserWrite) -> Option<u32> {
        let replaced = replaces.map(|block| block.class.get());
        let page = (lpn.get(), replaced, stream == WriteStream::Evict, now);
        self.0.ask("user_write", page, "the number of a class")
    }

    fn gc_write(&mut self, GcWrite { lpn, now, from, .. }: GcWrite) -> Option<u32> {
        self.0.ask("gc_write", (lpn.get(), from.get(), now), "the number of a class")
    }

    fn cleaned(&mut self, Cleaned { class, opened_at, now, valid, .. }: Cleaned) {
        self.0.tell("cleaned", (class.get(), opened_at, valid, now));
    }

    fn refused(&mut self, hook: &'static str, problem: &str) {
        self.0.refuse(hook, problem);
    }
}
