import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import Dispatch
import Synchronization

/// A file on its way from Apple into ``AttachmentFiles``, under a temporary name until it is whole.
final class IncomingFile: Sendable {
    private struct State: ~Copyable {
        var file: File?
        var sizeBytes = 0
        var checksum = AttachmentChecksum()
        let hash = SHA256Stream()
        var failure: SystemError?
    }

    private let files: AttachmentFiles
    private let temporary: String
    private let key: AttachmentKey
    private let state = Mutex(State())

    init(files: AttachmentFiles, key: AttachmentKey) throws(SystemError) {
        self.files = files
        self.key = key
        temporary = try files.newPath()
    }

    /// What the disk said when it did not take what came in the last attempt.
    var failure: SystemError? { state.withLock { $0.failure } }

    /// Takes the encrypted file; each attempt begins it anew.
    var sink: ContentSink {
        ContentSink { [self] in
            let cipher = try CipherStream(key)
            try begin()
            return { [self] piece in
                let ciphertext = piece
                cipher.apply(to: &piece)
                try append(piece, of: ciphertext)
            }
        }
    }

    /// Syncs the file, gives it its name and tells what it is; throws when its length is not what was announced.
    func finish(_ reference: StoredReference) async throws(GatewayError) -> DownloadedFile {
        do {
            // Waiting for the disk must not hold a thread of the cooperative pool.
            return try await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(returning: Result { try self.publish(reference) })
                }
            }.get()
        } catch let error as GatewayError {
            throw error
        } catch let error as SystemError {
            throw .notKept(error)
        } catch {
            throw .unreachable(.download, .contentFailed, attempts: 1)
        }
    }

    /// Removes what there is.
    func discard() {
        state.withLock { $0.file = nil }
        // Nothing came, or it has its name already.
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
            state.hash.append(piece)
            state.sizeBytes += piece.count
            do throws(SystemError) { try state.file?.append(piece) } catch {
                state.failure = error
                throw error
            }
        }
    }

    private func publish(_ reference: StoredReference) throws -> DownloadedFile {
        // An empty answer has never opened the sink.
        if state.withLock({ $0.file == nil }) { try begin() }
        let (sizeBytes, checksum, hash) = state.withLock {
            ($0.sizeBytes, $0.checksum.bytes, $0.hash.bytes)
        }
        if let expected = reference.sizeBytes, expected != sizeBytes {
            throw GatewayError.lengthMismatch(expectedBytes: expected, actualBytes: sizeBytes)
        }
        try state.withLock { try $0.file?.synchronize() }
        let sha256 = Hex.encode(hash)
        try files.publish(temporary, as: sha256)
        return DownloadedFile(
            sha256: sha256, sizeBytes: sizeBytes,
            hasExpectedChecksum: Base64.encode(checksum) == reference.signature)
    }
}

/// A file that has arrived.
package struct DownloadedFile: Sendable, Equatable {
    /// The SHA-256 of the content, by which ``AttachmentFiles`` has it.
    package let sha256: String
    /// Its length.
    package let sizeBytes: Int
    /// Whether the encrypted file has the checksum that the message names.
    ///
    /// How Apple computes it is known from iMessage and assumed here, so that a difference is told and refuses nothing.
    package let hasExpectedChecksum: Bool
}
