import BalloonJSON
import BalloonPOSIX
import TestSupport
import Testing

/// Signing in with `balloon dev` and its provider, and the commands about providers and open requests.
@Suite struct SimulateSignInTests {
    private static let authentication = "balloon simulate authentication"

    @Test func `simulate authentication signs in at the provider of balloon dev, for both versions`()
        async throws
    {
        let directory = TemporaryDirectory()
        let shell = Shell(directory: directory.path)
        let server = try await ServingCommand.dev(in: directory)
        let early = try await shell.run("\(Self.authentication) --user alice")
        #expect(early.status == 69, "\(early.errors)")
        _ = try await shell.run("balloon simulate text --text 'sign in' --wait")
        let open = try await shell.run("balloon authentications list")
        #expect(open.output.contains("  open  "), "\(open.output)\(open.errors)")
        let signedIn = try await shell.run("\(Self.authentication) --user alice --wait")
        #expect(signedIn.output.contains("You are signed in as user-alice."), "\(signedIn.errors)")
        #expect(try await shell.run("balloon authentications list --json").output == "")

        let old = "--device old-iphone --customer bob"
        _ = try await shell.run("balloon simulate text --text 'sign in' --wait \(old)")
        let listed = try await shell.run("balloon authentications list --json")
        let request = try JSONDocument(Array(listed.output.utf8)).root
        #expect(request["customer"]?.string == "bob" && request["phase"]?.string == "open")
        let classic = try await shell.run("\(Self.authentication) --user bob --classic --wait \(old)")
        #expect(classic.output.contains("You are signed in as user-bob."), "\(classic.errors)")

        _ = try await shell.run("balloon simulate text --text 'sign in' --wait --customer carol")
        let denied = try await shell.run("\(Self.authentication) --deny --wait --customer carol")
        #expect(denied.output.contains("The sign-in ended: declined."), "\(denied.errors)")
        await server.stop()
    }

    @Test(arguments: [
        "simulate text --user a", "simulate --choose 1 --deny", "simulate authentication text --classic",
    ])
    func `an option for signing in needs the message authentication alone`(command: String) async throws {
        let directory = TemporaryDirectory()
        let result = try await Shell(directory: directory.path).run("balloon \(command)")
        #expect(result.status == 64)
    }

    @Test func `config check online names a business whose provider cannot be reached`() async throws {
        let directory = TemporaryDirectory()
        let refusing = RefusingPort()
        try Directory.make(directory.file("businesses"))
        let files = [
            "server.json": """
            {"mspID": "11111111-2222-3333-4444-555555555555", "secret": {"env": "BALLOON_SECRET"},
             "publicURL": "https://messages.example.com"}
            """,
            "businesses/shop.json": """
            {"businessID": "b-1", "name": "Shop", "handler": {"builtin": "demo"}, "authentication": {
             "issuer": "https://127.0.0.1:\(refusing.number)", "clientID": "c", "scope": ["openid"],
             "clientAuthentication": "none"}}
            """,
        ]
        for (name, text) in files { try AtomicFile.write(Array(text.utf8), to: directory.file(name)) }
        let shell = Shell(directory: directory.path)
        let check = "BALLOON_SECRET=c2VjcmV0LXNlY3JldC1zZWNyZXQ= balloon config check --config server.json"
        #expect(try await shell.run(check).status == 0)
        let online = try await shell.run(check + " --online")
        #expect(online.status == 78)
        let reason = "no customer can sign in: the call failed (discovery)"
        #expect(online.errors.contains(reason), "\(online.errors)")
    }
}
