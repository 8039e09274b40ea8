import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonWire
import Dispatch

/// The fake provider's answer to each request.
struct FakeProviderEndpoints: Sendable {
    let provider: FakeProvider

    private static let maximumFormBytes = 65_536

    var routes: [HTTPRoute] {
        [
            route(.get, .discovery) { _ in discovery() },
            route(.get, .authorize) { authorizePage($0) },
            route(.post, .authorize) { authorize($0) },
            route(.post, .token) { token($0) },
            route(.get, .keys) { _ in keys() },
            route(.get, .userinfo) { userinfo($0) },
            route(.post, .introspection) { introspection($0) },
        ]
    }

    /// A route that counts requests and applies the faults that concern the endpoint.
    private func route(
        _ method: HTTPMethod, _ endpoint: ProviderEndpoint,
        _ answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse
    ) -> HTTPRoute {
        HTTPRoute(method, endpoint.rawValue, body: .collected(maximumBytes: Self.maximumFormBytes)) {
            request, responder in
            provider.count(endpoint)
            let response = faulty(answer(request), at: endpoint)
            guard let delay = delay(at: endpoint) else { return response }
            DispatchQueue.global().asyncAfter(deadline: .now() + delay.dispatchInterval) {
                responder.respond(response)
            }
            return nil
        }.forLocalCallers
    }

    private func delay(at endpoint: ProviderEndpoint) -> Duration? {
        for case .slow(endpoint, let delay) in provider.faults { return delay }
        return nil
    }

    private func faulty(_ response: HTTPResponse, at endpoint: ProviderEndpoint) -> HTTPResponse {
        for fault in provider.faults {
            switch fault {
            case .fails(endpoint, let code): return FakeProviderPage.failure(code)
            case .html(endpoint): return FakeProviderPage.notice("Maintenance")
            case .large(endpoint, let bytes):
                return HTTPResponse(.ok, json: [UInt8](repeating: 0x20, count: bytes) + Array("{}".utf8))
            case .redirects(endpoint): return redirect(to: (provider.issuer ?? "") + endpoint.rawValue)
            case .truncates(endpoint):
                return HTTPResponse(.ok, json: Array(response.body.prefix(response.body.count / 2)))
            default: continue
            }
        }
        return response
    }

    private func discovery() -> HTTPResponse {
        let issuer = provider.issuer ?? ""
        func url(_ endpoint: ProviderEndpoint) -> String { issuer + endpoint.rawValue }
        let json = JSONWriter.object([
            "issuer": provider.has(.wrongDiscovery) ? issuer + "/other" : issuer,
            "authorization_endpoint": url(.authorize), "token_endpoint": url(.token), "jwks_uri": url(.keys),
            "userinfo_endpoint": url(.userinfo), "introspection_endpoint": url(.introspection),
            "authorization_response_iss_parameter_supported": true, "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "id_token_signing_alg_values_supported": [provider.key.key.publicKey.algorithm.rawValue],
        ])
        return HTTPResponse(.ok, json: json)
    }

    private func keys() -> HTTPResponse {
        let (key, id) = provider.key
        var members = key.publicKey.members
        if provider.has(.idToken(.smallKey)) {
            let modulus = Base64.encode([UInt8](repeating: 0xFF, count: 128), alphabet: .url)
            members = [("kty", "RSA"), ("n", modulus), ("e", "AQAB")]
        }
        let json = JSONWriter.object { writer in
            writer.array("keys") { writer in
                writer.object { writer in
                    for member in members { writer.field(member.name, member.value) }
                    writer.fields(["kid": id, "use": "sig"])
                }
            }
        }
        var fields: [(String, String)] = []
        for case .cachesKeys(let rule) in provider.faults { fields.append(("Cache-Control", rule)) }
        return HTTPResponse(.ok, contentType: "application/json", body: json, fields: fields)
    }

    /// The sign-in page, whose form repeats the parameters of the authorization request in hidden fields.
    private func authorizePage(_ request: HTTPRequest) -> HTTPResponse {
        guard let query = try? HTTPQuery(request.query), let client = query["client_id"],
            provider.isClient(client), query["redirect_uri"]?.isEmpty == false, query["state"] != nil
        else { return FakeProviderPage.failure(400) }
        return FakeProviderPage.signIn(fields: query.parameters.map { ($0.name, $0.value) })
    }

    private func authorize(_ request: HTTPRequest) -> HTTPResponse {
        guard let form = try? HTTPQuery(request.body), let client = form["client_id"],
            provider.isClient(client),
            let redirectURI = form["redirect_uri"], let state = form["state"]
        else { return FakeProviderPage.failure(400) }
        var answer = [("state", provider.has(.changesState) ? changed(state) : state)]
        if provider.has(.denies) || form["deny"] != nil {
            answer.append(("error", "access_denied"))
        } else if form["response_type"] != "code" {
            answer.append(("error", "unsupported_response_type"))
        } else if form["code_challenge"] != nil, form["code_challenge_method"] != "S256" {
            answer.append(("error", "invalid_request"))
        } else {
            let grant = FakeGrant(
                clientID: client, redirectURI: redirectURI, scope: form["scope"] ?? "",
                challenge: form["code_challenge"], nonce: form["nonce"], user: form["username"] ?? "")
            answer.append(("code", provider.newCode(for: grant)))
        }
        if !provider.has(.omitsIssuer), let issuer = provider.issuer {
            answer.append(("iss", provider.has(.wrongIssuer) ? "https://attacker.example" : issuer))
        }
        let query = answer.map { "\($0)=\($1.percentEncoded)" }.joined(separator: "&")
        return redirect(to: redirectURI + (redirectURI.contains("?") ? "&" : "?") + query)
    }

