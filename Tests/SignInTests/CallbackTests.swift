import SignIn
import Testing

@Suite struct CallbackTests {
    private func defect(_ query: String) -> CallbackDefect? {
        do throws(SignInFailure) {
            _ = try SignInCallback(query.utf8)
            return nil
        } catch {
            guard case .callbackMalformed(let defect) = error else { return nil }
            #expect(error.code == 400)
            return defect
        }
    }

    @Test func `a code, an error and the issuer are read`() throws {
        let code = try SignInCallback("code=a%2Bb+c&state=s1&iss=https%3A%2F%2Fid.example&x=1&x=2".utf8)
        #expect(code.outcome == .code("a+b c"))
        #expect(code.state == "s1")
        #expect(code.issuer == "https://id.example")
        let denied = try SignInCallback("error=access_denied&state=s1&error_description=secret".utf8)
        #expect(denied.outcome == .error(.accessDenied))
        #expect(denied.issuer == nil)
        let unknown = try SignInCallback("error=%3Cscript%3E&state=s1".utf8)
        #expect(unknown.outcome == .error(nil))
    }

    @Test(arguments: [
        ("code=a&code=b&state=s", CallbackDefect.repeatedParameter),
        ("code=a&state=s&state=s", .repeatedParameter),
        ("error=a&error=b&state=s", .repeatedParameter),
        ("code=a&state=s&iss=a&iss=b", .repeatedParameter),
        ("code=a&error=b&state=s", .codeAndError),
        ("code=&error=&state=s", .codeAndError),
        ("state=s", .neitherCodeNorError), ("code=&state=s", .neitherCodeNorError),
        ("code=a", .missingState), ("code=a&state=", .missingState), ("", .missingState),
        ("code=a%00b&state=s", .controlCharacter), ("code=a\u{0}&state=s", .controlCharacter),
        ("code=a&state=s%0D%0Ax", .controlCharacter), ("a%00=1&code=a&state=s", .controlCharacter),
        ("code=%&state=s", .malformedEncoding), ("code=%4&state=s", .malformedEncoding),
        ("code=%zz&state=s", .malformedEncoding), ("code=%ff&state=s", .malformedEncoding),
    ])
    func `a malformed query is refused with 400`(query: String, expected: CallbackDefect) {
        #expect(defect(query) == expected)
    }

    @Test func `length and number of parameters are bounded`() {
        let rest = "&state=s"
        let code = String(repeating: "a", count: SignInCallback.maximumBytes - "code=".count - rest.count)
        #expect(defect("code=" + code + rest) == nil)
        #expect(defect("code=a" + code + rest) == .tooLong)
        #expect(defect("code=" + String(repeating: "a", count: 65_536) + rest) == .tooLong)
        let state = String(repeating: "s", count: SignInCallback.maximumStateBytes)
        #expect(defect("code=a&state=" + state) == nil)
        #expect(defect("code=a&state=s" + state) == .tooLong)
        let many = (0..<30).map { "&p\($0)=" }.joined()
        #expect(defect("code=a&state=s" + many) == nil)
        #expect(defect("code=a&state=s&q" + many) == .tooManyParameters)
    }
}

@Suite struct SignInAttemptTests {
    private func provider(pkce: Bool = true, nonce: Bool = true) -> Provider {
        var provider = Provider(
            issuer: "https://id.example", clientID: "c", clientAuthentication: .none, scope: ["openid"])
        provider.usesPKCE = pkce
        provider.usesNonce = nonce
        return provider
    }

    @Test func `state, verifier and nonce are different 43 characters of Base64url each time`() {
        var seen: Set<String> = []
        for _ in 0..<100 {
            let attempt = SignInAttempt(at: provider(), redirectURI: "https://a.example/cb")
            for text in [attempt.state, attempt.verifier ?? "", attempt.nonce ?? ""] {
                #expect(text.utf8.count == 43)
                #expect(text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) })
                #expect(seen.insert(text).inserted)
            }
        }
    }

