public import BusinessMessages
public import Logging

/// What makes handlers for one way of binding them: `"handler": {"exec": …}` is made by the binder named `exec`.
public protocol HandlerBinder: HandlerFactory {
    /// Makes a handler; throws what is wrong with the binding, and does nothing that lasts before it is started.
    func make(_ binding: HandlerBindingRequest) throws -> any Handler

    /// What a handler is made from besides the binding itself, such as a secret's file: when it changes, so does the
    /// handler. Never kept or shown.
    func ingredients(of binding: HandlerBindingRequest) -> [UInt8]
}

extension HandlerBinder {
    /// Nothing but the binding.
    public func ingredients(of binding: HandlerBindingRequest) -> [UInt8] { [] }

    /// A binder cannot be named by `builtin`.
    public func make(configuration: JSONValue?) throws -> any Handler { throw HandlerBinderError.notBuiltin }
}

/// Why a binder made nothing.
public enum HandlerBinderError: Error, Equatable {
    /// It was asked as if it were a handler: the configuration names it with its own key instead of `builtin`.
    case notBuiltin
}

/// All that a binder is told about one business.
public struct HandlerBindingRequest: Sendable {
    /// The whole object `handler` of the business's file.
    public let binding: JSONValue
    /// The business's identifier.
    public let business: BusinessID
    /// The business's name in commands and logs.
    public let slug: String
    /// The folder of the business's file, to which paths in it are relative.
    public let directory: String
    /// A folder of the handler's own for files that do not last; it need not be there yet.
    public let scratchDirectory: String
    /// How long one event may take.
    public let deadline: Duration
    /// How many events may be under way at once.
    public let maximumInFlight: Int
    /// A logger that names the business.
    public let logger: Logger

    /// Takes everything.
    public init(
        binding: JSONValue, business: BusinessID, slug: String, directory: String, scratchDirectory: String,
        deadline: Duration, maximumInFlight: Int, logger: Logger
    ) {
        self.binding = binding
        self.business = business
        self.slug = slug
        self.directory = directory
        self.scratchDirectory = scratchDirectory
        self.deadline = deadline
        self.maximumInFlight = maximumInFlight
        self.logger = logger
    }
}
