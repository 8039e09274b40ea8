/// The address of a service: `https://HOST/PATH`, `http://HOST/PATH`, or `unix:SOCKET:/PATH`.
///
/// The first `:/` separates the path of the socket from the path of the request, which is `/` if there is no
/// `:/`.
struct ServiceAddress: Hashable, Sendable {
    /// The URL to request; its host is `localhost` if the service listens on a unix socket.
    let url: String
    /// The socket's path; nil for TCP.
    let socket: String?

    /// Parses an address; nil when the text has none of these forms.
    ///
    /// A socket's relative path starts at `directory`.
    init?(_ text: String, from directory: String = "") {
        guard text.hasPrefix("unix:") else {
            guard text.hasPrefix("https://") || text.hasPrefix("http://") else { return nil }
            (url, socket) = (text, nil)
            return
        }
        let rest = text.dropFirst("unix:".count)
        let bytes = Array(rest.utf8)
        let split = bytes.indices.dropFirst().first { index in
            bytes[index] == UInt8(ascii: ":") && index + 1 < bytes.count
                && bytes[index + 1] == UInt8(ascii: "/")
        }
        let path = split.map { String(decoding: bytes[..<$0], as: UTF8.self) } ?? String(rest)
        let request = split.map { String(decoding: bytes[($0 + 1)...], as: UTF8.self) } ?? "/"
        // The size limit of `sun_path` (unix(7)).
        guard (1...107).contains(path.utf8.count), !request.utf8.contains(where: { $0 <= 0x20 }) else {
            return nil
        }
        let isAbsolute = path.hasPrefix("/") || directory.isEmpty
        (url, socket) = ("http://localhost" + request, isAbsolute ? path : directory + "/" + path)
    }
}
