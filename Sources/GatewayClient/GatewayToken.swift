import BalloonJSON
import BalloonWire
import Synchronization

/// Mints the bearer token of our requests and reuses it for at most five minutes.
///
/// The maximum age that Apple accepts is not established; its samples mint a token for each request.
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

    /// The token for a request at `now`, in seconds since 1970; a new one when the clock was set back.
    func token(now: Int) -> String {
        minted.withLock { minted in
            if minted.mintedAt <= now, now - Self.lifetimeSeconds < minted.mintedAt { return minted.token }
            minted = Minted(token: signer.sign(claims(now)), mintedAt: now)
            return minted.token
        }
    }

    /// Drops the current token, so that the next request mints a new one.
    func renew() { minted.withLock { $0 = Minted() } }

    private func claims(_ now: Int) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("iss", mspID)
            writer.field("iat", now)
        }
    }
}
