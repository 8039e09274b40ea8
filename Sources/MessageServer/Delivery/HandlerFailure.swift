import BalloonPOSIX
import HandlerKit

/// Why a handler gave no outcome.
enum HandlerFailure: Error, Sendable, Equatable {
    /// It did not return before its deadline; its task was cancelled, and what it says later is dropped.
    case overran
    /// It threw an error of this type; the error's text may be a customer's, so it is not kept.
    case threw(type: String)
    /// It threw an error that says what happened without a customer's words.
    case failed(reason: String)
    /// The system refused what it takes to ask it, as the file of a long message: the disk's trouble, not the handler's.
    case notAsked(SystemError)
    /// What it wants to remember of the conversation has more than `ConversationState.maximumBytes`.
    case stateTooLarge

    init(_ error: any Error) {
        if let error = error as? SystemError {
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
        case .failed(let reason): reason
        case .notAsked(let error): "\(error)"
        case .stateTooLarge: "the handler's state is too large"
        }
    }
}
