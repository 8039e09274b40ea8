/// The lifecycle state of a handler outside the process.
public enum HandlerHealth: String, Sendable, CaseIterable {
    /// The process is started, but the handshake is not complete.
    case starting
    /// The handler receives events.
    case ready
    /// The process has ended; it is started again after a pause.
    case restarting
    /// The process ended too often: restarts are suspended for a while, or until an operator restarts the
    /// handler.
    case open
    /// The handler has stopped and does not start again.
    case stopped
}
