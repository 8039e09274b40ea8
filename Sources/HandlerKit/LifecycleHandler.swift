/// A handler that has something to do before its first event and after its last.
///
/// The order is: made by its ``HandlerFactory`` from the business's configuration, ``validate()``, ``provision(_:)``,
/// events, ``shutdown()``. When a configuration is only checked it ends after ``validate()``. A configuration that
/// is reloaded makes a new handler for each business whose section changed, and shuts the old one down first.
public protocol LifecycleHandler: Handler {
    /// Throws what is wrong with the configuration beyond its form; touches nothing outside the process.
    func validate() throws

    /// Gets what the handler needs: connections, caches, clients.
    ///
    /// Its events wait, in order, until it returns; other businesses do not. When it throws it is called again, after
    /// pauses that grow to half a minute. In a child process it has 10 seconds, and the process begins anew with it.
    func provision(_ host: HandlerHost) async throws

    /// Ends what ``provision(_:)`` began; called once, after the last event, and waited for.
    func shutdown() async
}

extension LifecycleHandler {
    /// Finds nothing wrong.
    public func validate() throws {}

    /// Needs nothing.
    public func provision(_ host: HandlerHost) async throws {}

    /// Leaves nothing behind.
    public func shutdown() async {}
}
