/// Functions that write a member's name and value in one call; when the value is nil, they write nothing.
extension JSONWriter {
    /// Writes a member with a string.
    public mutating func field(_ name: String, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    /// Writes a member with an integer.
    public mutating func field(_ name: String, _ value: Int?) {
        guard let value else { return }
        key(name)
        int(value)
    }

    /// Writes a member with a double.
    public mutating func field(_ name: String, _ value: Double?) {
        guard let value else { return }
        key(name)
        double(value)
    }

    /// Writes a member with a Boolean.
    public mutating func field(_ name: String, _ value: Bool?) {
        guard let value else { return }
        key(name)
        bool(value)
    }

    /// Writes a member with a value from a document.
    public mutating func field(_ name: String, _ value: JSONValue?) {
        guard let value else { return }
        key(name)
        self.value(value)
    }

    /// Writes a member with an object whose members `body` writes.
    public mutating func object(_ name: String, _ body: (inout JSONWriter) throws -> Void) rethrows {
        key(name)
        try object(body)
    }

    /// Writes a member with an array whose elements `body` writes.
    public mutating func array(_ name: String, _ body: (inout JSONWriter) throws -> Void) rethrows {
        key(name)
        try array(body)
    }

    /// Writes a member with bytes that must be one JSON value; they are not checked.
    public mutating func raw(_ name: String, _ json: some Collection<UInt8>) {
        key(name)
        raw(json)
    }

    /// Writes a member with a list, whose elements `body` writes, one in each call.
    public mutating func list<Elements: Sequence>(
        _ name: String, _ elements: Elements,
        _ body: (Elements.Element, inout JSONWriter) throws -> Void
    ) rethrows {
        try array(name) { writer in for element in elements { try body(element, &writer) } }
    }

    /// Writes a member with a list of objects, whose members `body` writes, one object in each call.
    public mutating func objects<Elements: Sequence>(
        _ name: String, _ elements: Elements,
        _ body: (Elements.Element, inout JSONWriter) throws -> Void
    ) rethrows {
        try list(name, elements) { element, writer in try writer.object { try body(element, &$0) } }
    }

    /// Writes a member with a list of strings.
    public mutating func list(_ name: String, _ strings: some Sequence<String>) {
        list(name, strings) { $1.string($0) }
    }
}
