/// A handler that needs setup before its first event and cleanup after its last.
///
/// The order is: creation by its ``HandlerFactory`` from the business's configuration, ``validate()``,
/// ``provision(_:)``, events, ``shutdown()``. A configuration check ends after ``validate()``. A reload shuts
/// down the handler of each business whose section of the configuration changed, and then creates a new
/// handler.
public protocol LifecycleHandler: Handler {
    /// Checks the configuration beyond its JSON form, and throws when it is invalid.
    ///
    /// This method must have no effect outside the process.
    func validate() throws

    /// Opens the handler's resources: connections, caches, clients.
    ///
    /// Until this method returns, events of this business wait in order; other businesses continue. If the
    /// method throws, it is called again, after pauses that grow to 30 s. In a child process it must return
    /// within 10 s, and a failure restarts the process.
    func provision(_ host: HandlerHost) async throws

    /// Releases the resources of ``provision(_:)``.
    ///
    /// Called once, after the last event; the server waits until it returns.
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
