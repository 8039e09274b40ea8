/// Escapes control and format characters in text from outside, which could move the terminal's cursor or reverse
/// its text.
func terminalText(_ text: String) -> String {
    escaped(text) { scalar in
        scalar == "\n" ? "\\n" : "\\u{" + String(scalar.value, radix: 16) + "}"
    }
}

/// Escapes control and format characters in a JSON text without line breaks, as RFC 8259 §7 describes.
///
/// Only the strings of such a text contain these characters, so its value stays the same.
func terminalJSON(_ json: String) -> String {
    escaped(json) { scalar in
        UTF16.encode(scalar)?.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined() ?? ""
    }
}

private func escaped(_ text: String, _ escape: (Unicode.Scalar) -> String) -> String {
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    return text.unicodeScalars.reduce(into: "") { result, scalar in
        if isControl(scalar) { result += escape(scalar) } else { result.unicodeScalars.append(scalar) }
    }
}

private func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
}
