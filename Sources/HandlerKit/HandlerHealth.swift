/// How a handler outside the process is.
public enum HandlerHealth: String, Sendable, CaseIterable {
    /// It was started and has not introduced itself yet.
    case starting
    /// It takes events.
    case ready
    /// It ended, and is started again after a pause.
    case restarting
    /// It ended too often; it is left alone for a while, or until an operator restarts it.
    case open
    /// It is not to run.
    case stopped
}
