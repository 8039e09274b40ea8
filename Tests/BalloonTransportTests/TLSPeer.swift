import COpenSSL
import Dispatch
import Glibc
import TestSupport

/// A TLS server on a loopback port, serving connections in sequence; it may request a certificate and choose
/// HTTP/2.
final class TLSPeer: Sendable {
    /// The record of one connection.
    struct Seen: Sendable {
        /// The subject of the client's certificate, as one line; nil without a certificate.
        var client: String?
        /// The protocols that the client offered, in order.
        var offered: String
        /// The first received bytes.
        var request: [UInt8]
    }

    let port: UInt16
    let connections: AsyncStream<Seen>
    private let listener: Int32

    /// Answers the bytes of each connection with `answer`; with `clients` it requires a certificate signed by
    /// that file.
    init(
        clients: String? = nil, speaksHTTP2: Bool = false,
        answer: @escaping @Sendable ([UInt8]) -> [UInt8]?
    ) {
        let (stream, continuation) = AsyncStream.makeStream(of: Seen.self)
        connections = stream
        (listener, port) = loopbackSocket(backlog: 16)
        DispatchQueue(label: "tls-peer").async { [listener] in
            guard let context = SSL_CTX_new(TLS_server_method()) else { return }
            let folder = Fixture.directory + "/tls/"
            SSL_CTX_use_certificate_file(context, folder + "certificate.pem", SSL_FILETYPE_PEM)
            SSL_CTX_use_PrivateKey_file(context, folder + "key.pem", SSL_FILETYPE_PEM)
            if let clients {
                SSL_CTX_load_verify_locations(context, clients, nil)
                SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
            }
            SSL_CTX_set_alpn_select_cb(context, speaksHTTP2 ? selectHTTP2 : selectHTTP1, nil)
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { break }
                if let seen = serve(descriptor, context, answer) { continuation.yield(seen) }
                close(descriptor)
            }
            SSL_CTX_free(context)
            close(listener)
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// The URL with the certificate's name.
    var url: String { "https://localhost:\(port)/" }
}

private func serve(
    _ descriptor: Int32, _ context: OpaquePointer, _ answer: ([UInt8]) -> [UInt8]?
) -> TLSPeer.Seen? {
    guard let session = SSL_new(context) else { return nil }
    defer { SSL_free(session) }
    SSL_set_fd(session, descriptor)
    guard SSL_accept(session) == 1 else { return nil }
    var seen = TLSPeer.Seen(client: nil, offered: "", request: [])
    if let certificate = SSL_get1_peer_certificate(session) {
        if let line = X509_NAME_oneline(X509_get_subject_name(certificate), nil, 0) {
            seen.client = String(cString: line)
            free(line)
        }
        X509_free(certificate)
    }
    var chosen: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    SSL_get0_alpn_selected(session, &chosen, &length)
    if let chosen {
        seen.offered = String(decoding: UnsafeBufferPointer(start: chosen, count: Int(length)), as: UTF8.self)
    }
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
        let count = SSL_read(session, &buffer, Int32(buffer.count))
        guard count > 0 else { break }
        seen.request += buffer[..<Int(count)]
        guard let bytes = answer(seen.request) else { continue }
        SSL_write(session, bytes, Int32(bytes.count))
        // Read until the client closes.
        while SSL_read(session, &buffer, Int32(buffer.count)) > 0 {}
        break
    }
    return seen
}

private typealias Selection =
    @convention(c) (
        OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?,
        UnsafePointer<UInt8>?, UInt32, UnsafeMutableRawPointer?
    ) -> Int32

private let selectHTTP2: Selection = { _, chosen, length, offered, count, _ in
    select("h2", chosen, length, offered, count)
}

private let selectHTTP1: Selection = { _, chosen, length, offered, count, _ in
    select("http/1.1", chosen, length, offered, count)
}

/// Chooses the protocol `name` if the client offered it.
///
/// The offer is a list of names, each preceded by its length (RFC 7301 §3.1).
private func select(
    _ name: String, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ length: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ count: UInt32
) -> Int32 {
    guard let offered else { return SSL_TLSEXT_ERR_NOACK }
    var position = 0
    while position < Int(count) {
        let size = Int(offered[position])
        let text = String(
            decoding: UnsafeBufferPointer(start: offered + position + 1, count: size), as: UTF8.self)
        if text == name {
            chosen?.pointee = offered + position + 1
            length?.pointee = UInt8(size)
            return SSL_TLSEXT_ERR_OK
        }
        position += 1 + size
    }
    return SSL_TLSEXT_ERR_NOACK
}
