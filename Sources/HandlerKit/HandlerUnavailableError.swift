/// An error that means that the handler is unavailable for every event, and not only for the current one.
///
/// The event waits until the handler is ready again, and no attempt is counted.
public protocol HandlerUnavailableError: LoggableError {}
