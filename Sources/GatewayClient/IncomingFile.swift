import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import Dispatch
import Synchronization

/// A download from Apple into ``AttachmentFiles``, under a temporary name until it is complete.
final class IncomingFile: Sendable {
    private struct State: ~Copyable {
        var file: File?
        var sizeBytes = 0
        var checksum = AttachmentChecksum()
        var hash = SHA256()
        var failure: SystemError?
    }

    private let hold: ContentHold
    private let temporary: String
    private let key: AttachmentKey
    private let state = Mutex(State())

    init(_ hold: ContentHold, key: AttachmentKey) throws(SystemError) {
        self.hold = hold
        self.key = key
        temporary = try hold.files.newPath()
    }

    /// The disk error of the last attempt; nil when there was none.
    var failure: SystemError? { state.withLock { $0.failure } }

    /// The sink that receives the encrypted file and decrypts it into the temporary file.
    ///
    /// Each attempt to download starts with an empty file.
    var sink: ContentSink {
        ContentSink { [self] in
            let cipher = try AES256CTR(key: key.secret)
            try begin()
            return { [self] piece in
                let ciphertext = piece
                cipher.apply(to: &piece)
                try append(piece, of: ciphertext)
            }
        }
    }

    /// Syncs and renames the file, and returns its description.
    ///
    /// Throws when the length of the file differs from the length in the message.
    func finish(_ reference: StoredReference) async throws(GatewayError) -> DownloadedFile {
        do {
            // Syncing blocks its thread, so it must not run on a thread of the cooperative pool.
            return try await DispatchQueue.global().run { try self.publish(reference) }
        } catch let error as GatewayError {
            throw error
        } catch let error as SystemError {
            throw .notKept(error)
        } catch {
            throw .unreachable(.download, .contentFailed, attempts: 1)
        }
    }

    /// Removes the partial file.
    func discard() {
        state.withLock { $0.file = nil }
        // The removal fails when no byte arrived or when the file was renamed already; in both cases there is
        // nothing to remove.
        try? Directory.remove(temporary)
    }

    private func begin() throws(SystemError) {
        discard()
        do throws(SystemError) {
            let file = try File(temporary, for: .creating)
            state.withLock { $0 = State(file: file) }
        } catch {
            state.withLock { $0.failure = error }
            throw error
        }
    }

    private func append(_ piece: [UInt8], of ciphertext: [UInt8]) throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            state.checksum.append(ciphertext)
            state.hash.update(piece.span)
            state.sizeBytes += piece.count
            do throws(SystemError) { try state.file?.append(piece) } catch {
                state.failure = error
                throw error
            }
        }
    }

    private func publish(_ reference: StoredReference) throws -> DownloadedFile {
        // The transport does not open the sink for an empty answer, so create the empty file here.
        if state.withLock({ $0.file == nil }) { try begin() }
        let (sizeBytes, checksum, hash) = state.withLock {
            ($0.sizeBytes, $0.checksum.bytes, $0.hash.digest)
        }
        if let expected = reference.sizeBytes, expected != sizeBytes {
            throw GatewayError.lengthMismatch(expectedBytes: expected, actualBytes: sizeBytes)
        }
        try state.withLock { try $0.file?.synchronize() }
        let sha256 = Hex.encode(hash)
        try hold.files.publish(temporary, as: sha256, into: hold)
        return DownloadedFile(
            sha256: sha256, sizeBytes: sizeBytes,
            hasExpectedChecksum: Base64.encode(checksum) == reference.signature)
    }
}

/// A completed download.
package struct DownloadedFile: Sendable, Equatable {
    /// The SHA-256 of the content, which is the name of the file in ``AttachmentFiles``.
    package let sha256: String
    /// The file's length in bytes.
    package let sizeBytes: Int
    /// Whether the encrypted file has the checksum that the message states.
    ///
    /// Apple does not document the algorithm for these files; iMessage uses this one. A difference is therefore
    /// reported, and the file is kept.
    package let hasExpectedChecksum: Bool
}
