import BalloonPOSIX
import HandlerKit

/// The reason why a handler returned no outcome.
enum HandlerFailure: Error, Sendable, Equatable {
    /// The handler exceeded its deadline; its task was cancelled, and a late answer is dropped.
    case overran
    /// The handler threw an error of this type; the error's text may quote a customer, so it is omitted.
    case threw(type: String)
    /// The handler threw an error whose reason contains no customer text.
    case failed(reason: String)
    /// A system error prevented the call, for example while writing the file for a long message; the handler is not at
    /// fault.
    case notAsked(SystemError)
    /// The handler is unavailable for every event; no attempt is counted.
    case unavailable(reason: String)
    /// An operator ended the delivery before the handler was called.
    case ended
    /// The answer breaks a rule, so that another attempt would fail too.
    case refused(AnswerRefusal)

    init(_ error: any Error) {
        if let refusal = AnswerRefusal(thrown: error) {
            self = .refused(refusal)
        } else if let error = error as? any HandlerUnavailableError {
            self = .unavailable(reason: error.reason)
        } else if let error = error as? SystemError {
            self = .notAsked(error)
        } else if let error = error as? any LoggableError {
            self = .failed(reason: error.reason)
        } else {
            self = .threw(type: "\(type(of: error))")
        }
    }

    var reason: String {
        switch self {
        case .overran: "the handler overran its deadline"
        case .threw(let type): "the handler threw \(type)"
        case .failed(let reason), .unavailable(let reason): reason
        case .notAsked(let error): "\(error)"
        case .ended: "an operator ended the delivery"
        case .refused(let refusal): refusal.reason
        }
    }
}
