import BalloonJSON
import BalloonWire
import Synchronization

/// The bearer token of our requests, which is minted anew after at most five minutes.
///
/// The maximum age that Apple accepts is not known; Apple's samples mint a token for each request.
final class GatewayToken: Sendable {
    private struct State {
        var signer: TokenSigner
        var token = ""
        var mintedAt = Int.min
    }

    private static let lifetimeSeconds = 300

    private let mspID: String
    private let state: Mutex<State>

    init(mspID: String, secret: Secret) {
        self.mspID = mspID
        state = Mutex(State(signer: TokenSigner(secret: secret)))
    }

    /// Signs the tokens of the next requests with another secret.
    func sign(with secret: Secret) {
        let new = TokenSigner(secret: secret)
        state.withLock { $0 = State(signer: new) }
    }

    /// Returns a token for a request at `now`, in seconds since 1970.
    ///
    /// Mints a new token when the current one is five minutes old, or when the clock was set back.
    func token(now: Int) -> String {
        state.withLock { state in
            if state.mintedAt <= now, now - Self.lifetimeSeconds < state.mintedAt { return state.token }
            state.token = state.signer.sign(JSONWriter.object(["iss": mspID, "iat": now]))
            state.mintedAt = now
            return state.token
        }
    }

    /// Drops the current token, so that the next request mints a new one.
    func renew() { state.withLock { $0 = State(signer: $0.signer) } }
}
