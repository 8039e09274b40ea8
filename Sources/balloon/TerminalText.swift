/// Escapes controls, bidirectional overrides and invisible fillers in text from outside, which could move the terminal's
/// cursor, reverse its text or hide in it.
func terminalText(_ text: String) -> String {
    escaped(text) { scalar in
        scalar == "\n" ? "\\n" : "\\u{" + String(scalar.value, radix: 16) + "}"
    }
}

/// Escapes the same characters in a JSON text without line breaks, as RFC 8259 §7 describes.
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
    guard text.unicodeScalars.contains(where: isDeceptive) else { return text }
    return text.reduce(into: "") { result, character in
        // Unicode TR51 §ED-14a: the flags of England, Scotland and Wales are a black flag and tags.
        let isFlag = character.unicodeScalars.first == "\u{1F3F4}"
        for scalar in character.unicodeScalars {
            if isDeceptive(scalar), !(isFlag && ("\u{E0020}"..."\u{E007F}").contains(scalar)) {
                result += escape(scalar)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }
}

/// Whether a character acts on the terminal, reverses text, or is invisible.
///
/// Joiners and marks are invisible too, but emoji and several scripts need them.
private func isDeceptive(_ scalar: Unicode.Scalar) -> Bool {
    switch (scalar, scalar.properties.generalCategory) {
    case (_, .control), (_, .lineSeparator), (_, .paragraphSeparator): true
    // Vowels that no font shows (The Unicode Standard, "Khmer").
    case ("\u{17B4}"..."\u{17B5}", _): true
    case ("\u{200C}", _), ("\u{200D}", _), (_, .nonspacingMark): false
    // The delimiters of interlinear annotations.
    case ("\u{FFF9}"..."\u{FFFB}", _): true
    default: scalar.properties.isDefaultIgnorableCodePoint
    }
}
