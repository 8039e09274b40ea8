import BalloonJSON
import SignIn

/// The secrets of an open sign-in: the payload of its request in the store.
///
/// `{"state":"…","verifier":"…","nonce":"…","redirectURI":"https://…","scope":["openid"],"additionalParameters":"…"}`
struct SignInPayload: Sendable {
    let attempt: SignInAttempt
    /// The message's `additionalParameters`.
    let additionalParameters: String?

    init(_ attempt: SignInAttempt, additionalParameters: String?) {
        self.attempt = attempt
        self.additionalParameters = additionalParameters
    }

    init?(_ json: [UInt8]?) {
        // The store wrote this JSON; a damaged payload is treated as a missing request.
        guard let json, let root = (try? JSONDocument(json))?.root, let state = root["state"]?.string,
            let redirectURI = root["redirectURI"]?.string, let scope = root["scope"]
        else { return nil }
        attempt = SignInAttempt(
            state: state, verifier: root["verifier"]?.string, nonce: root["nonce"]?.string,
            redirectURI: redirectURI, scope: scope.elements.compactMap(\.string))
        additionalParameters = root["additionalParameters"]?.string
    }

    var json: [UInt8] {
        JSONWriter.object([
            "state": attempt.state, "verifier": attempt.verifier, "nonce": attempt.nonce,
            "redirectURI": attempt.redirectURI, "scope": attempt.scope,
            "additionalParameters": additionalParameters,
        ])
    }
}
