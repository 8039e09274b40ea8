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
}
