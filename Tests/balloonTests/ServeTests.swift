import BalloonPOSIX
import TestSupport
import Testing

@Suite struct ServeTests {
    /// Writes a configuration with one business that has no handler.
    private static func configure(_ directory: TemporaryDirectory) throws {
        try Directory.make(directory.file("businesses"))
        let files = [
            "server.json":
                #"{"mspID":"msp","secret":{"file":"secret"},"listen":"127.0.0.1:1","adminListen":"off","drainDelaySeconds":0}"#,
            "secret": "c2VjcmV0LXNlY3JldC1zZWNyZXQ=\n",
            "businesses/silent.json": #"{"businessID":"b-1","name":"Silent","handler":{"builtin":"none"}}"#,
        ]
        for (name, text) in files { try AtomicFile.write(Array(text.utf8), to: directory.file(name)) }
    }

    @Test func `serve prints its address, receives messages, and ends with status 0 at SIGTERM`() async throws
    {
        let directory = TemporaryDirectory()
        try Self.configure(directory)
        let shell = Shell(directory: directory.path)
        let arguments = "serve --config server.json --listen 127.0.0.1:0 --data kept"
        let server = try await ServingCommand(arguments, in: directory)
        let address = server.address

        let health = try await shell.run("balloon healthcheck --listen \(address)")
        #expect(health.status == 0, "\(health.errors)")
        // The server listens neither on the default address nor on BALLOON_LISTEN, so the command must use the control
        // socket.
        let told = try await shell.run("BALLOON_LISTEN=127.0.0.1:1 balloon healthcheck --data kept")
        #expect(told.status == 0, "\(told.errors)")
        let sent = try await shell.run("balloon simulate text --config server.json --to http://\(address)")
        #expect(sent.status == 0, "\(sent.errors)")
        let second = try await shell.run("balloon \(arguments)")
        #expect(second.status == 69)
        let taken = try await shell.run("balloon serve --config server.json --listen \(address) --data other")
        #expect(taken.status == 69)
        #expect(taken.errors.contains("error: bind \(address): Address already in use"))
        #expect(taken.errors.contains("hint: choose another address with --listen"))

        await server.stop()
        let list = try await shell.run("balloon conversations list --data kept")
        #expect(list.output.hasSuffix("  1  b-1  urn:mbid:AQAAYballoonSimulatedCustomer==\n"))
    }

