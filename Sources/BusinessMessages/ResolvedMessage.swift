package import BalloonJSON

/// Replaces a payload reference with the content behind it.
///
/// `decoded` is the answer of `decodePayload`: the interactive data itself, or an object with the member
/// `interactiveData`; both forms were observed. The result is `message` with `interactiveData` instead of
/// `interactiveDataRef`; every other member is unchanged. The result is nil when `decoded` is not an object.
/// Apple MSP API, "Decoding Interactive Data Payloads".
///
/// A message may also have an inline `interactiveData` next to the reference, for example a form's
/// selections. The inline value and the decoded value are then merged, objects member by member. Lists of
/// elements with identifiers keep the inline order, and each inline element is merged with the decoded
/// element of the same identifier. When both values exist, the inline value is used unless it is empty.
///
/// When an object repeats a name, its last member is used. When a list repeats an identifier, the first
/// element of each side is merged, and later inline elements stay unchanged. Every value of either side is
/// therefore written at most once. The result is at most as long as both texts plus the new names, and
/// merging takes time proportional to that length. Objects and lists that exceed ``MessageBounds`` are not
/// merged; see `concatenate`.
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
            default: writer.field(key, value)
            }
        }
        if !isPlaced {
            writer.field("interactiveData", payload)
        }
    }
}

extension JSONWriter {
    /// Merges two values and writes the result; `key` is the name of the member or of the list around the value.
    ///
    /// The depth limit of the documents bounds the recursion.
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
            var written: Set<ArraySlice<UInt8>> = []
            var payloads = payload.members
            while let (name, _) = payloads.nextWithBytes() {
                guard written.insert(name).inserted, let value = payloadMembers[name] else { continue }
                let key = String(decoding: name, as: UTF8.self)
                writer.key(key)
                writer.merge(inlineMembers[name], over: value, key: key)
            }
            var inlines = inline.members
            while let (name, _) = inlines.nextWithBytes() {
                guard written.insert(name).inserted, let value = inlineMembers[name] else { continue }
                writer.field(String(decoding: name, as: UTF8.self), value)
            }
        }
    }

    private mutating func mergeLists(_ inline: JSONValue, over payload: JSONValue, key: String) {
        var namesakes: [[UInt8]: JSONValue] = [:]
        for element in payload.elements {
            if let name = element.name, namesakes[name] == nil { namesakes[name] = element }
        }
        array { writer in
            var written: Set<[UInt8]> = []
            for element in inline.elements {
                // Remove the payload's element, so that it is not merged with a second inline element of this
                // identifier.
                guard let name = element.name, let namesake = namesakes.removeValue(forKey: name) else {
                    writer.value(element)
                    continue
                }
                written.insert(name)
                writer.merge(element, over: namesake, key: key)
            }
            // Add the payload's remaining images, because a message refers to images by identifier. Remaining
            // elements of any other list are dropped: they would look like choices that the customer made.
            guard key == "images" else { return }
            for element in payload.elements where element.name.map({ !written.contains($0) }) ?? true {
                writer.value(element)
            }
        }
    }

    /// Writes the parts of two large values one after the other, the payload's first, without decoding them.
    ///
    /// It keeps every part and allocates no memory for a single part. The result has so many parts that the
    /// event later becomes unrecognized.
    ///
    /// An inline member follows the payload's member of the same name and thereby overrides it: of members
    /// with the same name, every reader uses the last.
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

/// Appends JSON text, with spaces in place of line breaks, which occur in valid JSON only between tokens.
private func append(_ tokens: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
    for byte in tokens { bytes.append(byte == 0x0A || byte == 0x0D ? 0x20 : byte) }
}

extension JSONValue {
    /// The content between a container's brackets or braces.
    fileprivate var content: ArraySlice<UInt8> { text.dropFirst().dropLast() }

    /// An object's members by the bytes of their names; when a name is repeated, its last member.
    ///
    /// Names from outside are not hashed as texts; see ``textBytes``.
    fileprivate var membersByName: [ArraySlice<UInt8>: JSONValue] {
        var byName = [ArraySlice<UInt8>: JSONValue](minimumCapacity: count)
        var all = members
        while let (name, value) = all.nextWithBytes() { byName[name] = value }
        return byName
    }

    /// The bytes of the identifier of a list's element; `nil` when it has none.
    fileprivate var name: [UInt8]? {
        guard kind == .object else { return nil }
        return first("identifier", "pageIdentifier")?.scalarString.map { Array($0.utf8) }
    }

    /// Whether the value is empty: null, or an empty string, list or object.
    fileprivate var isVoid: Bool {
        switch kind {
        case .null: true
        // The JSON text of an empty string is its two quotation marks.
        case .string: text.count == 2
        case .array, .object: count == 0
        case .number, .boolean: false
        }
    }
}
