import BalloonJSON

extension JSONDocument {
    /// Returns a copy of the document with `json` as the value at a JSON Pointer; `nil` removes the member or element.
    ///
    /// A member that does not exist is added.
    func replacing(_ pointer: String, by json: String?) throws -> JSONDocument {
        var writer = JSONWriter()
        let path = pointer.split(separator: "/").map(String.init)
        writer.write(root, replacing: path[...], by: json)
        return try JSONDocument(writer.finish())
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ value: JSONValue, replacing path: ArraySlice<String>, by json: String?)
    {
        guard let name = path.first else { return raw((json ?? "null").utf8) }
        let isLast = path.count == 1
        if value.kind == .object {
            object { writer in
                var isFound = false
                for (key, member) in value.members {
                    isFound = isFound || key == name
                    if key == name, isLast, json == nil { continue }
                    writer.key(key)
                    key == name
                        ? writer.write(member, replacing: path.dropFirst(), by: json) : writer.value(member)
                }
                guard !isFound, isLast, let json else { return }
                writer.key(name)
                writer.raw(json.utf8)
            }
        } else {
            array { writer in
                for (position, element) in value.elements.enumerated() {
                    if String(position) == name, isLast, json == nil { continue }
                    String(position) == name
                        ? writer.write(element, replacing: path.dropFirst(), by: json) : writer.value(element)
                }
            }
        }
    }
}
