import BalloonJSON

/// Decodes a payload that `decodePayload` refused, without Apple; returns nil when `payload` has another
/// format.
///
/// The format is not documented; this function is based on observed payloads.
///
/// An archived property list contains the message's URL. The query of that URL has the members of `data`; a
/// member that is an object is JSON in Base64 (`?version=1.0&replyMessage=eyJ0…`). The result is
/// `{"interactiveData": …}`.
func readOffline(_ payload: [UInt8], bid: String) -> [UInt8]? {
    // Bytes throughout, because comparing characters takes time proportional to the square of a run of combining
    // marks.
    guard let list = BinaryPropertyList(payload),
        list.texts.contains(where: { $0.utf8.elementsEqual("NSKeyedArchiver".utf8) })
    else { return nil }
    for text in list.texts where text.utf8.first == UInt8(ascii: "?") {
        let members = queryMembers(text.utf8.dropFirst())
        guard members.contains(where: \.isStructured) else { continue }
        return JSONWriter.object(reservingCapacity: text.utf8.count) { writer in
            writer.object("interactiveData") { writer in
                writer.field("bid", bid)
                writer.object("data") { writer in for member in members { member.write(to: &writer) } }
            }
        }
    }
    return nil
}

/// One parameter of the query.
private struct QueryMember {
    let name: String
    let text: String
    let json: JSONDocument?

    var isStructured: Bool { json != nil }

    func write(to writer: inout JSONWriter) {
        writer.key(name)
        if let json { writer.value(json.root) } else { writer.string(text) }
    }
}

private func queryMembers(_ query: Substring.UTF8View) -> [QueryMember] {
    var names: Set<[UInt8]> = []
    return query.split(separator: UInt8(ascii: "&")).compactMap { parameter in
        guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")),
            let name = percentDecoded(parameter[..<equals]), !name.isEmpty,
            let text = percentDecoded(parameter[parameter.index(after: equals)...]),
            names.insert(Array(name.utf8)).inserted
        else { return nil }
        return QueryMember(name: name, text: text, json: structure(text))
    }
}

/// Returns the JSON object or array that `text` encodes in Base64; nil for any other text.
///
/// Accepts both alphabets of Base64, with or without padding.
private func structure(_ text: String) -> JSONDocument? {
    let (minus, underscore, equals) = (UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="))
    let standard = text.utf8.lazy.filter { $0 != equals }.map {
        $0 == minus ? UInt8(ascii: "+") : $0 == underscore ? UInt8(ascii: "/") : $0
    }
    let unpadded = Array(standard)
    let padded = unpadded + Array(repeating: equals, count: (4 - unpadded.count % 4) % 4)
    // For text that is not Base64 or not JSON, the caller uses the text itself.
    guard let bytes = Base64.decode(String(decoding: padded, as: UTF8.self)),
        let document = try? JSONDocument(bytes),
        [.object, .array].contains(document.root.kind)
    else { return nil }
    return document
}

/// Returns nil for a percent sign without two hexadecimal digits: the parameter is not percent-encoded.
private func percentDecoded(_ text: Substring.UTF8View) -> String? {
    text.percentDecoded().flatMap { String(validating: $0, as: UTF8.self) }
}
