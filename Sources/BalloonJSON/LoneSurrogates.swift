/// Replaces each escaped surrogate without its partner in a JSON text by `\ufffd`; all other bytes stay.
///
/// RFC 8259 §8.2 allows half a surrogate pair, and leaves open what a reader does with it: jq 1.6 refuses the whole
/// text.
package func replaceLoneSurrogates(in json: inout [UInt8]) {
    var at = 0
    // Only a string contains a backslash, and another character follows each (RFC 8259 §7).
    while let backslash = json[at...].firstIndex(of: UInt8(ascii: "\\")) {
        at = min(backslash + 2, json.count)
        guard let unit = escapedSurrogate(in: json, at: backslash) else { continue }
        at = backslash + 6
        if unit < 0xDC00, let low = escapedSurrogate(in: json, at: at), low >= 0xDC00 {
            at += 6
        } else {
            json.replaceSubrange(backslash..<at, with: #"\ufffd"#.utf8)
        }
    }
}

/// Returns the surrogate whose escape starts at this place; nil for any other text.
private func escapedSurrogate(in json: [UInt8], at place: Int) -> UInt32? {
    guard json.count - place >= 6, json[place] == UInt8(ascii: "\\"), json[place + 1] == UInt8(ascii: "u"),
        json[place + 2] | 0x20 == UInt8(ascii: "d")
    else { return nil }
    let unit = codeUnit(json[(place + 2)...])
    return 0xD800...0xDFFF ~= unit ? unit : nil
}
