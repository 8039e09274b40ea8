public import BusinessMessages

/// What makes a handler for each business that names it: `"handler": {"builtin": "demo"}`.
public protocol HandlerFactory: Sendable {
    /// What configurations call it.
    var name: String { get }

    /// Makes a handler from the business's own configuration; throws what is wrong with it.
    ///
    /// Called once for each business when the server starts, and when a configuration is checked; it should
    /// not wait for anything.
    func make(configuration: JSONValue?) throws -> any Handler
}
