//! The messages of axon's bare sockets: arguments, and for req and rep an id behind them.

use bytes::Bytes;

use crate::argument::{Argument, ArgumentError};
use crate::value::Value;
use crate::{Fault, Frame, FrameError, FrameWriter, MAX_ARGUMENTS};

/// The arguments that a request or reply has room for beside its id.
pub const MAX_PLAIN: usize = MAX_ARGUMENTS - 1;

/// `values` as the arguments of a message, of which there may be `most`.
///
/// # Errors
///
/// None, or too many; a buffer that every reader would take for text or JSON (F054).
pub fn arguments(values: Vec<Value>, most: usize) -> Result<Vec<Argument>, Fault> {
    match values.len() {
        0 => return Err(Fault::new(FrameError::NoArguments.to_string())),
        count if count > most => {
            return Err(Fault::new(format!(
                "a message has room for {most} arguments and {count} were given: put them into one \
                 array"
            )));
        }
        _ => {}
    }
    let arguments: Result<_, ArgumentError> = values.into_iter().map(Argument::of).collect();
    arguments.map_err(|error| Fault::new(error.to_string()))
}

/// Writes all of a request but its id, which is to follow.
pub fn write(arguments: &[Argument], out: &mut FrameWriter) {
    // There are at most fourteen, and the id.
    let begun = out.head(arguments.len() + 1);
    debug_assert!(begun.is_ok(), "{begun:?}");
    for argument in arguments {
        argument.write(out);
    }
}

/// Writes a reply: the error, null if there is none, then the values, then the id.
pub fn write_reply(reply: &Result<Vec<Argument>, String>, id: &Bytes, out: &mut FrameWriter) {
    match reply {
        Ok(arguments) => {
            let begun = out.head(arguments.len() + 2);
            debug_assert!(begun.is_ok(), "{begun:?}");
            Argument::Json(Value::Null).write(out);
            for argument in arguments {
                argument.write(out);
            }
        }
        Err(message) => {
            let begun = out.head(2);
            debug_assert!(begun.is_ok(), "{begun:?}");
            Argument::Text(message.clone()).write(out);
        }
    }
    out.raw(id);
}

/// The values of a message.
///
/// # Errors
///
/// An argument that is announced as JSON and is none.
pub fn read(frame: Frame) -> Result<Vec<Value>, ArgumentError> {
    frame
        .into_arguments()
        .map(|argument| Argument::read(argument).map(Argument::into_value))
        .collect()
}