    @Test func `healthcheck fails when it may not look into the data directory, and asks no other server`()
        async throws
    {
        let directory = TemporaryDirectory()
        try Self.configure(directory)
        let shell = Shell(directory: directory.path)
        let server = try await ServingCommand(
            "serve --config server.json --listen 127.0.0.1:0 --data kept", in: directory)
        // A loop of links is as unreadable as a folder of another user, for every user.
        let setup = "ln -sfn loop loop; export BALLOON_LISTEN=\(server.address);"
        let refused = try await shell.run("\(setup) balloon healthcheck --data loop")
        #expect(refused.status == 1)
        #expect(refused.output.isEmpty)
        #expect(refused.errors.hasPrefix("error: loop: "), "\(refused.errors)")
        // A folder without a socket is no obstacle, and --listen names the server.
        #expect(try await shell.run("\(setup) balloon healthcheck --data absent").status == 0)
        #expect(
            try await shell.run("\(setup) balloon healthcheck --data loop --listen \(server.address)").status
                == 0)
        await server.stop()
    }

    @Test func `the inspector of serve shows deliveries to the token, and has no operation that changes any`()
        async throws
    {
        let directory = TemporaryDirectory()
        try Self.configure(directory)
        let shell = Shell(directory: directory.path)
        let token = "token-of-the-inspector"
        let server = try await ServingCommand(
            "serve --config server.json --listen 127.0.0.1:0", in: directory,
            setup: "export BALLOON_INSPECTOR_LISTEN=127.0.0.1:0 BALLOON_INSPECTOR_TOKEN=\(token);",
            until: "listening on")
        let found = try await shell.run("grep -o '\"inspector listening\".*' log") { $0.status == 0 }
        let address = try #require(found.output.firstMatch(of: /127\.0\.0\.1:[0-9]+/)).output
        let sent = try await shell.run(
            "balloon simulate text --config server.json --to http://\(server.address)")
        #expect(sent.status == 0, "\(sent.errors)")
        func status(_ arguments: String) async throws -> String {
            try await shell.run("curl -s -o answer -w '%{http_code}' http://\(address)/\(arguments)").output
        }
        let authorization = "-H 'Authorization: Bearer \(token)'"
        #expect(try await status("") == "200")
        #expect(try await status("dev/v1") == "401")
        #expect(try await status("dev/v1 \(authorization)") == "200")
        let overview = try await shell.run("cat answer")
        #expect(overview.output.contains("\"slug\":\"silent\""))
        #expect(overview.output.contains("\"devices\":[]"))
        var deliveries: [String] = []
        for record in 1...3 {
            deliveries.append(try await status("dev/v1/deliveries/\(record) \(authorization)"))
        }
        #expect(deliveries.sorted() == ["200", "404", "404"])
        for path in [
            "dev/v1/deliveries/1/replay", "dev/v1/handler", "dev/v1/reset", "dev/v1/scenarios/play",
            "dev/v1/trials/1/send",
        ] {
            #expect(try await status("\(path) \(authorization) -d {}") == "404", "\(path)")
        }
        #expect(try await status("dev/v1/customers \(authorization) -d {}") == "405")
        await server.stop()
        #expect(try await shell.run("grep -c \(token) log").status == 1)
    }

    @Test
    func `a standby answers health checks, and takes over the messages when the other server is killed`()
        async throws
    {
        let directory = TemporaryDirectory()
        try Self.configure(directory)
        let shell = Shell(directory: directory.path)
        let arguments = "serve --config server.json --listen 127.0.0.1:0 --data kept --standby"
        let first = try await ServingCommand(arguments, in: directory)
        let simulate = "balloon simulate text --config server.json --to http://"
        let sent = try await shell.run(simulate + first.address)
        #expect(sent.status == 0, "\(sent.errors)")
        let waiting = "waiting as its standby"
        let standby = try await ServingCommand(arguments, in: directory, log: "2>&1", until: waiting)
        let other = try await ServingCommand(arguments, in: directory, log: "2>&1", until: waiting)
        await other.stop()

        let address = try #require(standby.greeting.matches(of: /127\.0\.0\.1:[0-9]+/).last).output
        func status(_ arguments: String) async throws -> String {
            try await shell.run("curl -s -o /dev/null -w '%{http_code}' http://\(address)/\(arguments)")
                .output
        }
        #expect(try await status("livez") == "200")
        #expect(try await status("readyz") == "503")
        #expect(try await status("message -d {}") == "503")

        await first.kill()
        let start = try #require(await standby.output(until: "listening on 127.0.0.1:"))
        let taken = try #require(start.matches(of: /listening on (127\.0\.0\.1:[0-9]+)/).last).output.1
        let again = try await shell.run(simulate + taken)
        #expect(again.status == 0, "\(again.errors)")
        await standby.stop()
        let list = try await shell.run("balloon conversations list --data kept")
        #expect(
            list.output.hasSuffix("  2  b-1  urn:mbid:AQAAYballoonSimulatedCustomer==\n"), "\(list.output)")
    }

    @Test func `a standby starts with its earlier configuration when the files have errors by then`()
        async throws
    {
        let directory = TemporaryDirectory()
        try Self.configure(directory)
        let arguments = "serve --config server.json --listen 127.0.0.1:0 --data kept --standby"
        let first = try await ServingCommand(arguments, in: directory)
        let standby = try await ServingCommand(
            arguments, in: directory, log: "2>&1", until: "waiting as its standby")
        try AtomicFile.write(Array("{".utf8), to: directory.file("server.json"))
        await first.kill()
        let start = try #require(await standby.output(until: "listening on 127.0.0.1:"))
        #expect(start.contains("the standby keeps its earlier configuration"))
        await standby.stop()
    }
}
