import BalloonTLS
import Dispatch
import Glibc
import TestSupport
import Testing

@Suite struct TLSCredentialsTests {
    @Test(arguments: [
        ("missing.pem", "key.pem", "No such file or directory"),
        ("certificate.pem", "missing.pem", "No such file or directory"),
        ("certificate.pem", "other-key.pem", "key values mismatch"), ("key.pem", "key.pem", "no start line"),
        ("certificate.pem", "certificate.pem", "unsupported"),
        ("certificate.pem", "locked-key.pem", "bad decrypt"),
    ])
    func `unusable certificate or key files are refused with a reason`(
        _ certificate: String, _ key: String, _ expected: String
    ) throws {
        do throws(TLSError) {
            _ = try TLSCredentials(certificateFile: fixture(certificate), keyFile: fixture(key))
            Issue.record("accepted")
        } catch {
            guard case .badCredentials(let reason) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(reason == expected)
        }
    }

    @Test func `a reload of invalid files keeps the previous certificate and key`() throws {
        let directory = TemporaryDirectory()
        let certificate = directory.file("certificate.pem")
        try write(Fixture.bytes("tls/certificate.pem"), to: certificate)
        let credentials = try TLSCredentials(certificateFile: certificate, keyFile: fixture("key.pem"))
        try write(Array("broken".utf8), to: certificate)
        #expect(throws: TLSError.self) { try credentials.reload() }
        _ = try credentials.makeSession()
        try write(Fixture.bytes("tls/certificate.pem"), to: certificate)
        try credentials.reload()
    }

    @Test func `new connections do not wait for a reload`() throws {
        let directory = TemporaryDirectory()
        let certificate = directory.file("certificate.pem")
        try write(Fixture.bytes("tls/certificate.pem"), to: certificate)
        let credentials = try TLSCredentials(certificateFile: certificate, keyFile: fixture("key.pem"))
        try #require(unlink(certificate) == 0 && mkfifo(certificate, 0o600) == 0)
        let isReloaded = DispatchSemaphore(value: 0)
        // Use separate queues: the global queue has one thread per processor, and the tasks of other tests
        // may occupy all of them.
        DispatchQueue(label: "reload").async {
            #expect(throws: TLSError.self) { try credentials.reload() }
            isReloaded.signal()
        }
        // This call returns when the reload has opened the pipe; the reload then waits for the first byte.
        let writer = open(certificate, O_WRONLY)
        let hasSession = DispatchSemaphore(value: 0)
        DispatchQueue(label: "session").async {
            #expect(throws: Never.self) { _ = try credentials.makeSession() }
            hasSession.signal()
        }
        #expect(hasSession.wait(timeout: .now() + 60) == .success)
        close(writer)
        isReloaded.wait()
    }

    @Test func `a client without TLS is refused with an alert`() throws {
        let credentials = try TLSCredentials(
            certificateFile: fixture("certificate.pem"), keyFile: fixture("key.pem"))
        let session = try credentials.makeSession()
        var plain = [UInt8](repeating: 0, count: 100_000)
        // A handshake record with an undefined message type.
        let request: [UInt8] = [22, 3, 1, 0, 5, 99, 0, 0, 1, 0]
        #expect(throws: TLSError.protocolFailure) {
            _ = try session.open(request, count: request.count, into: &plain)
        }
        var replies: [UInt8] = []
        session.takeReplies(into: &replies)
        // RFC 8446 §5.1: an alert is a record of type 21.
        #expect(replies.first == 21)
        #expect(throws: TLSError.protocolFailure) { try session.seal([1], into: &replies) }
    }

    private func fixture(_ name: String) -> String { Fixture.directory + "/tls/" + name }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let file = try #require(fopen(path, "wb"))
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }
}