    private func redirect(to url: String) -> HTTPResponse {
        HTTPResponse(
            HTTPStatus(code: 302) ?? .ok, fields: [("Location", url), ("Cache-Control", "no-store")])
    }

    private func token(_ request: HTTPRequest) -> HTTPResponse {
        guard let form = try? HTTPQuery(request.body) else { return refusal("invalid_request") }
        guard let client = provenClient(request, form) else { return refusal("invalid_client") }
        guard form["grant_type"] == "authorization_code" else { return refusal("unsupported_grant_type") }
        guard !provider.has(.refusesGrant), let code = form["code"], let grant = provider.redeem(code),
            grant.clientID == client, grant.redirectURI == form["redirect_uri"],
            isVerified(form["code_verifier"], grant.challenge)
        else { return refusal("invalid_grant") }
        let accessToken = provider.newAccessToken(for: grant)
        provider.record(form["code_verifier"])
        let isOpenID = grant.scope.split(separator: " ").contains("openid") && !provider.has(.omitsIDToken)
        let idToken = isOpenID ? FakeIDToken(grant, provider).encoded : nil
        provider.record(idToken)
        let json = JSONWriter.object([
            "access_token": accessToken, "token_type": "Bearer", "expires_in": 300, "id_token": idToken,
        ])
        return HTTPResponse(.ok, json: json)
    }

    /// The client that the request authenticates; nil when the request authenticates no client.
    private func provenClient(_ request: HTTPRequest, _ form: HTTPQuery) -> String? {
        if let field = request.text("authorization") {
            guard field.hasPrefix("Basic "), let pair = Base64.decode(String(field.dropFirst(6))),
                let colon = pair.firstIndex(of: UInt8(ascii: ":")),
                // Identifier and secret are form-encoded, so parse them like a form field.
                let decoded = try? HTTPQuery(pair[..<colon] + Array("=".utf8) + pair[(colon + 1)...]),
                let parameter = decoded.parameters.first
            else { return nil }
            return provider.isProven(parameter.name, secret: parameter.value) ? parameter.name : nil
        }
        guard let client = form["client_id"] else { return nil }
        let isProven =
            form["client_assertion"].map { provider.isProven(client, assertion: $0) }
            ?? provider.isProven(client, secret: form["client_secret"])
        return isProven ? client : nil
    }

    private func isVerified(_ verifier: String?, _ challenge: String?) -> Bool {
        guard let challenge else { return true }
        return verifier.map { Base64.encode(SHA256.hash($0.utf8), alphabet: .url) } == challenge
    }

    private func refusal(_ error: String) -> HTTPResponse {
        let status: HTTPStatus = error == "invalid_client" ? .unauthorized : .badRequest
        return HTTPResponse(status, json: JSONWriter.object { $0.field("error", error) })
    }

    private func userinfo(_ request: HTTPRequest) -> HTTPResponse {
        guard let field = request.text("authorization"), field.hasPrefix("Bearer "),
            let grant = provider.grant(of: String(field.dropFirst("Bearer ".count)))
        else { return refusal("invalid_client") }
        let json = JSONWriter.object([
            "sub": provider.has(.otherPerson) ? "user-mallory" : grant.subject, "name": grant.user,
            "email": "\(grant.user)@example.com",
        ])
        guard provider.has(.signsUserinfo), let token = try? provider.key.key.sign(json) else {
            return HTTPResponse(.ok, json: json)
        }
        return HTTPResponse(.ok, contentType: "application/jwt", body: Array(token.utf8))
    }

    private func introspection(_ request: HTTPRequest) -> HTTPResponse {
        guard let form = try? HTTPQuery(request.body), provenClient(request, form) != nil else {
            return refusal("invalid_client")
        }
        let grant = provider.has(.inactive) ? nil : form["token"].flatMap(provider.grant(of:))
        let json = JSONWriter.object([
            "active": grant != nil,
            "client_id": provider.has(.otherClient) ? "another-client" : grant?.clientID,
            "sub": grant?.subject,
            "scope": grant?.scope,
        ])
        return HTTPResponse(.ok, json: json)
    }
}

/// The text with the lowest bit of its first byte changed.
private func changed(_ text: String) -> String {
    var bytes = Array(text.utf8)
    if !bytes.isEmpty { bytes[0] ^= 1 }
    return String(decoding: bytes, as: UTF8.self)
}

extension FakeGrant {
    /// The identifier of the user.
    var subject: String { "user-" + user }
}
