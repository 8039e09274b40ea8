import BalloonWire
import HandlerKit
import SignIn

extension SignInResult {
    /// The result for a handler; nil when the claims are no JSON object, which the client never writes.
    init?(_ identity: SignIn.Identity) {
        guard let claims = (try? JSONDocument(identity.claims))?.root else { return nil }
        let tokens = identity.tokens.map { tokens in
            Tokens(
                access: text(tokens.accessToken), refresh: tokens.refreshToken.map(text),
                id: tokens.idToken.map(text), expiresInSeconds: tokens.expiresInSeconds)
        }
        self = .signedIn(
            SignInResult.Identity(
                issuer: identity.issuer, subject: identity.subject, claims: claims, tokens: tokens))
    }

    /// The result of version 1 for a handler; nil when its claims are no JSON object, which the client never
    /// writes.
    init?(_ result: ClassicResult) {
        switch result {
        case .signedIn(let identity): self.init(identity)
        case .unverified(let json):
            guard let claims = (try? JSONDocument(json))?.root else { return nil }
            self = .unverified(claims: claims)
        }
    }
}

private func text(_ secret: Secret) -> String { String(decoding: secret.bytes, as: UTF8.self) }
