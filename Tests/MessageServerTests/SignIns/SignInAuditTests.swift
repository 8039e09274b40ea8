import BalloonTransport
import BusinessMessages
import MessageServer
import ServerTestSupport
import SignIn
import Simulator
import TestSupport
import Testing

/// The provider's question about a key of version 1: `/auth/SLUG/key`.
struct SignInAuditTests {
    private func ask(
        _ test: SignInUnderTest, _ fields: String, method: String = "GET", slug: String = "one",
        token: String? = SignInUnderTest.auditToken
    ) async throws -> TransportResponse {
        let isForm = method == "POST"
        var request = TransportRequest(
            method: method, url: test.server.url + "/auth/\(slug)/key" + (isForm ? "" : "?" + fields),
            body: isForm ? Array(fields.utf8) : [], allowsPlainHTTP: true)
        if let token { request.headers.append(("authorization", "Bearer " + token)) }
        return try await test.server.transport.send(request)
    }

    @Test func `the key of an open request is valid until Apple's event, and no other key is`() async throws {
        let test = try await SignInUnderTest()
        let customer = test.customer(SignInUnderTest.classic)
        let message = try await test.ask(customer)
        let key = try #require(message.oauth2?["responseEncryptionKey"]?.string)
        let encoded = Self.encoded(key)
        let handle = Self.encoded(customer.id.rawValue)
        let valid = [
            "responseEncryptionKey=\(encoded)", "response_encryption_key=\(encoded)",
            "responseEncryptionKey=\(encoded)&userHandle=\(handle)",
            // A plus sign that is not encoded arrives as a blank.
            "responseEncryptionKey=\(key)&userHandle=\(customer.id.rawValue)",
        ]
        for method in ["GET", "POST"] {
            for fields in valid {
                let answer = try await ask(test, fields, method: method)
                #expect(answer.status == 200, "\(method) \(fields.prefix(40))")
                #expect(String(decoding: answer.body, as: UTF8.self) == #"{"valid":true}"#)
                #expect(answer.header("cache-control") == "no-store")
            }
            let invalid = [
                "", "responseEncryptionKey=", "responseEncryptionKey=B",
                "responseEncryptionKey=\(encoded)&responseEncryptionKey=\(encoded)",
                "responseEncryptionKey=\(encoded)&userHandle=urn%3Ambid%3Aother",
            ]
            for fields in invalid {
                #expect(try await ask(test, fields, method: method).status == 404, "\(method) \(fields)")
            }
        }
        #expect(try await ask(test, valid[0], method: "PUT").status == 405)
        #expect(try await ask(test, valid[0], method: "HEAD").status == 405)
        let outcome = try await test.signIn(customer, message)
        #expect(try await test.report(outcome, customer, message) == "welcome user-alice")
        #expect(try await ask(test, valid[0]).status == 404)
        await test.stop(secrets: [key])
    }

    @Test func `without the token of the business every question is refused`() async throws {
        let test = try await SignInUnderTest()
        for token in [nil, "", "audit-secret-2", "audit-secret-1x"] {
            let answer = try await ask(test, "responseEncryptionKey=B", token: token)
            #expect(answer.status == 401, "\(token ?? "none")")
            #expect(answer.header("www-authenticate") == "Bearer")
        }
        #expect(try await ask(test, "", slug: "two").status == 401)
        #expect(try await ask(test, "", slug: "three").status == 401)
        await test.stop()
        let other = try await SignInUnderTest { $0.auditToken = nil }
        #expect(try await ask(other, "", token: "x").status == 401)
        await other.stop()
    }

    private static func encoded(_ text: String) -> String {
        text.replacing("+", with: "%2B").replacing("/", with: "%2F").replacing("=", with: "%3D")
            .replacing(":", with: "%3A")
    }
}
