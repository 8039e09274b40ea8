package import BalloonPOSIX
import HandlerKit
package import HandlerProtocol

/// Why a handler outside the process gave no outcome; the event is tried again.
package enum BridgeError: Error, Hashable, Sendable {
    /// The handler is not running; it is being restarted, or an operator must look.
    case notRunning
    /// The process ended before it answered.
    case ended
    /// The process does not read its standard input, and too much waits for it.
    case notReading
    /// No answer came within the time that the call has.
    case timedOut
    /// The service did not answer the event within its deadline.
    case overran
    /// The call was given up by whoever waited for it.
    case cancelled
    /// The handler answered with this error.
    case refused(RPCFailure)
    /// The handler broke the protocol.
    case invalid(HandlerProtocolError)
    /// The event of a check could not be written to a file for the handler.
    case noScratchFile(SystemError)
    /// The service answered with this status.
    case status(Int)
    /// The service could not be reached, or its answer was not whole.
    case transport
    /// The service's answer has more than so many bytes: its author makes it smaller.
    case answerTooLarge(maximumBytes: Int)
    /// The service's answer is not JSON.
    case notJSON
}

extension BridgeError: LoggableError {
    /// What happened; nothing in it comes from the handler, which may quote a customer.
    package var reason: String {
        switch self {
        case .notRunning: "the handler is not running"
        case .ended: "the handler's process ended"
        case .notReading: "the handler does not read its standard input"
        case .timedOut: "the handler did not answer in time"
        case .overran: "the handler overran its deadline"
        case .cancelled: "the call was given up"
        case .refused(let failure): "the handler answered with error \(failure.code)"
        case .invalid(let error): "the handler's answer is invalid: \(error)"
        case .noScratchFile(let error): "the event's file could not be written: \(error)"
        case .status(let status): "the service answered with status \(status)"
        case .transport: "the service could not be reached"
        case .answerTooLarge(let maximumBytes): "the service's answer has more than \(maximumBytes) bytes"
        case .notJSON: "the service's answer is not JSON"
        }
    }
}
