package import BalloonPOSIX
package import BalloonTransport
package import HandlerKit
package import HandlerProtocol

/// The reason why a handler outside the process returned no outcome; the server delivers the event again.
package enum BridgeError: Error, Equatable, Sendable, LoggableError, PaymentCallError {
    /// The handler is not running: it is restarting, or an operator must restart it.
    case notRunning
    /// The process ended before it answered.
    case ended
    /// The process does not read its standard input, and its input buffer is full.
    case notReading
    /// The call was not answered within its time limit.
    case timedOut
    /// The service did not answer the event within its deadline.
    case overran
    /// The caller cancelled the call.
    case cancelled
    /// The handler answered with an error.
    case refused(RPCFailure)
    /// The handler does not answer the App Store's questions: its `events` do not list `retention`.
    case noRetention
    /// `balloon` could not write the event of a handler check to a file for the handler.
    case noScratchFile(SystemError)
    /// The service answered with this status.
    case status(Int)
    /// The service was unreachable, or its answer incomplete; nil when the transport gave no reason.
    case transport(TransportError?)
    /// The service's answer exceeds this size limit.
    case answerTooLarge(maximumBytes: Int)
    /// The service's answer is not JSON.
    case notJSON
    /// The answer to a payment cannot be sent to the customer's device.
    case paymentRefused(PaymentAnswerProblem)

    /// The failure in words, without text of the handler, which may quote a customer.
    package var reason: String {
        switch self {
        case .notRunning: "the handler is not running"
        case .ended: "the handler's process ended"
        case .notReading: "the handler does not read its standard input"
        case .timedOut: "the handler did not answer in time"
        case .overran: "the handler overran its deadline"
        case .cancelled: "the call was cancelled"
        case .refused(let failure) where failure.code == RPCFailure.Code.unparseable:
            "the handler's answer cannot be read"
        case .refused(let failure): "the handler answered with error \(failure.code)"
        case .noRetention: "the handler's events do not list retention"
        case .noScratchFile(let error): "the event's file could not be written: \(error)"
        case .status(let status): "the service answered with status \(status)"
        case .transport(let error):
            "the service could not be reached" + (error.map { ": \($0.reason)" } ?? "")
        case .answerTooLarge(let maximumBytes): "the service's answer has more than \(maximumBytes) bytes"
        case .notJSON: "the service's answer is not JSON"
        case .paymentRefused(let problem):
            "the answer to the payment breaks \(problem.loggable)"
        }
    }

    /// The end of a call that charges, as far as the failure shows it.
    package var callEnd: PaymentCallEnd {
        switch self {
        case .notRunning, .noRetention, .noScratchFile: .neverLeft
        // The lost answer may say that the customer was charged.
        case .refused(let failure) where failure.code == RPCFailure.Code.unparseable: .unseen
        // The end of the program, or its own error.
        case .ended, .refused: .seen
        // A proxy may have answered, and the handler may still work.
        case .status, .answerTooLarge, .notJSON, .notReading, .timedOut, .overran, .cancelled: .unseen
        case .transport(let error): error?.isUnsent == true ? .neverLeft : .unseen
        case .paymentRefused: .misanswered
        }
    }
}
