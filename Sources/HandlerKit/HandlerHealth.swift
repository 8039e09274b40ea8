/// The lifecycle state of a handler outside the process.
public enum HandlerHealth: String, Sendable, CaseIterable {
    /// Started, but the handshake is not complete.
    case starting
    /// Receiving events.
    case ready
    /// Ended; the next start follows after a pause.
    case restarting
    /// Ended too often: restarts are suspended for a while, or until an operator restarts the handler.
    case open
    /// The handler has stopped and does not start again.
    case stopped
}
