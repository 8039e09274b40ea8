import BalloonJSON
import BalloonPOSIX
import BalloonWire
import RetentionClient
import RetentionMessages
import Synchronization

/// Verifies the questions of the App Store: cheap checks first, then the chain, then the signature.
///
/// Signatures and chains are verified on the threads of `PublicKeyThreads`, never on a shard.
final class QuestionVerifier: Sendable {
    /// The maximum difference between the claim `signedDate` and now, in milliseconds.
    static let tolerance = 300_000

    private let threads: PublicKeyThreads
    private let clock: TimeSource
    private let chains = Mutex(ChainCache())

    init(threads: PublicKeyThreads = .shared, clock: TimeSource = .system) {
        self.threads = threads
        self.clock = clock
    }

    /// Verifies a request's body and returns its question.
    ///
    /// The certificates of the body must lead to the root certificate of the app's configuration.
    func verify(
        _ body: ArraySlice<UInt8>, for app: AppConfiguration, _ environment: RetentionEnvironment
    ) async throws(RetentionRefusal) -> RetentionRequest {
        let token = try Self.token(in: body)
        let request = try Self.request(in: token)
        guard request.environment == environment else { throw .environment }
        // Do not compare the number in the sandbox, which sends another number or 0 for some apps.
        guard environment == .sandbox || request.appAppleID == app.identity.appleID else { throw .app }
        let (difference, overflow) = request.signedMilliseconds
            .subtractingReportingOverflow(clock.milliseconds())
        guard !overflow, difference.magnitude <= UInt(Self.tolerance) else { throw .date }
        try await verify(token, app.root, seconds: request.signedMilliseconds / 1000)
        return request
    }

    private static func token(in body: ArraySlice<UInt8>) throws(RetentionRefusal) -> CertifiedToken {
        // The error of the parser is dropped, because the sender gets only the status.
        guard let root = (try? JSONDocument(Array(body)))?.root, root.kind == .object else { throw .body }
        let payloads = root.members.filter { $0.key == "signedPayload" }
        guard payloads.count == 1, let text = payloads[0].value.string else { throw .body }
        do throws(WireError) { return try CertifiedToken(text) } catch {
            throw error == .tokenMalformed ? .token : .header(error)
        }
    }

    private static func request(in token: CertifiedToken) throws(RetentionRefusal) -> RetentionRequest {
        guard let claims = (try? JSONDocument(token.claims))?.root else { throw .claims(.notAnObject) }
        do throws(RetentionRequest.Defect) { return try RetentionRequest(claims: claims) } catch {
            throw .claims(error)
        }
    }

    private func verify(
        _ token: CertifiedToken, _ root: RootCertificate, seconds: Int
    ) async throws(RetentionRefusal) {
        let id = ChainCache.ID(root: root, chain: token.chain)
        let now = clock.uptime()
        let known: PublicKey?
        switch chains.withLock({ $0.look(up: id, at: now) }) {
        case .verified(let key): known = key
        case .unverified: known = nil
        case .refused: throw .tooManyChains
        }
        let result = await threads.run { () -> Result<PublicKey, RetentionRefusal> in
            do throws(WireError) {
                let key =
                    if let known { known } else { try root.verify(token.chain, at: seconds, for: .appStore) }
                return token.isSigned(by: key) ? .success(key) : .failure(.signature)
            } catch {
                if case .chainRefused(let defect) = error { return .failure(.chain(defect)) }
                return .failure(.chain(.malformed))
            }
        }
        switch result {
        case nil: throw .queueFull
        case .success(let key)?:
            if known == nil { chains.withLock { $0.keep(id, key, at: now) } }
        case .failure(let refusal)?:
            if case .chain = refusal { chains.withLock { $0.remove(id) } }
            throw refusal
        }
    }
}
