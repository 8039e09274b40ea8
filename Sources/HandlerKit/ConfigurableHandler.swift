public import BusinessMessages

/// A handler that is made from what its business's file says in `"config"`.
///
/// ```swift
/// struct Bakery: TextHandler, ConfigurableHandler {
///     struct Configuration: Decodable { var greeting: String }
///     let configuration: Configuration
///     init(configuration: Configuration) { self.configuration = configuration }
///     …
/// }
/// await Server.run(configurationFile: "config/server.json", handlers: [HandlerMaker<Bakery>("bakery")])
/// ```
public protocol ConfigurableHandler: Handler {
    /// What the object `config` is decoded to; of a business that has none, the empty object.
    associatedtype Configuration: Decodable

    /// Makes a handler; throws what is wrong with the configuration.
    init(configuration: Configuration) throws
}

/// Makes handlers of one type from their businesses' configuration.
public struct HandlerMaker<Made: ConfigurableHandler>: HandlerFactory {
    /// What configurations call it.
    public let name: String

    /// Makes a maker that configurations call `name`.
    public init(_ name: String, of type: Made.Type = Made.self) { self.name = name }

    /// Decodes the configuration and makes a handler; throws a ``HandlerConfigurationError``, or what the handler throws.
    public func make(configuration: JSONValue?) throws -> any Handler {
        try Made(configuration: try HandlerConfiguration.decode(Made.Configuration.self, from: configuration))
    }
}

/// The form of a handler's own configuration.
public enum HandlerConfiguration {
    /// Decodes an object, or the empty one when there is none; throws a ``HandlerConfigurationError``.
    public static func decode<Value: Decodable>(_ type: Value.Type, from configuration: JSONValue?) throws
        -> Value
    {
        let object = try configuration ?? JSONDocument(Array("{}".utf8)).root
        do {
            return try Value(from: ConfigurationDecoder(value: object, codingPath: []))
        } catch let error as DecodingError {
            throw HandlerConfigurationError(error)
        }
    }
}

/// What is wrong with a handler's own configuration; the operator corrects it.
public struct HandlerConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Where, as a JSON pointer (RFC 6901); empty for the whole.
    public let pointer: String
    /// What.
    public let reason: String

    /// `/greeting: is missing`.
    public var description: String { pointer.isEmpty ? reason : "\(pointer): \(reason)" }

    init(_ error: DecodingError) {
        let (context, reason): (DecodingError.Context, String) =
            switch error {
            case .keyNotFound(let key, let context): (context, "\"\(key.stringValue)\" is missing")
            case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
                (context, "is not \(Self.name(of: type))")
            case .dataCorrupted(let context): (context, context.debugDescription)
            @unknown default: (.init(codingPath: [], debugDescription: ""), "cannot be read")
            }
        pointer = context.codingPath.map { "/" + ($0.intValue.map(String.init) ?? $0.stringValue) }.joined()
        self.reason = reason
    }

    /// What a person who writes JSON calls it.
    private static func name(of type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a text"
        case is Bool.Type: "true or false"
        case is Double.Type, is Float.Type: "a number"
        case is any FixedWidthInteger.Type: "a whole number that fits \(type)"
        case is [Any].Type: "a list"
        case is [String: Any].Type: "an object"
        default: "of type \(type)"
        }
    }
}
