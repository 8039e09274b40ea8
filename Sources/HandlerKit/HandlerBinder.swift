public import BusinessMessages
public import Logging

/// A factory for the handlers of one type of binding, such as `exec` or `http`.
///
/// The binder named `exec` creates the handlers of `"handler": {"exec": …}`.
public protocol HandlerBinder: HandlerFactory {
    /// Creates a handler; throws when the binding is wrong.
    ///
    /// The handler must not have lasting side effects, such as a process, before it is started.
    func make(_ binding: HandlerBindingRequest) throws -> any Handler

    /// Returns all values that the handler depends on besides its binding, such as the content of a secret
    /// file.
    ///
    /// When they change, a reload recreates the handler. They are never stored or shown.
    func ingredients(of binding: HandlerBindingRequest) -> [UInt8]
}

extension HandlerBinder {
    /// Returns nothing: the handler depends on its binding only.
    public func ingredients(of binding: HandlerBindingRequest) -> [UInt8] { [] }

    /// Always throws, because `builtin` must not name a binder.
    public func make(configuration: JSONValue?) throws -> any Handler { throw HandlerBinderError.notBuiltin }
}

/// The reason why a binder created no handler.
public enum HandlerBinderError: Error, Equatable {
    /// The configuration names the binder with `builtin` instead of its own key.
    case notBuiltin
}

/// The input of a binder for one business.
public struct HandlerBindingRequest: Sendable {
    /// The whole object `handler` of the business's file.
    public let binding: JSONValue
    /// The business's identifier.
    public let business: BusinessID
    /// The business's name in commands and logs.
    public let slug: String
    /// The folder of the business's file; relative paths in the file start there.
    public let directory: String
    /// A folder for temporary files of the handler; it may not exist yet.
    public let scratchDirectory: String
    /// The time limit of one event.
    public let deadline: Duration
    /// The maximum number of concurrent events.
    public let maximumInFlight: Int
    /// A logger that names the business.
    public let logger: Logger

    /// Creates a request.
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
