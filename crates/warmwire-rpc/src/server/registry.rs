//! The methods of a server.

use std::future::Future;
use std::sync::Arc;

use hashbrown::HashMap;
use warmwire_amp::{Fault, Object, Value};

use super::handler::{Handler, Invocation};
use super::{Caller, Context};

type Run = dyn Fn(&Caller<'_>, Vec<Value>) -> Invocation + Send + Sync;

/// A method that can be called.
pub(crate) struct Method {
    parameters: Vec<&'static str>,
    run: Box<Run>,
}

impl Method {
    pub(crate) fn typed<M, H: Handler<M>>(handler: H) -> Method {
        let run = Box::new(move |caller: &Caller<'_>, arguments| handler.invoke(caller, arguments));
        Method { parameters: H::parameters(), run }
    }

    pub(crate) fn variadic<F, O>(handler: F) -> Method
    where
        F: Fn(Context, Vec<Value>) -> O + Send + Sync + 'static,
        O: Future<Output = Result<Value, Fault>> + Send + 'static,
    {
        let run = Box::new(move |caller: &Caller<'_>, arguments| -> Invocation {
            Box::pin(handler(caller.context(), arguments))
        });
        Method { parameters: vec!["...args"], run }
    }

    pub(crate) fn invoke(&self, caller: &Caller<'_>, arguments: Vec<Value>) -> Invocation {
        (self.run)(caller, arguments)
    }
}

/// The methods of a server by their names. Nothing but what was exposed can be reached: there is no
/// prototype with a `toString`.
#[derive(Default)]
pub(crate) struct Registry {
    methods: HashMap<String, Arc<Method>>,
    /// In the order in which they were exposed.
    names: Vec<String>,
    /// The server's name, for faults.
    pub(crate) id: Option<String>,
    /// What every message goes to on axon's bare req/rep.
    pub(crate) plain: Option<Arc<Method>>,
}

impl Registry {
    /// Adds a method, in place of one of the same name.
    pub(crate) fn insert(&mut self, name: String, method: Method) {
        if self.methods.insert(name.clone(), Arc::new(method)).is_none() {
            self.names.push(name);
        }
    }

    pub(crate) fn get(&self, name: &str) -> Result<&Arc<Method>, Fault> {
        self.methods.get(name).ok_or_else(|| {
            // The text of axon-rpc, and where it is known of whom.
            let at = self.id.as_ref().map(|id| format!(" at {id:?}")).unwrap_or_default();
            Fault::new(format!("method {name:?} does not exist{at}")).code("unknown_method")
        })
    }

    /// What `methods` answers: for each name an object with `name` and `params`.
    pub(crate) fn list(&self) -> Object {
        let methods = self.names.iter().filter_map(|name| {
            let parameters = self.methods.get(name)?.parameters.iter();
            let parameters: Vec<_> = parameters.map(|one| Value::from(*one)).collect();
            let entries = [("name", Value::from(name.as_str())), ("params", parameters.into())];
            Some((name.as_str(), Object::from_iter(entries)))
        });
        Object::from_iter(methods)
    }
}
