import BalloonWire

/// The result of checking a provider's configuration without signing anyone in.
package struct ProviderCheck: Sendable, Equatable {
    /// The address that the customer's device opens; nil when neither the configuration nor discovery has it.
    package let authorizationURL: String?
    /// The address of the token endpoint.
    package let tokenURL: String?
    /// The number of published keys that can verify an id_token; nil without the scope `openid`.
    package let usableKeys: Int?
    /// Whether the provider announces `iss` in its callbacks, but a callback without it would be accepted.
    package let ignoresAnnouncedIssuer: Bool
}

extension SignInClient {
    /// Fetches the discovery document if the configuration needs it, and the keys if the scope has `openid`.
    ///
    /// It sends no secret and concerns no customer. Throws the failure that a sign-in would have, or a
    /// failure when the provider has no usable key.
    package func check(_ provider: Provider) async throws(SignInFailure) -> ProviderCheck {
        let isOpenID = provider.scope.contains("openid")
        let deadline = ContinuousClock.now + .seconds(20)
        let provider = try await completed(provider, isOpenID: isOpenID, before: deadline)
        let announcesIssuer = try await announcesIssuer(provider, before: deadline)
        var usableKeys: Int?
        if isOpenID {
            let keys = try await keys(of: provider, refetching: false, before: deadline)
            let count = keys.entries.count { entry in
                entry.key.map { provider.idTokenAlgorithms.contains($0.algorithm) } ?? false
            }
            guard count > 0 else { throw .answerRefused(.keys, .missing(.keys)) }
            usableKeys = count
        } else if provider.userinfoURL == nil {
            throw .addressMissing(.userinfo)
        }
        guard provider.tokenURL != nil else { throw .addressMissing(.token) }
        return ProviderCheck(
            authorizationURL: provider.authorizationURL, tokenURL: provider.tokenURL,
            usableKeys: usableKeys,
            ignoresAnnouncedIssuer: announcesIssuer && !(provider.namesIssuerInCallbacks ?? false))
    }

    /// Whether the provider's discovery document announces `iss`, also when the configuration has all addresses,
    /// so that no sign-in reads the document.
    ///
    /// Throws when the document names another issuer. A provider with configured addresses may have none.
    private func announcesIssuer(
        _ provider: Provider, before deadline: ContinuousClock.Instant
    ) async throws(SignInFailure) -> Bool {
        do throws(SignInFailure) {
            return try await discovered(of: provider, before: deadline).announcesIssuer
        } catch {
            if case .answerRefused(.discovery, .issuerDiffers) = error { throw error }
            return false
        }
    }
}
