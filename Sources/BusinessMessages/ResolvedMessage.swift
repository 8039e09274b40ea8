package import BalloonJSON

/// Puts the content behind a payload reference in the reference's place.
///
/// `decoded` is what `decodePayload` answered: the interactive data itself, or an object that holds it as
/// `interactiveData`; both were seen. The result is `message` with `interactiveData` where
/// `interactiveDataRef` stood, every other member as it was. An inline `interactiveData` beside the reference
/// (a form's selections) is merged: objects member by member; lists of identified elements in the inline
/// order, each with its namesake; where both have a value the inline one stays, unless it is empty. `nil`
/// when `decoded` is not an object. Apple MSP API, "Decoding Interactive Data Payloads".
///
/// Where a name is not unique, the last member of an object counts, and in a list the first element of each side: these
/// two are merged, and later inline ones stay as they are. So every value of either side is written at most once: the
/// result is no longer than both texts together and the names that are new, and takes time in proportion to them.
/// A container that ``MessageBounds`` does not let be read is not merged; see `concatenate`.
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
    /// Writes one value made of two; `key` is the member's name, or that of the list it is in.
    ///
    /// Recursion ends with the documents' own depth limit.
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
                // Taken out, so that no second element of the name grows by the same namesake.
                guard let name = element.name, let namesake = namesakes.removeValue(forKey: name) else {
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

    /// Writes the parts of both, the payload's first, without looking at them: nothing is lost, nothing is allocated for
    /// a part, and the event is unrecognized for their number.
    ///
    /// An inline member stands behind its namesake and so counts before it, as the last of a name does everywhere.
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

/// Appends tokens with the line breaks between them as spaces: a valid string holds none.
private func append(_ tokens: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
    for byte in tokens { bytes.append(byte == 0x0A || byte == 0x0D ? 0x20 : byte) }
}

extension JSONValue {
    /// What stands between a container's brackets or braces.
    fileprivate var content: ArraySlice<UInt8> { text.dropFirst().dropLast() }

    /// An object's members by name; of a name that is not unique the last, which counts everywhere else too.
    fileprivate var membersByName: [String: JSONValue] {
        var byName = [String: JSONValue](minimumCapacity: count)
        for (key, value) in members { byName[key] = value }
        return byName
    }

    /// What an element of a list is called by; `nil` when it has no name.
    fileprivate var name: String? {
        guard kind == .object else { return nil }
        return first("identifier", "pageIdentifier")?.scalarString
    }

    /// Whether it says nothing: null, or an empty string, list or object.
    fileprivate var isVoid: Bool {
        switch kind {
        case .null: true
        // Nothing between the quotation marks.
        case .string: text.count == 2
        case .array, .object: count == 0
        case .number, .boolean: false
        }
    }
}
