public import BusinessMessages

/// A factory that creates a handler for each business that names it: `"handler": {"builtin": "demo"}`.
public protocol HandlerFactory: Sendable {
    /// The handler's name in configurations.
    var name: String { get }

    /// Creates a handler from the configuration of its business; throws when the configuration is wrong.
    ///
    /// Called once for each business when the server starts, and when a configuration is checked. It should
    /// not block.
    func make(configuration: JSONValue?) throws -> any Handler
}
