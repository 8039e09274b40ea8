package import BalloonJSON

/// Puts the content behind a payload reference in the reference's place.
///
/// `decoded` is what `decodePayload` answered: the interactive data itself, or an object that holds it as
/// `interactiveData`; both were seen. The result is `message` with `interactiveData` where
/// `interactiveDataRef` stood, every other member as it was. An inline `interactiveData` beside the reference
/// (a form's selections) is merged: objects member by member; lists of identified elements in the inline
/// order, each with its namesake; where both have a value the inline one stays, unless it is empty. `nil`
/// when `decoded` is not an object. Apple MSP API, "Decoding Interactive Data Payloads".
package func resolving(message: JSONDocument, with decoded: JSONDocument) -> [UInt8]? {
    guard decoded.root.kind == .object else { return nil }
    var payload = decoded.root
    if let wrapped = payload["interactiveData"], wrapped.kind == .object { payload = wrapped }
    let inline = message.root["interactiveData"]
    let hasReference = message.root["interactiveDataRef"] != nil

    var writer = JSONWriter(reservingCapacity: message.bytes.count + decoded.bytes.count)
    writer.object { writer in
        var isPlaced = false
        for (key, value) in message.root.members {
            switch key {
            case "interactiveDataRef", "interactiveData":
                guard !isPlaced, key == "interactiveDataRef" || !hasReference else { continue }
                isPlaced = true
                writer.key("interactiveData")
                writer.merge(inline, over: payload, key: key)
            default:
                writer.key(key)
                writer.value(value)
            }
        }
        if !isPlaced {
            writer.key("interactiveData")
            writer.value(payload)
        }
    }
    return writer.finish()
}

extension JSONWriter {
    /// Writes one value made of two; `key` is the member's name, or that of the list it is in.
    ///
    /// Recursion ends with the documents' own depth limit.
    fileprivate mutating func merge(_ inline: JSONValue?, over payload: JSONValue, key: String) {
        guard let inline, !inline.isVoid else { return value(payload) }
        switch (inline.kind, payload.kind) {
        case (.object, .object): mergeObjects(inline, over: payload)
        case (.array, .array): mergeLists(inline, over: payload, key: key)
        default: value(inline)
        }
    }

    private mutating func mergeObjects(_ inline: JSONValue, over payload: JSONValue) {
        object { writer in
            var written: Set<String> = []
            // A repeated name is read through the subscript, so that the same value counts as everywhere
            // else.
            for (key, _) in payload.members where written.insert(key).inserted {
                guard let value = payload[key] else { continue }
                writer.key(key)
                writer.merge(inline[key], over: value, key: key)
            }
            for (key, _) in inline.members where written.insert(key).inserted {
                guard let value = inline[key] else { continue }
                writer.key(key)
                writer.value(value)
            }
        }
    }

    private mutating func mergeLists(_ inline: JSONValue, over payload: JSONValue, key: String) {
        var namesakes: [String: JSONValue] = [:]
        for element in payload.elements {
            if let name = element.name { namesakes[name] = element }
        }
        array { writer in
            var written: Set<String> = []
            for element in inline.elements {
                guard let name = element.name, let namesake = namesakes[name] else {
                    writer.value(element)
                    continue
                }
                written.insert(name)
                writer.merge(element, over: namesake, key: key)
            }
            // Images are only looked up, so more do no harm; any other list is what the customer chose.
            guard key == "images" else { return }
            for element in payload.elements where element.name.map({ !written.contains($0) }) ?? true {
                writer.value(element)
            }
        }
    }
}

extension JSONValue {
    /// What an element of a list is called by; `nil` when it has no name.
    fileprivate var name: String? {
        guard kind == .object else { return nil }
        return first("identifier", "pageIdentifier")?.scalarString
    }

    /// Whether it says nothing: null, or an empty string, list or object.
    fileprivate var isVoid: Bool {
        switch kind {
        case .null: true
        case .string: string?.isEmpty ?? true
        case .array, .object: count == 0
        case .number, .boolean: false
        }
    }
}
