/// An error that says that the handler as a whole is unavailable: the event waits until it is ready again, and no
/// attempt is counted.
public protocol HandlerUnavailableError: LoggableError {}
