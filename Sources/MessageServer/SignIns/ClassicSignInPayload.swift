import BalloonJSON
import BalloonWire

/// The secrets of an open sign-in of version 1: the payload of its request in the store.
///
/// `{"state":"…","scope":["email"],"key":"BFz9…","scalar":"…"}`
struct ClassicSignInPayload: Sendable {
    /// The value that the provider returns to the device; the server does not receive it again.
    let state: String
    let scope: [String]
    /// The public key, 97 bytes in Base64: `responseEncryptionKey`.
    let key: String
    /// The private scalar of the key pair.
    let scalar: Secret

    /// Creates a payload with a random state: 24 bytes in Base64, as in Apple's sample.
    init(_ pair: P384KeyPair, scope: [String]) {
        state = Base64.encode(randomBytes(24))
        self.scope = scope
        key = Base64.encode(pair.point)
        scalar = pair.scalar
    }

    init?(_ json: [UInt8]?) {
        // The store wrote this JSON; a damaged payload is treated as a missing request.
        guard let json, let root = (try? JSONDocument(json))?.root, let state = root["state"]?.string,
            let key = root["key"]?.string, let scope = root["scope"],
            let scalar = root["scalar"]?.string.flatMap({ Base64.decode($0) }).flatMap({ try? Secret($0) })
        else { return nil }
        self.state = state
        self.scope = scope.elements.compactMap(\.string)
        self.key = key
        self.scalar = scalar
    }

    var json: [UInt8] {
        JSONWriter.object(["state": state, "scope": scope, "key": key, "scalar": Base64.encode(scalar.bytes)])
    }
}
