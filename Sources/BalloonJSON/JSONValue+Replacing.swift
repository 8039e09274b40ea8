extension JSONValue {
    /// Returns an object's text with the values of some members replaced; the rest stays byte for byte the
    /// same.
    ///
    /// If a name is repeated, all its values are replaced, so that no old value remains. Missing members are
    /// added at the end, in the UTF-8 order of their names. The replacements must be valid JSON, which is not
    /// checked. A value that is not an object is returned unchanged.
    public func replacing(members: [String: [UInt8]]) -> [UInt8] {
        guard tag == .object else { return Array(text) }
        var result: [UInt8] = []
        result.reserveCapacity(members.values.reduce(extent.count) { $0 + $1.count + 32 })
        var missing = members
        var copied = extent.lowerBound
        var all = self.members
        // Names from outside are compared as bytes; see `textBytes`.
        while let (bytes, value) = all.nextWithBytes() {
            guard let (name, replacement) = members.first(where: { $0.key.utf8.elementsEqual(bytes) }) else {
                continue
            }
            missing[name] = nil
            result += storage.bytes[copied..<value.extent.lowerBound]
            result += replacement
            copied = value.extent.upperBound
        }
        let last = extent.upperBound - 1
        result += storage.bytes[copied..<last]
        appendMembers(missing, to: &result, isFirst: count == 0)
        result.append(storage.bytes[last])
        return result
    }

    /// Returns this object's text with new members of the object that `path` names.
    ///
    /// When the path leads to nothing, the object is returned unchanged.
    public func replacing(members: [String: [UInt8]], at path: String...) -> [UInt8] {
        replacing(members: members, at: path[...])
    }

    private func replacing(members: [String: [UInt8]], at path: ArraySlice<String>) -> [UInt8] {
        guard let name = path.first else { return replacing(members: members) }
        guard let child = self[name] else { return Array(text) }
        return replacing(members: [name: child.replacing(members: members, at: path.dropFirst())])
    }
}

/// Appends members to the text of an object whose closing brace is not written yet.
private func appendMembers(_ members: [String: [UInt8]], to result: inout [UInt8], isFirst: Bool) {
    var needsComma = !isFirst
    for (name, value) in members.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
        if needsComma { result.append(UInt8(ascii: ",")) }
        appendQuoted(name, to: &result)
        result.append(UInt8(ascii: ":"))
        result += value
        needsComma = true
    }
}
