public import BusinessMessages

/// A handler that is created from the `"config"` object in its business's file.
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
    /// The type that `config` is decoded to; a missing `config` is decoded as an empty object.
    associatedtype Configuration: Decodable

    /// Creates a handler; throws when the configuration is wrong.
    init(configuration: Configuration) throws
}

/// A factory for handlers of one type, which it creates from the configurations of their businesses.
public struct HandlerMaker<Made: ConfigurableHandler>: HandlerFactory {
    /// The handler's name in configurations.
    public let name: String

    /// Creates a factory with this name in configurations.
    public init(_ name: String, of type: Made.Type = Made.self) { self.name = name }

    /// Decodes the configuration and creates a handler.
    ///
    /// Throws a ``HandlerConfigurationError``, or the error of the handler's initializer.
    public func make(configuration: JSONValue?) throws -> any Handler {
        try Made(configuration: try HandlerConfiguration.decode(Made.Configuration.self, from: configuration))
    }
}

/// The decoding of the configuration that a handler defines itself.
public enum HandlerConfiguration {
    /// Decodes `configuration`, or an empty object if that is nil; throws a ``HandlerConfigurationError``.
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

/// A problem in the configuration that a handler defines itself, for the operator to correct.
public struct HandlerConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The place, as a JSON pointer (RFC 6901); empty for the whole configuration.
    public let pointer: String
    /// The fault, as a phrase, such as `is not a text`.
    public let reason: String

    /// The pointer and the reason, such as `/greeting: is not a text`.
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

    /// Returns the name of a type in JSON terms.
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
