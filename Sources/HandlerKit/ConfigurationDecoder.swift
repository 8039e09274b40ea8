internal import BusinessMessages

/// A decoder of a JSON value to any `Decodable` type.
struct ConfigurationDecoder: Decoder, SingleValueDecodingContainer {
    let value: JSONValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard value.kind == .object else { throw mismatch([String: Any].self) }
        return KeyedDecodingContainer(KeyedConfiguration(value: value, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard value.kind == .array else { throw mismatch([Any].self) }
        return UnkeyedConfiguration(elements: Array(value.elements), codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    private func mismatch(_ type: Any.Type) -> DecodingError {
        .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "is not of type \(type)"))
    }

    func decodeNil() -> Bool { value.isNull }
    func decode(_ type: Bool.Type) throws -> Bool { try found(value.bool) }
    func decode(_ type: String.Type) throws -> String { try found(value.string) }
    func decode(_ type: Double.Type) throws -> Double { try found(value.double) }
    func decode(_ type: Float.Type) throws -> Float { Float(try found(value.double)) }
    func decode(_ type: Int.Type) throws -> Int { try found(value.int) }
    func decode(_ type: Int8.Type) throws -> Int8 { try exactly() }
    func decode(_ type: Int16.Type) throws -> Int16 { try exactly() }
    func decode(_ type: Int32.Type) throws -> Int32 { try exactly() }
    func decode(_ type: Int64.Type) throws -> Int64 { try exactly() }
    func decode(_ type: UInt.Type) throws -> UInt { try exactly() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try exactly() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try exactly() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try exactly() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try exactly() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }

    private func found<Value>(_ found: Value?) throws -> Value {
        guard let found else { throw mismatch(Value.self) }
        return found
    }

    private func exactly<Number: FixedWidthInteger>() throws -> Number {
        try found(value.int.flatMap { Number(exactly: $0) })
    }
}

private struct KeyedConfiguration<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let value: JSONValue
    let codingPath: [any CodingKey]

    var allKeys: [Key] { value.members.compactMap { Key(stringValue: $0.key) } }

    func contains(_ key: Key) -> Bool { value[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).value.isNull }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try Value(from: try decoder(key))
    }
    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { try decoder(key).container(keyedBy: type) }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }
    func superDecoder() -> any Decoder { ConfigurationDecoder(value: value, codingPath: codingPath) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }

    private func decoder(_ key: Key) throws -> ConfigurationDecoder {
        guard let member = value[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key, .init(codingPath: codingPath, debugDescription: "\"\(key.stringValue)\" is missing"))
        }
        return ConfigurationDecoder(value: member, codingPath: codingPath + [key])
    }
}

private struct UnkeyedConfiguration: UnkeyedDecodingContainer {
    let elements: [JSONValue]
    let codingPath: [any CodingKey]
    var currentIndex = 0

    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        let isNull = try peek().value.isNull
        if isNull { currentIndex += 1 }
        return isNull
    }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let decoded = try Value(from: try peek())
        currentIndex += 1
        return decoded
    }
    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> { try take().container(keyedBy: type) }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try take().unkeyedContainer()
    }
    mutating func superDecoder() throws -> any Decoder { try take() }

    private func peek() throws -> ConfigurationDecoder {
        guard !isAtEnd else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: codingPath, debugDescription: "has too few elements"))
        }
        return ConfigurationDecoder(
            value: elements[currentIndex], codingPath: codingPath + [Place(currentIndex)])
    }

    private mutating func take() throws -> ConfigurationDecoder {
        defer { currentIndex += 1 }
        return try peek()
    }

    private struct Place: CodingKey {
        let place: Int
        var intValue: Int? { place }
        var stringValue: String { "\(place)" }
        init(_ place: Int) { self.place = place }
        init?(intValue: Int) { self.init(intValue) }
        init?(stringValue: String) { nil }
    }
}
