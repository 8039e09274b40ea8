import BalloonPOSIX
import BalloonWire
import MessageServer
import SignIn
import TestSupport
import Testing

struct AuthenticationConfigurationTests {
    private static let server =
        #"{"mspID":"msp","secret":{"env":"BALLOON_SECRET"},"publicURL":"https://messages.example.com"}"#
    private static let environment = [
        "BALLOON_SECRET": ConfigurationFiles.secret, "CLIENT": "client-secret", "EMPTY": "",
        "CLASSIC": "classic-secret", "AUDIT": "audit-secret",
    ]
    private static let tooManyAudiences = (1...17).map { #""a\#($0)""# }.joined(separator: ",")
    private static let plain =
        #""issuer":"https://p.example","clientID":"balloon","clientSecret":{"env":"CLIENT"},"scope":["openid"]"#

    private func files(_ members: String, server: String = server) throws -> ConfigurationFiles {
        let business =
            #"{"businessID":"b-1","name":"Demo","handler":{"builtin":"demo"},"authentication":{\#(members)}}"#
        return try ConfigurationFiles(server: server, businesses: ["demo": business])
    }

    private func load(_ members: String) throws -> AuthenticationConfiguration {
        try #require(try files(members).load(Self.environment).businesses.first?.authentication)
    }

    @Test func `an authentication with the required keys has the documented defaults`() throws {
        let authentication = try load(Self.plain)
        let provider = authentication.provider
        #expect(provider.issuer == "https://p.example")
        #expect(provider.clientID == "balloon")
        #expect(provider.scope == ["openid"])
        #expect(
            provider.usesPKCE && provider.usesNonce && !provider.returnsTokens && !provider.allowsLoopback)
        #expect(provider.subjectClaim == "sub")
        #expect(provider.idTokenAlgorithms == [.rs256, .es256])
        #expect(provider.otherAudiences == [] && provider.namesIssuerInCallbacks == nil)
        #expect(authentication.stateLifetime == .seconds(600))
        #expect(authentication.releaseLifetime == .seconds(120))
        #expect(authentication.asksToConfirm)
        #expect(provider.classic == nil && authentication.auditToken == nil && !authentication.recordsSubject)
        guard case .post(let secret) = provider.clientAuthentication else {
            Issue.record("another client authentication")
            return
        }
        #expect(secret.bytes == Array("client-secret".utf8))
    }

