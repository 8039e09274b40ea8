package import BalloonJSON

/// Replaces a payload reference with the content behind it.
///
/// `decoded` is the answer of `decodePayload`: the interactive data itself, or an object with the member
/// `interactiveData`; both forms were observed. The result is `message` with `interactiveData` instead of
/// `interactiveDataRef`; every other member is unchanged. `nil` when `decoded` is not an object. Apple MSP
/// API, "Decoding Interactive Data Payloads".
///
/// An inline `interactiveData` next to the reference (a form's selections) is merged. Objects are merged
/// member by member. Lists of elements with identifiers keep the inline order, and each element is merged
/// with the element of the same name. When both sides have a value, the inline one is used unless it is
/// empty.
///
/// For repeated names, the last member of an object is used, and in a list the first element of each side:
/// these two are merged, and later inline ones stay unchanged. Every value of either side is therefore
/// written at most once: the result is at most as long as both texts plus the new names, and the time is
/// proportional to it. A container that exceeds ``MessageBounds`` is not merged; see `concatenate`.
package func resolving(message: JSONDocument, with decoded: JSONDocument) -> [UInt8]? {
    guard decoded.root.kind == .object else { return nil }
    var payload = decoded.root
    if let wrapped = payload["interactiveData"], wrapped.kind == .object { payload = wrapped }
    let inline = message.root["interactiveData"]
    let hasReference = message.root["interactiveDataRef"] != nil

    return JSONWriter.object(reservingCapacity: message.bytes.count + decoded.bytes.count) { writer in
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
}

extension JSONWriter {
    /// Writes one merged value; `key` is the member's name, or that of the surrounding list.
    ///
    /// The recursion depth is bounded by the depth limit of the documents.
    fileprivate mutating func merge(_ inline: JSONValue?, over payload: JSONValue, key: String) {
        guard let inline, !inline.isVoid else { return value(payload) }
        let bounds = MessageBounds.standard
        switch (inline.kind, payload.kind) {
        case (.object, .object), (.array, .array):
            if bounds.isExceeded(by: inline) || bounds.isExceeded(by: payload) {
                concatenate(inline, behind: payload)
            } else if inline.kind == .object {
                mergeObjects(inline, over: payload)
            } else {
                mergeLists(inline, over: payload, key: key)
            }
        default: value(inline)
        }
    }

    private mutating func mergeObjects(_ inline: JSONValue, over payload: JSONValue) {
        let inlineMembers = inline.membersByName
        let payloadMembers = payload.membersByName
        object { writer in
            var written: Set<String> = []
            for (key, _) in payload.members where written.insert(key).inserted {
                guard let value = payloadMembers[key] else { continue }
                writer.key(key)
                writer.merge(inlineMembers[key], over: value, key: key)
            }
            for (key, _) in inline.members where written.insert(key).inserted {
                guard let value = inlineMembers[key] else { continue }
                writer.key(key)
                writer.value(value)
            }
        }
    }

    private mutating func mergeLists(_ inline: JSONValue, over payload: JSONValue, key: String) {
        var namesakes: [String: JSONValue] = [:]
        for element in payload.elements {
            if let name = element.name, namesakes[name] == nil { namesakes[name] = element }
        }
        array { writer in
            var written: Set<String> = []
            for element in inline.elements {
                // Removed, so that no second element with the name is merged with the same element.
                guard let name = element.name, let namesake = namesakes.removeValue(forKey: name) else {
                    writer.value(element)
                    continue
                }
                written.insert(name)
                writer.merge(element, over: namesake, key: key)
            }
            // The payload's other images are added, because a message refers to images by name. The other elements of
            // any other list would look like choices that the customer made.
            guard key == "images" else { return }
            for element in payload.elements where element.name.map({ !written.contains($0) }) ?? true {
                writer.value(element)
            }
        }
    }

    /// Writes the parts of both values, the payload's first, without decoding them.
    ///
    /// Nothing is lost, no part needs an allocation, and the event becomes unrecognized because of their
    /// number.
    ///
    /// An inline member follows the payload's member of the same name and so overrides it, because the last
    /// member of a name is used everywhere.
    private mutating func concatenate(_ inline: JSONValue, behind payload: JSONValue) {
        let (first, second) = (payload.content, inline.content)
        raw { bytes in
            bytes.append(payload.text[payload.text.startIndex])
            append(first, to: &bytes)
            if payload.count > 0 { bytes.append(UInt8(ascii: ",")) }
            append(second, to: &bytes)
            bytes.append(payload.text[payload.text.endIndex - 1])
        }
    }
}

/// Appends tokens, replacing the line breaks between them with spaces: a valid string contains none.
private func append(_ tokens: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
    for byte in tokens { bytes.append(byte == 0x0A || byte == 0x0D ? 0x20 : byte) }
}

extension JSONValue {
    /// The content between a container's brackets or braces.
    fileprivate var content: ArraySlice<UInt8> { text.dropFirst().dropLast() }

    /// An object's members by name; of a repeated name the last member, as everywhere.
    fileprivate var membersByName: [String: JSONValue] {
        var byName = [String: JSONValue](minimumCapacity: count)
        for (key, value) in members { byName[key] = value }
        return byName
    }

    /// The name of a list's element; `nil` when it has none.
    fileprivate var name: String? {
        guard kind == .object else { return nil }
        return first("identifier", "pageIdentifier")?.scalarString
    }

    /// Whether the value is empty: null, or an empty string, list or object.
    fileprivate var isVoid: Bool {
        switch kind {
        case .null: true
        // Empty between the quotation marks.
        case .string: text.count == 2
        case .array, .object: count == 0
        case .number, .boolean: false
        }
    }
}
