/// A handler with setup before its first event and cleanup after its last.
///
/// The order is: creation by its ``HandlerFactory`` from the business's configuration, ``validate()``,
/// ``provision(_:)``, events, ``shutdown()``. A configuration check ends after ``validate()``. A reload shuts
/// down the handler of each business whose section changed, and then creates a new one.
public protocol LifecycleHandler: Handler {
    /// Checks the configuration beyond its JSON form, and throws when it is invalid.
    ///
    /// It must have no effect outside the process.
    func validate() throws

    /// Opens the handler's resources: connections, caches, clients.
    ///
    /// Events of this business wait in order until it returns; other businesses continue. When it throws it
    /// is called again, after pauses that grow to 30 s. In a child process it has 10 s, and a failure
    /// restarts the process.
    func provision(_ host: HandlerHost) async throws

    /// Releases the resources of ``provision(_:)``; called once, after the last event, and awaited.
    func shutdown() async
}

extension LifecycleHandler {
    /// Accepts every configuration.
    public func validate() throws {}

    /// Does nothing.
    public func provision(_ host: HandlerHost) async throws {}

    /// Does nothing.
    public func shutdown() async {}
}
