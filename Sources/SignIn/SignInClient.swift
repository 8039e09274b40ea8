import BalloonJSON
package import BalloonPOSIX
package import BalloonTransport
import BalloonWire

/// The client of identity providers: exchanges codes, verifies id_tokens, and asks for claims.
///
/// One client serves all businesses, so that they share discovery documents and keys. It keeps no secret of a request.
package final class SignInClient: Sendable {
    /// The maximum bytes of a provider's answer.
    package static let maximumAnswerBytes = 1 << 20
    /// The time before the caller's deadline that stays free for recording the result and answering.
    package static let reservedTime = Duration.seconds(1)

    let calls: ProviderCalls
    let threads: PublicKeyThreads
    private let clock: TimeSource
    private let discovery: DocumentCache<ProviderMetadata>
    private let keys: DocumentCache<JSONWebKeys>

    /// Creates a client that sends through `transport`, or through a new `CurlTransport` when `transport` is
    /// nil.
    ///
    /// Throws when the process has no file descriptors left for a new transport.
    package init(
        transport: (any HTTPTransport)? = nil, threads: PublicKeyThreads = .shared,
        clock: TimeSource = .system
    ) throws(TransportError) {
        let transport: any HTTPTransport = if let transport { transport } else { try CurlTransport() }
        calls = ProviderCalls(transport: transport)
        self.threads = threads
        self.clock = clock
        discovery = DocumentCache(of: .discovery, keepsOldCopy: true, clock: clock)
        keys = DocumentCache(of: .keys, keepsOldCopy: false, clock: clock)
    }

    /// Checks a callback's `iss` before the caller consumes the callback's state.
    ///
    /// Throws a failure with code 400, or a failure of discovery. `deadline` is the deadline of the whole
    /// callback. The provider gets no request except for its discovery document.
    package func checkIssuer(
        of callback: SignInCallback, for attempt: SignInAttempt, at provider: Provider,
        before deadline: ContinuousClock.Instant
    ) async throws(SignInFailure) {
        let deadline = deadline - Self.reservedTime
        let provider = try await completed(provider, isOpenID: attempt.isOpenID, before: deadline)
        try callback.checkIssuer(provider.issuer, isAnnounced: provider.namesIssuerInCallbacks ?? false)
    }

    /// Exchanges the callback's code and returns the customer's identity at the provider.
    ///
    /// Call it only once for each state, after consuming the state. It ends one second before `deadline`,
    /// which is 20 seconds after the callback began. Steps: `iss`, the provider's error, exchange, id_token,
    /// userinfo.
    package func exchange(
        _ callback: SignInCallback, of attempt: SignInAttempt, at provider: Provider,
        before deadline: ContinuousClock.Instant
    ) async throws(SignInFailure) -> Identity {
        let deadline = deadline - Self.reservedTime
        let provider = try await completed(provider, isOpenID: attempt.isOpenID, before: deadline)
        try callback.checkIssuer(provider.issuer, isAnnounced: provider.namesIssuerInCallbacks ?? false)
        let code = try callback.code()
        let answer = try await redeem(code, attempt, provider, before: deadline)
        let idToken = try await verifiedIDToken(answer.idToken, attempt, provider, before: deadline)
        let userinfo = try await userinfo(
            answer.accessToken, isRequired: !attempt.isOpenID, provider, before: deadline)
        return try identity(idToken?.root, userinfo?.root, provider, answer)
    }

    private func identity(
        _ idToken: JSONValue?, _ userinfo: JSONValue?, _ provider: Provider, _ answer: TokenAnswer
    ) throws(SignInFailure) -> Identity {
        let name = idToken == nil ? provider.subjectClaim : "sub"
        guard let subject = subject(idToken?[name] ?? userinfo?[name]) else {
            throw .answerRefused(.userinfo, .missing(.subject))
        }
        // OpenID Connect Core §5.3.2: without this, userinfo of another person could be substituted.
        if idToken != nil, let userinfo, userinfo["sub"]?.equals(subject) != true {
            throw .subjectDiffers(.userinfo)
        }
        return Identity(
            issuer: provider.issuer ?? provider.userinfoURL ?? "", subject: subject,
            claims: mergedClaims(userinfo: userinfo, idToken: idToken),
            tokens: provider.returnsTokens ? answer.tokens() : nil)
    }

    /// Returns the provider with its addresses; uses discovery when the configuration lacks an address that
    /// the server must call.
    func completed(
        _ provider: Provider, isOpenID: Bool, before deadline: ContinuousClock.Instant
    ) async throws(SignInFailure) -> Provider {
        guard provider.needsDiscovery(isOpenID: isOpenID) else { return provider }
        return provider.completed(by: try await discovered(of: provider, before: deadline))
    }

    /// The content of the provider's discovery document, from the cache when it is fresh.
    func discovered(
        of provider: Provider, before deadline: ContinuousClock.Instant
    ) async throws(SignInFailure) -> ProviderMetadata {
        guard let issuer = provider.issuer, let url = provider.discoveryURL else {
            throw .addressMissing(.discovery)
        }
        let request = try request(to: url, for: .discovery, provider)
        return try await discovery.document(at: url, before: deadline) { [calls] in
            await Self.fetched(.discovery, request, calls) { document throws(SignInFailure) in
                try ProviderMetadata(discovered: document, issuer: issuer)
            }
        }
    }

    private func redeem(
        _ code: String, _ attempt: SignInAttempt, _ provider: Provider,
        before deadline: ContinuousClock.Instant
    ) async throws(SignInFailure) -> TokenAnswer {
        let url = try request(to: provider.tokenURL, for: .token, provider).url
        let request = exchangeRequest(
            code, attempt, provider, to: url, assertion: try await assertion(provider, tokenURL: url))
        do {
            let document = try await calls.object(.token, request, before: deadline)
            return try TokenAnswer(document, isOpenID: attempt.isOpenID)
        } catch .providerError(.token, .invalidGrant) {
            throw .grantRefused(usesPKCE: attempt.verifier != nil)
        }
    }

    private func assertion(_ provider: Provider, tokenURL: String) async throws(SignInFailure) -> String? {
        guard case .privateKeyJWT(let key, let keyID) = provider.clientAuthentication else { return nil }
        let claims = assertionClaims(
            clientID: provider.clientID, audience: provider.issuer ?? tokenURL,
            now: clock.milliseconds() / 1000)
        // Signing fails only when memory is exhausted.
        guard let token = await threads.run({ try? key.sign(claims, keyID: keyID) }) else {
            throw .overloaded
        }
        return token
    }

    private func verifiedIDToken(
        _ token: String?, _ attempt: SignInAttempt, _ provider: Provider,
        before deadline: ContinuousClock.Instant
    ) async throws(SignInFailure) -> JSONDocument? {
        guard let token else { return nil }
        guard let issuer = provider.issuer else { throw .addressMissing(.discovery) }
        let rules = IDTokenRules(
            issuer: issuer, clientID: provider.clientID, otherAudiences: provider.otherAudiences,
            algorithms: provider.idTokenAlgorithms, nonce: attempt.nonce)
        do {
            return try await verify(
                token, rules, keys(of: provider, refetching: false, before: deadline))
        } catch .idTokenRefused(.unknownKey) {
            // The provider may have changed its keys after they were cached: fetch them again.
            return try await verify(
                token, rules, keys(of: provider, refetching: true, before: deadline))
        }
    }

    private func verify(
        _ token: String, _ rules: IDTokenRules, _ keys: JSONWebKeys
    ) async throws(SignInFailure) -> JSONDocument {
        let now = clock.milliseconds() / 1000
        let outcome = await threads.run {
            Result { () throws(IDTokenRefusal) in try rules.verify(token, with: keys, at: now) }
        }
        guard let outcome else { throw .overloaded }
        switch outcome {
        case .success(let document): return document
        case .failure(let refusal): throw .idTokenRefused(refusal)
        }
    }

    func keys(
        of provider: Provider, refetching: Bool, before deadline: ContinuousClock.Instant
    ) async throws(SignInFailure) -> JSONWebKeys {
        let request = try request(to: provider.jwksURL, for: .keys, provider)
        return try await keys.document(at: request.url, refetching: refetching, before: deadline) { [calls] in
            await Self.fetched(.keys, request, calls) { document throws(SignInFailure) in
                guard let keys = JSONWebKeys(document) else { throw .answerRefused(.keys, .missing(.keys)) }
                return keys
            }
        }
    }

    func userinfo(
        _ accessToken: String, isRequired: Bool, _ provider: Provider,
        before deadline: ContinuousClock.Instant
    ) async throws(SignInFailure) -> JSONDocument? {
        guard isRequired || provider.userinfoURL != nil else { return nil }
        var request = try request(to: provider.userinfoURL, for: .userinfo, provider)
        request.headers.append((name: "authorization", value: "Bearer " + accessToken))
        return try await calls.object(.userinfo, request, before: deadline)
    }

    /// Creates a request to an address of the provider; throws when the address is missing or not allowed.
    private func request(
        to url: String?, for call: ProviderCall, _ provider: Provider
    ) throws(SignInFailure) -> TransportRequest {
        guard let url, isProviderAddress(url, allowsLoopback: provider.allowsLoopback) else {
            throw .addressMissing(call)
        }
        return TransportRequest(url: url, allowsPlainHTTP: provider.allowsLoopback)
    }

    /// Fetches a document for all waiting callers; only the time limit of the call applies, not a caller's
    /// deadline.
    private static func fetched<Document>(
        _ call: ProviderCall, _ request: TransportRequest, _ calls: ProviderCalls,
        _ read: @Sendable (JSONDocument) throws(SignInFailure) -> Document
    ) async -> Result<FetchedDocument<Document>, SignInFailure> {
        do throws(SignInFailure) {
            let fetched = try await calls.fetch(call, request, before: .now + call.limit)
            // Keep keys as long as the answer allows. Keep discovery for a day, because its addresses rarely
            // change.
            let lifetime =
                call == .keys ? fetched.lifetime : FetchedDocument<Document>.maximumLifetime
            return .success(FetchedDocument(document: try read(fetched.document), lifetime: lifetime))
        } catch {
            return .failure(error)
        }
    }
}
