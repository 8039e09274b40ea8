package import BalloonJSON

/// The connection to a business's handler; in JSON an object with exactly one of the members below.
package enum HandlerBinding: Sendable {
    /// `{"builtin": "demo", "config": {…}}`: a handler of the program, with its configuration.
    ///
    /// `config` may be absent. The handler `none` always exists: it records events and answers nothing.
    case builtin(name: String, configuration: JSONValue?)
    /// `{"exec": …}` or `{"http": …}`: a handler outside the process, created by the binder of that name.
    case bound(by: String, JSONValue)

    /// The name of the handler that records events and answers nothing.
    package static let none = "none"
}
