/// The media types of files that are sent.
package enum MediaType {
    /// The type of a file whose extension is unknown (RFC 2046 §4.5.1).
    static let unknown = "application/octet-stream"

    /// The media type of a file by the extension of its name or path; Apple accepts every type.
    package static func ofFile(named name: String) -> String {
        let parts = name.split(separator: "/").last?.split(separator: ".") ?? []
        guard parts.count > 1, let ending = parts.last else { return unknown }
        return byExtension[ending.lowercased()] ?? unknown
    }
}
