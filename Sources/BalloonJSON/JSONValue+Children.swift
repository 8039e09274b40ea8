extension JSONValue {
    /// Returns the value of an object's member; nil when the member is absent or this is not an object.
    ///
    /// If a name is repeated, its last value is returned. Names are compared by their UTF-8 bytes. The time
    /// is proportional to the number of members.
    public subscript(_ name: String) -> JSONValue? {
        guard tag == .object else { return nil }
        let wanted = name.utf8Span.span
        let tape = storage.tape
        let end = tape.end(of: index)
        var found: Int?
        var at = index + 2
        while at < end {
            if storage.string(at: at, equals: wanted) { found = at + 1 }
            at = tape.end(of: at + 1)
        }
        return found.map { JSONValue(storage: storage, index: $0) }
    }

    /// Finds an array's element by its position from 0; nil when out of bounds or this is not an array.
    ///
    /// The time is proportional to the position; use `elements` to iterate.
    public subscript(_ position: Int) -> JSONValue? {
        guard position >= 0, position < elements.count else { return nil }
        return elements.dropFirst(position).first { _ in true }
    }

    /// The members of an object in text order, including duplicates; empty for other kinds.
    public var members: JSONMembers { JSONMembers(of: self) }

    /// The elements of an array in order; empty for other kinds.
    public var elements: JSONElements { JSONElements(of: self) }
}

/// The members of a JSON object in the order of the text.
public struct JSONMembers: Sequence, IteratorProtocol, Sendable {
    private let storage: JSONStorage
    private var at: Int
    private let end: Int
    /// How many members the object has.
    public let count: Int

    init(of value: JSONValue) {
        let isObject = value.tag == .object
        storage = value.storage
        at = value.index + 2
        end = isObject ? storage.tape.end(of: value.index) : at
        count = isObject ? value.count : 0
    }

    /// Returns the next member; nil at the end.
    public mutating func next() -> (key: String, value: JSONValue)? {
        guard at < end else { return nil }
        let name = at
        at = storage.tape.end(of: name + 1)
        return (storage.string(at: name), JSONValue(storage: storage, index: name + 1))
    }
}

extension JSONMembers {
    /// Returns the next member with the UTF-8 bytes of its name; nil at the end.
    ///
    /// Unlike ``next()``, it creates no `String`; see ``JSONValue/textBytes``.
    package mutating func nextWithBytes() -> (name: ArraySlice<UInt8>, value: JSONValue)? {
        guard at < end else { return nil }
        let name = at
        at = storage.tape.end(of: name + 1)
        return (storage.textBytes(at: name), JSONValue(storage: storage, index: name + 1))
    }
}

/// The elements of a JSON array in order.
public struct JSONElements: Sequence, IteratorProtocol, Sendable {
    private let storage: JSONStorage
    private var at: Int
    private let end: Int
    /// How many elements the array has.
    public let count: Int

    init(of value: JSONValue) {
        let isArray = value.tag == .array
        storage = value.storage
        at = value.index + 2
        end = isArray ? storage.tape.end(of: value.index) : at
        count = isArray ? value.count : 0
    }

    /// Returns the next element; nil at the end.
    public mutating func next() -> JSONValue? {
        guard at < end else { return nil }
        defer { at = storage.tape.end(of: at) }
        return JSONValue(storage: storage, index: at)
    }
}
