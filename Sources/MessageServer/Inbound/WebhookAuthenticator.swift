import BalloonJSON
import BalloonWire

/// Decides whether a webhook comes from Apple: stage `authenticate` of the data path, with one instance for
/// each shard.
///
/// The header must be `Authorization: Bearer` with an HS256 token that is signed with the MSP's secret and whose
/// claims have no ``ClaimsFault``. The algorithm is always HS256, and the token's header must name it.
final class WebhookAuthenticator {
    private let configuration: CurrentConfiguration
    /// The value of `configuration.changeCount` for which the settings below were read.
    private var changeCount = -1
    /// One verifier for the current secret and, during a change, one for the previous secret.
    private var verifiers: [TokenVerifier] = []
    private let mspID: String
    private var tokenAge = Duration.zero
    /// The claims and their index; every request of the shard reuses their storage.
    private var claims: [UInt8] = []
    private var index = JSONMemory()

    init(_ configuration: CurrentConfiguration) {
        self.configuration = configuration
        mspID = configuration.mspID
    }

    /// Throws unless `authorization`, the header's value, is a valid bearer token; `now` is in seconds since
    /// 1970.
    func authenticate(_ authorization: ArraySlice<UInt8>?, now: Int) throws(InboundRefusal) {
        guard let authorization, let token = bearerToken(authorization) else { throw .missingBearer }
        if changeCount != configuration.changeCount { readSettings() }
        try verify(token)
        // Signed claims that are not JSON are refused; the position of the syntax error is irrelevant.
        guard let claims = try? JSONDocument(claims, reusing: &index) else { throw .badClaims(.notJSON) }
        let fault = ClaimsFault.first(in: claims.root, mspID: mspID, tokenAge: tokenAge, now: now)
        if let fault { throw .badClaims(fault) }
    }

    private func readSettings() {
        // Read the count first: a change during the next lines leads to another reading.
        changeCount = configuration.changeCount
        let secrets = [configuration.secret] + [configuration.previousSecret].compactMap(\.self)
        verifiers = secrets.map { TokenVerifier(secret: $0) }
        tokenAge = configuration.limits.tokenAge
    }

    /// Verifies the signature with the current secret, and during a change of the secret also with the
    /// previous one.
    private func verify(_ token: ArraySlice<UInt8>) throws(InboundRefusal) {
        var failure = WireError.tokenSignatureMismatch
        for verifier in verifiers {
            do throws(WireError) { return try verifier.verify(token, into: &claims) } catch {
                failure = error
                // Any other error does not depend on the secret, so the previous secret would fail too.
                guard error == .tokenSignatureMismatch else { break }
            }
        }
        throw InboundRefusal(failure)
    }
}

/// The token after `Bearer`, which is case-insensitive (RFC 9110 §11.1); nil for other schemes.
func bearerToken(_ authorization: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard authorization.count > 7 else { return nil }
    let scheme = authorization.prefix(6)
    guard scheme.elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 }), authorization[scheme.endIndex] == 0x20
    else { return nil }
    return authorization[(scheme.endIndex + 1)...].drop { $0 == 0x20 }
}