    @Test func `every key of an authentication is read`() throws {
        let authentication = try load(
            #"""
            "tokenURL":"https://p.example/t","userinfoURL":"https://p.example/u","jwksURL":"https://p.example/j",
            "authorizationURL":"https://p.example/a","subjectClaim":"id","clientID":"c","scope":["profile","email"],
            "clientAuthentication":"none","nonce":false,"idTokenAlgorithms":["ES256"],"stateSeconds":60,
            "releaseSeconds":600,"confirm":false,"handTokens":true,"recordSubject":true,"auditToken":{"env":"AUDIT"},
            "classic":{"clientID":"one","clientSecret":{"env":"CLASSIC"},"introspectionURL":"https://p.example/i"}
            """#)
        let provider = authentication.provider
        #expect(provider.issuer == nil)
        #expect(provider.tokenURL == "https://p.example/t")
        #expect(provider.userinfoURL == "https://p.example/u")
        #expect(provider.jwksURL == "https://p.example/j")
        #expect(provider.authorizationURL == "https://p.example/a")
        #expect(provider.subjectClaim == "id")
        #expect(provider.scope == ["profile", "email"])
        #expect(provider.usesPKCE && !provider.usesNonce && provider.returnsTokens)
        #expect(provider.idTokenAlgorithms == [.es256])
        #expect(authentication.stateLifetime == .seconds(60))
        #expect(authentication.releaseLifetime == .seconds(600))
        #expect(!authentication.asksToConfirm && authentication.recordsSubject)
        #expect(authentication.auditToken?.bytes == Array("audit-secret".utf8))
        #expect(provider.classic?.clientID == "one")
        #expect(provider.classic?.clientSecret.bytes == Array("classic-secret".utf8))
        #expect(provider.classic?.introspectionURL == "https://p.example/i")
    }

    @Test func `other audiences and the iss of callbacks are read`() throws {
        let provider = try load(
            Self.plain + #","otherAudiences":["project-1","a b"],"authorizationResponseIss":true"#
        ).provider
        #expect(provider.otherAudiences == ["project-1", "a b"])
        #expect(provider.namesIssuerInCallbacks == true)
    }

    @Test(arguments: [
        (plain + #","otherAudiences":[]"#, "/otherAudiences: is not a list of strings"),
        (plain + #","otherAudiences":"project-1""#, "/otherAudiences: is not a list of strings"),
        (plain + #","otherAudiences":[""]"#, "/otherAudiences/0: is not 1 to 512 bytes"),
        (plain + #","otherAudiences":["a","balloon"]"#, "/otherAudiences/1: is the client itself"),
        (
            plain + #","otherAudiences":["# + tooManyAudiences + "]",
            "/otherAudiences/16: is more than 16 audiences"
        ),
        (plain + #","authorizationResponseIss":"yes""#, "/authorizationResponseIss: is"),
        (
            #""clientID":"c","scope":["email"],"clientAuthentication":"none","tokenURL":"https://p.example/t","userinfoURL":"https://p.example/u","authorizationResponseIss":true"#,
            #"has "authorizationResponseIss" but no "issuer""#
        ),
        (
            #""clientID":"c","scope":["email"],"clientAuthentication":"none","tokenURL":"https://p.example/t","userinfoURL":"https://p.example/u","otherAudiences":["a"]"#,
            #"has "otherAudiences" without the scope openid"#
        ),
        ("", #"has no "clientID""#), ("", #"has no "scope""#),
        (plain + #","secret":1"#, "/authentication/secret: is not a known key"),
        (plain + #","stateSeconds":59"#, "/stateSeconds: is not a whole number in its range"),
        (plain + #","stateSeconds":86401"#, "/stateSeconds: is not a whole number in its range"),
        (plain + #","releaseSeconds":9"#, "/releaseSeconds: is not a whole number in its range"),
        (plain + #","releaseSeconds":601"#, "/releaseSeconds: is not a whole number in its range"),
        (plain + #","tokenURL":"http://127.0.0.1/t""#, "/tokenURL: is not an https address"),
        (plain + #","jwksURL":"https://user@p.example""#, "/jwksURL: is not an https address"),
        (plain + #","pkce":false,"nonce":false"#, #"switches "pkce" and "nonce" off"#),
        (plain + #","idTokenAlgorithms":["none"]"#, "is not an algorithm that is verified"),
        (plain + #","clientAuthentication":"tls""#, "/clientAuthentication: is not a client authentication"),
        (plain + #","clientAuthentication":"none""#, #"has a "clientSecret" that none does not use"#),
        (plain + #","classic":{}"#, #"/classic: has no "clientID""#),
        (plain + #","classic":{"clientID":"one"}"#, #"/classic: has no "clientSecret""#),
        (
            plain + #","classic":{"clientID":"one","clientSecret":{"env":"CLIENT"}}"#,
            #"/classic: has the "clientSecret" of version 2"#
        ),
        (
            plain
                + #","classic":{"clientID":"one","clientSecret":{"env":"CLASSIC"},"introspectionURL":"http://p/"}"#,
            "/classic/introspectionURL: is not an https address"
        ),
        (plain + #","auditToken":{"env":"EMPTY"}"#, "is empty"),
        (plain + #","clientKeyID":"k""#, "has a key that client_secret_post does not use"),
        (#""issuer":"https://p.example","clientID":"c","scope":["openid"]"#, #"has no "clientSecret""#),
        (
            #""issuer":"https://p.example","clientID":"c","scope":["openid"],"clientAuthentication":"private_key_jwt""#,
            #"has no "clientKeyFile""#
        ),
        (
            #""issuer":"https://p.example","clientID":"c","scope":["openid"],"clientAuthentication":"private_key_jwt","clientKeyFile":"absent.pem""#,
            "/clientKeyFile: names a file that cannot be read"
        ),
        (
            #""issuer":"https://p.example","clientID":"c","scope":["openid"],"clientAuthentication":"none","pkce":false"#,
            #"none without "pkce""#
        ),
        (
            #""clientID":"c","scope":["openid"],"clientAuthentication":"none""#,
            #"the scope openid but no "issuer""#
        ),
        (#""clientID":"c","scope":["email"],"clientAuthentication":"none""#, #"nor a "userinfoURL""#),
        (
            #""clientID":"c","scope":["email"],"clientAuthentication":"none","userinfoURL":"https://p.example""#,
            #"has neither "issuer" nor "tokenURL""#
        ),
        (
            #""issuer":"https://p.example","clientID":"c","scope":["email"],"userinfoURL":"https://p.example","pkce":false,"clientSecret":{"env":"CLIENT"}"#,
            #"has "nonce" as its only protection"#
        ),
        (
            #""issuer":"https://p.example","clientID":"c","scope":["a b"],"clientSecret":{"env":"CLIENT"}"#,
            "/scope/0: is not a scope"
        ),
        (
            #""issuer":"https://p.example","clientID":"c d","scope":["openid"],"clientSecret":{"env":"CLIENT"}"#,
            "/clientID: is not 1 to 512 visible ASCII characters"
        ),
        (
            #""issuer":"https://p.example","clientID":"c","scope":["openid"],"clientSecret":{"env":"EMPTY"}"#,
            "is empty"
        ),
        (
            #""issuer":"https://p.example","clientID":"c","scope":["openid"],"clientSecret":{"env":"ABSENT"}"#,
            "names an environment variable that is not set"
        ),
    ])
    func `an unusable authentication is refused at its place`(members: String, problem: String) throws {
        let problems = try files(members).problems(Self.environment)
        #expect(problems.contains { $0.contains(problem) }, "\(problems)")
        #expect(!problems.contains { $0.contains("client-secret") })
    }

    @Test(arguments: ["", #","publicURL":"http://messages.example.com""#])
    func `a server with an authentication needs a public https address`(publicURL: String) throws {
        let server = #"{"mspID":"msp","secret":{"env":"BALLOON_SECRET"}\#(publicURL)}"#
        let problems = try files(Self.plain, server: server).problems(Self.environment)
        #expect(problems.contains { $0.contains(#"has no "publicURL" with https"#) }, "\(problems)")
    }

    @Test func `a development server may use a provider on its own machine`() throws {
        let members =
            #""issuer":"http://127.0.0.1:9000","clientID":"c","scope":["openid"],"clientAuthentication":"none""#
        let files = try files(members, server: #"{"mspID":"msp"}"#)
        let configuration = try ConfigurationLoader.load(
            file: files.directory.file("server.json"), environment: [:], for: .development)
        #expect(configuration.businesses.first?.authentication?.provider.allowsLoopback == true)
    }

    @Test func `the client's secret is read from a file beside the business`() throws {
        let members =
            #""issuer":"https://p.example","clientID":"c","scope":["openid"],"clientSecret":{"file":"client.txt"}"#
        let files = try files(members)
        try files.write("from-file\n", to: "businesses/client.txt")
        let provider = try files.load(Self.environment).businesses.first?.authentication?.provider
        guard case .post(let secret)? = provider?.clientAuthentication else {
            Issue.record("no secret")
            return
        }
        #expect(secret.bytes == Array("from-file".utf8))
    }
}
