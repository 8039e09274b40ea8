import Testing

@testable import BusinessMessages

struct AuthenticationTests {
    private func authentication(_ content: Content) throws -> Authentication {
        guard case .authentication(let authentication) = content else { throw Unexpected(content.kind) }
        return authentication
    }

    @Test func `Apple's sample of an answer of version 2 is decoded as a success`() throws {
        let result = try authentication(event("authentication").content)
        #expect(result.version == .two)
        #expect(result.status == "completed")
        #expect(result.result == .succeeded)
        #expect(result.errorCode == nil)
        #expect(result.interaction.requestIdentifier == "f8ad656-12b0-43c9-a28d-13d103a0ae5d")
        #expect(result.interaction.version == "2.0")
    }

    @Test func `a failed sign-in of version 2 has the error code of the identity provider`() throws {
        let result = try authentication(event("authentication-failure").content)
        #expect(result.version == .two)
        #expect(result.result == .failed)
        #expect(result.errorCode == "400")
        #expect(result.token == nil)
    }

    @Test func `a successful sign-in of version 1 has a token, and its bubbles are read next to the data`()
        throws
    {
        let result = try authentication(event("authentication-classic").content)
        #expect(result.version == .one)
        #expect(result.status == "authenticated")
        #expect(result.result == .succeeded)
        #expect(result.token?.hasPrefix("B") == true)
        #expect(result.problems.isEmpty)
        #expect(result.interaction.receivedMessage?.title == "Sign In to Business Chat Sandbox")
        #expect(result.interaction.replyMessage?.title == "You Signed In")
        #expect(result.interaction.replyMessage?.subtitle == nil)
    }

    @Test func `a failed sign-in of version 1 has the errors that the device reported`() throws {
        let result = try authentication(event("authentication-classicFailed").content)
        #expect(result.version == .one)
        #expect(result.result == .failed)
        #expect(result.token == nil)
        let domain = "com.apple.icloud.messages.business.cryptor"
        #expect(result.problems == [.init(code: 2, domain: domain, message: "Key is not UTF8")])
    }

    @Test(arguments: [
        (#"{"status":"success"}"#, "1.0", Authentication.Version.two, Authentication.Result.succeeded),
        (#"{"status":"SUCCESS"}"#, "2.0", .two, .succeeded),
        (#"{"status":"cancel"}"#, "2.0", .two, .cancelled),
        (#"{"status":"unknown"}"#, "2.0", .two, .unknown),
        (#"{"status":"sideways"}"#, "2.0", .two, .unknown),
        (#"{"status":"unknown"}"#, "1.0", .one, .unknown),
        (#"{"token":"x"}"#, "2.0", .one, .unknown),
        (#"{"errors":{"code":"2"}}"#, "2.0", .one, .unknown),
        (#"[{"status":"failed"}]"#, "2.0", .one, .failed),
        (#"{}"#, "2.0", .two, .unknown),
    ])
    func `the status decides whether an answer is of version 1 or 2`(
        value: String, schema: String, version: Authentication.Version, result: Authentication.Result
    ) throws {
        let read = try authentication(content(data: #"{"version":"\#(schema)","authenticate":\#(value)}"#))
        #expect(read.version == version)
        #expect(read.result == result)
    }

    @Test func `an error code is read as a number or a string, under both of its names`() throws {
        #expect(try authentication(content(data: #"{"authenticate":{"error_code":400}}"#)).errorCode == "400")
        #expect(try authentication(content(data: #"{"authenticate":{"errorCode":"4"}}"#)).errorCode == "4")
    }
}
