extension JSONValue {
    /// The line and the column of the value in the document's text.
    ///
    /// Both count from 1. A line ends with a line feed, and each Unicode scalar is one column. Each access
    /// scans the text up to the value.
    public var position: (line: Int, column: Int) {
        textPosition(of: extent.lowerBound, in: storage.bytes)
    }

    /// The JSON Pointer (RFC 6901) that leads from the document's root to this value; empty for the root.
    ///
    /// Each access walks down the containers from the root.
    public var pointer: String {
        let tape = storage.tape
        var result = ""
        var container = 0
        while container < index {
            let isObject = tape.tag(at: container) == .object
            var child = container + 2
            var position = 0
            while true {
                let value = isObject ? child + 1 : child
                let end = tape.end(of: value)
                if index < end {
                    result += "/" + (isObject ? pointerToken(storage.string(at: child)) : String(position))
                    container = value
                    break
                }
                child = end
                position += 1
            }
        }
        return result
    }
}

/// Escapes a member's name for a JSON Pointer (RFC 6901 §3).
private func pointerToken(_ name: String) -> String {
    name.unicodeScalars.reduce(into: "") { result, scalar in
        switch scalar {
        case "~": result += "~0"
        case "/": result += "~1"
        default: result.unicodeScalars.append(scalar)
        }
    }
}

/// Finds the line and the column of the byte at `offset`, both counted from 1.
func textPosition(of offset: Int, in bytes: [UInt8]) -> (line: Int, column: Int) {
    var (line, column) = (1, 1)
    for byte in bytes.prefix(offset) {
        if byte == 0x0A {
            line += 1
            column = 1
        } else if byte & 0xC0 != 0x80 {
            // Count a character at its first byte, and ignore its continuation bytes.
            column += 1
        }
    }
    return (line, column)
}
