import BalloonJSON
import BalloonPOSIX

/// Finds the contents that lines name: `"sha256":"…"` of a received file, and `"file":"…"` of a sent one.
enum ContentReferences {
    private static let markers = [Array("\"sha256\":\"".utf8), Array("\"file\":\"".utf8)]

    /// Returns the SHA-256 of every content that a text names, each as 64 hexadecimal digits.
    static func hashes(in text: ArraySlice<UInt8>) -> Set<String> {
        var found: Set<String> = []
        for marker in markers {
            var rest = text
            // Quotation marks inside a string are escaped, so a marker is always the name of a member.
            while let place = rest.firstPosition(of: marker) {
                rest = rest[(place + marker.count)...]
                let digits = rest.prefix(64)
                if digits.count == 64, digits.allSatisfy(\.isLowercaseHexDigit),
                    rest.dropFirst(64).first == UInt8(ascii: "\"")
                {
                    found.insert(String(decoding: digits, as: UTF8.self))
                }
            }
        }
        return found
    }
}
