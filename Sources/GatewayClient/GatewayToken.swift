import BalloonJSON
import BalloonWire
import Synchronization

/// Mints the bearer token of our requests and uses it again for at most five minutes.
///
/// How old Apple lets a token be is not established; its samples mint one for each request.
final class GatewayToken: Sendable {
    private struct Minted {
        var token = ""
        var mintedAt = Int.min
    }

    private static let lifetimeSeconds = 300

    private let mspID: String
    private let signer: TokenSigner
    private let minted = Mutex(Minted())

    init(mspID: String, secret: Secret) {
        self.mspID = mspID
        signer = TokenSigner(secret: secret)
    }

    /// The token for a request at `now`, in seconds since 1970; a clock that was set back makes a new one.
    func token(now: Int) -> String {
        minted.withLock { minted in
            if minted.mintedAt <= now, now - Self.lifetimeSeconds < minted.mintedAt { return minted.token }
            minted = Minted(token: signer.sign(claims(now)), mintedAt: now)
            return minted.token
        }
    }

    /// Forgets the present token, so that the next request has a new one.
    func renew() { minted.withLock { $0 = Minted() } }

    private func claims(_ now: Int) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("iss", mspID)
            writer.field("iat", now)
        }
    }
}
