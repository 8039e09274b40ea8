/// Escapes control characters in foreign text, which could move the terminal's cursor.
func terminalText(_ text: String) -> String {
    escaped(text) { scalar in
        scalar == "\n" ? "\\n" : "\\u{" + String(scalar.value, radix: 16) + "}"
    }
}

/// Escapes the same characters in a JSON text; only its strings contain any, so that its value is the same (RFC 8259
/// §7).
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
