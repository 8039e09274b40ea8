extension JSONValue {
    /// The line and the column of the value in the document's text.
    ///
    /// Both count from 1. A line ends with a line feed, and each Unicode scalar is one column. Each access
    /// scans the text up to the value.
    public var position: (line: Int, column: Int) {
        textPosition(of: extent.lowerBound, in: storage.bytes)
    }

    /// The offset of the value's first byte in the document's text; a later value has a larger offset.
    package var offset: Int { extent.lowerBound }

    /// The lines and columns of the bytes at `offsets`, which must be in ascending order; see ``position``.
    ///
    /// One scan of the text finds all of them.
    package func positions(ofOffsets offsets: [Int]) -> [(line: Int, column: Int)] {
        textPositions(of: offsets, in: storage.bytes)
    }

    /// The JSON Pointer (RFC 6901) that leads from the document's root to this value; empty for the root.
    ///
    /// Each access walks down the containers from the root. A name of more than 100 characters is shortened and
    /// ends with `…`.
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
                    result += "/" + (isObject ? pointerToken(storage.textBytes(at: child)) : String(position))
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

/// Escapes a member's name for a JSON Pointer (RFC 6901 §3), and shortens a long name.
private func pointerToken(_ name: ArraySlice<UInt8>) -> String {
    shortText(name, maximumScalars: 100).unicodeScalars.reduce(into: "") { result, scalar in
        switch scalar {
        case "~": result += "~0"
        case "/": result += "~1"
        default: result.unicodeScalars.append(scalar)
        }
    }
}

/// Finds the line and the column of the byte at `offset`, both counted from 1.
func textPosition(of offset: Int, in bytes: [UInt8]) -> (line: Int, column: Int) {
    textPositions(of: [offset], in: bytes).first ?? (1, 1)
}

/// Finds the lines and columns of the bytes at `offsets`, which are in ascending order, in one scan.
private func textPositions(of offsets: [Int], in bytes: [UInt8]) -> [(line: Int, column: Int)] {
    var (line, column) = (1, 1)
    var at = 0
    return offsets.map { offset in
        let end = min(offset, bytes.count)
        while at < end {
            let byte = bytes[at]
            if byte == 0x0A {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                // Count a character at its first byte, and ignore its continuation bytes.
                column += 1
            }
            at += 1
        }
        return (line, column)
    }
}