    @Test func `the challenge is that of RFC 7636`() {
        let attempt = SignInAttempt(
            state: "s", verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", nonce: "n",
            redirectURI: "https://a.example/cb", scope: ["openid"])
        #expect(attempt.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test func `each switch removes its parameters, and a scope without openid has no nonce`() throws {
        let both = SignInAttempt(at: provider(), redirectURI: "https://a.example/cb")
        let names = try #require(try both.additionalParameters()).split(separator: "&").map {
            String($0.prefix { $0 != "=" })
        }
        #expect(names == ["code_challenge", "code_challenge_method", "nonce"])
        let neither = SignInAttempt(
            at: provider(pkce: false, nonce: false), redirectURI: "https://a.example/cb")
        for own in [nil, "prompt=login"] {
            #expect(throws: SignInFailure.unprotected) { try neither.additionalParameters(merging: own) }
        }
        let bare = SignInAttempt(
            at: provider(pkce: false), redirectURI: "https://a.example/cb", scope: ["email"])
        #expect(throws: SignInFailure.unprotected) { try bare.additionalParameters() }
        let plain = SignInAttempt(
            at: provider(), redirectURI: "https://a.example/cb", scope: ["email"])
        #expect(plain.nonce == nil)
        #expect(plain.scope == ["email"])
        #expect(
            try plain.additionalParameters(merging: "a=1&b=2")?.hasPrefix("a=1&b=2&code_challenge=") == true)
    }

    @Test(arguments: SignInAttempt.protocolParameters.sorted())
    func `a protocol parameter of a business is refused in each spelling`(_ name: String) throws {
        let attempt = SignInAttempt(at: provider(), redirectURI: "https://a.example/cb")
        let first = try #require(name.utf8.first)
        let encoded = "%" + String(first, radix: 16) + name.dropFirst()
        for own in ["\(name)=x", "a=1&\(name)", "\(encoded)=x"] {
            #expect(throws: SignInFailure.parametersRefused) {
                try attempt.additionalParameters(merging: own)
            }
        }
    }

    @Test func `parameters that are no query of printable ASCII are refused`() throws {
        let attempt = SignInAttempt(at: provider(), redirectURI: "https://a.example/cb")
        let limit = SignInAttempt.maximumParameterBytes
        for own in ["a=%", "a=%00", "a b", "a=1#x", "é=1", "=1", "a=\n"] {
            #expect(throws: SignInFailure.parametersRefused) {
                try attempt.additionalParameters(merging: own)
            }
        }
        let long = "a=" + String(repeating: "x", count: limit - 2)
        #expect(throws: Never.self) { try attempt.additionalParameters(merging: long) }
        #expect(throws: SignInFailure.parametersRefused) {
            try attempt.additionalParameters(merging: long + "x")
        }
    }

    @Test func `an attempt prints nothing of itself`() {
        let attempt = SignInAttempt(at: provider(), redirectURI: "https://a.example/cb")
        var dumped = ""
        dump(attempt, to: &dumped)
        for text in ["\(attempt)", dumped, String(reflecting: attempt)] {
            #expect(!text.contains(attempt.state))
        }
    }

    @Test(arguments: [
        ("https://id.example/a?b=c", true, true), ("https://id.example:8443", true, true),
        ("http://127.0.0.1:9000/x", false, true), ("http://[::1]:1/", false, true),
        ("http://localhost/x", false, true), ("http://id.example/", false, false),
        ("http://127.0.0.1.evil.example/", false, false), ("http://localhost@evil.example/", false, false),
        ("https://user@id.example/", false, false), ("https://", false, false),
        ("https:///x", false, false), ("https://:443/", false, false),
        ("https://id.example/#a", false, false),
        ("https://id.example\\@evil.example/", false, false), ("HTTPS://id.example/", false, false),
        ("javascript:alert(1)", false, false), ("", false, false), ("https://id.exämple/", false, false),
    ])
    func `an address is https, or http on loopback where that is allowed`(
        url: String, always: Bool, withLoopback: Bool
    ) {
        #expect(isProviderAddress(url, allowsLoopback: false) == always)
        #expect(isProviderAddress(url, allowsLoopback: true) == withLoopback)
    }
}
