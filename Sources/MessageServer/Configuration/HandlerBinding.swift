package import BalloonJSON

/// How a business's handler is reached; in JSON an object with exactly one of these names.
package enum HandlerBinding: Sendable {
    /// `{"builtin": "demo", "config": {…}}`: a handler that was compiled in, and what it is told.
    ///
    /// `config` may be absent. `none` is always there: it records and answers nothing.
    case builtin(name: String, configuration: JSONValue?)
    /// `{"exec": …}`, `{"http": …}`: a handler outside the process, made by the binder of that name from the object.
    case bound(by: String, JSONValue)

    /// The name of the handler that only records.
    package static let none = "none"
}
