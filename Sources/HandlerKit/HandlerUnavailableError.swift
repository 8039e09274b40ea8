/// An error that says that the handler is unavailable for every event.
///
/// The event waits until the handler is ready again, and no attempt is counted.
public protocol HandlerUnavailableError: LoggableError {}
