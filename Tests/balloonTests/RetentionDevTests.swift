import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import TestSupport
import Testing

@testable import balloon

/// An app on this machine alone: its folder, `apply`, a cancellation and a rehearsal at the App Store of `balloon dev`.
struct RetentionDevTests {
    /// Writes the configuration with a Python handler, or another one, and starts `balloon dev`.
    private func start(_ handler: String, in directory: TemporaryDirectory) async throws -> ServingCommand {
        let files = [
            "server.json": #"{"mspID":"m","secret":{"env":"S"},"listen":"127.0.0.1:0"}"#,
            "businesses/fish.json":
                #"{"businessID":"5a6b7c8d-0000-4000-8000-000000000002","name":"Fish","handler":{"builtin":"demo"}}"#,
            "apps/shop.json":
                #"{"bundleID":"com.example.app","appleID":1,"issuerID":"issuer","keyID":"KEY","keyFile":"../key.p8","handler":\#(handler)}"#,
            "apps/shop/messages/stay.json": #"{"header":"Stay","body":"Please stay."}"#,
            "apps/shop/messages/bleib.json": #"{"header":"Bleib","body":"Bitte bleib."}"#,
            "apps/shop/defaults.json":
                #"{"p.monthly":{"en-US":"stay","de-DE":"bleib"},"p.yearly":{"de-DE":"stay"}}"#,
            "apps/shop/answers.json":
                #"{"rules":[{"locale":"de","answer":{"message":"bleib"}},{"answer":{"message":"stay"}}]}"#,
        ]
        for (name, text) in files {
            let path = directory.file("config/" + name)
            try Directory.make(Directory.parent(of: path))
            try AtomicFile.write(Array(text.utf8), to: path)
        }
        let shell = Shell(directory: directory.path)
        let key = try await shell.run(
            "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out config/key.p8")
        #expect(key.status == 0, "\(key.errors)")
        return try await ServingCommand.dev("--config config/server.json", in: directory)
    }

    private static let folder = "--config config/server.json --data data"

    @Test func `a folder is applied, a cancellation is answered in two locales, and a rehearsal passes`()
        async throws
    {
        let directory = TemporaryDirectory()
        let program = Fixture.sampleHandlers + "/python/retention.py"
        let dev = try await start(
            #"{"exec":["\#(program)"],"config":{"product":"p.monthly","message":"stay"}}"#, in: directory)
        let shell = dev.shell
        let before = try await shell.run("balloon simulate cancel")
        #expect(before.status == 1 && before.output.hasPrefix("the App Store asks nothing"))
        let plan = try await shell.run("balloon retention plan \(Self.folder)")
        let planned = plan.output.split(separator: "\n").map { String($0) }
        #expect(planned.count == 5, "\(plan.output)")
        #expect(planned.contains("set default p.monthly de-DE to bleib"), "\(plan.output)")
        let dryRun = try await shell.run("balloon retention apply \(Self.folder) --dry-run")
        #expect(dryRun.output == plan.output)
        let apply = try await shell.run("balloon retention apply \(Self.folder)")
        #expect(apply.status == 0, "\(apply.errors)")
        #expect(apply.errors.contains("uploading message bleib (1 of 2)\n"), "\(apply.errors)")
        #expect(apply.errors.contains("uploading message stay (2 of 2)\n"), "\(apply.errors)")
        #expect(try await shell.run("balloon retention plan \(Self.folder)").output == "nothing to do\n")

        // The server reads the states within two seconds.
        let offer = try await shell.run("balloon simulate cancel --product p.monthly --locale en-US") {
            $0.output.contains("promotionalOffer")
        }
        #expect(
            offer.output.hasSuffix("the subscriber sees the message of the answer: Stay / Please stay.\n"))
        let german = try await shell.run("balloon simulate cancel --product p.monthly --locale de_DE")
        #expect(german.output.contains("promotionalOffer"), "\(german.output)")
        let rule = try await shell.run("balloon simulate cancel --product p.yearly --locale de-DE --json")
        let answer = try JSONDocument(Array(rule.output.utf8)).root
        #expect(answer["shown"]?.string == "answer" && answer["header"]?.string == "Bleib", "\(rule.output)")
        let production = try await shell.run("balloon simulate cancel --environment production")
        #expect(production.status == 1)

        let early = try await shell.run(
            "balloon retention url \(Self.folder) --environment production --yes --set https://a.example/r")
        #expect(early.status == 1 && early.errors.contains("noPassedPerformanceTest"), "\(early.errors)")
        let rehearsal = try await shell.run("balloon retention rehearse \(Self.folder)") { $0.status == 0 }
        #expect(rehearsal.output.hasSuffix("PASS\n"), "\(rehearsal.output) \(rehearsal.errors)")
        let late = try await shell.run(
            "balloon retention url \(Self.folder) --environment production --yes --set https://a.example/r")
        #expect(late.status == 0, "\(late.errors)")
        await dev.stop()
    }

    @Test func `a rehearsal passes with a program in Swift`() async throws {
        let directory = TemporaryDirectory()
        let program = buildDirectory + "/LoyaltyExample"
        let dev = try await start(
            #"{"exec":["\#(program)"],"config":{"product":"p.monthly","message":"stay"}}"#, in: directory)
        try await rehearse(dev)
    }

    @Test func `a rehearsal passes with a service`() async throws {
        let directory = TemporaryDirectory()
        let hook = HTTPRoute(.post, "/hook", body: .collected(maximumBytes: 1 << 20)) { _, _ in
            HTTPResponse(
                .ok, json: Array(#"{"promotionalOffer":{"message":"stay","offer":"half-price"}}"#.utf8))
        }
        let service = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: [hook])], shards: 1,
            logger: LogCollector().logger)
        let url = "http://\(try await service.start()[0])/hook"
        try AtomicFile.write(
            Array("c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0\n".utf8), to: directory.file("hook-secret"))
        let dev = try await start(
            #"{"http":{"url":"\#(url)","secret":{"file":"\#(directory.file("hook-secret"))"}}}"#,
            in: directory)
        try await rehearse(dev)
        await service.stop(within: .zero)
    }

    /// Applies the folder, and rehearses until the states are read; every question must have the handler's answer.
    private func rehearse(_ dev: ServingCommand) async throws {
        let apply = try await dev.shell.run("balloon retention apply \(Self.folder)")
        #expect(apply.status == 0, "\(apply.errors)")
        // The server reads the states within two seconds.
        let rehearsal = try await dev.shell.run("balloon retention rehearse \(Self.folder)") {
            $0.status == 0
        }
        #expect(rehearsal.output.hasSuffix("PASS\n"), "\(rehearsal.output) \(rehearsal.errors)")
        let offer = try await dev.shell.run("balloon simulate cancel --product p.monthly --locale en-US")
        #expect(offer.output.contains("promotionalOffer"), "\(offer.output)")
        await dev.stop()
    }

    @Test func `single messages and defaults are listed, set and deleted, and apply deletes an old default`()
        async throws
    {
        let directory = TemporaryDirectory()
        let dev = try await start(#"{"builtin":"none"}"#, in: directory)
        func run(_ command: String) async throws -> String {
            let result = try await dev.shell.run("balloon retention \(command) \(Self.folder)")
            #expect(result.status == 0, "\(command): \(result.errors)")
            return result.output
        }
        let id = try await run("messages upload stay").trimmingSuffix(while: \.isNewline)
        #expect(try await run("messages upload stay") == id + "\n")
        #expect(try await run("messages list") == "\(id) APPROVED stay\n")
        #expect(try await run("images list") == "")
        #expect(try await run("defaults get p.monthly fr-FR") == "none\n")
        _ = try await run("defaults set p.monthly fr-FR stay")
        #expect(try await run("defaults get p.monthly fr-FR") == id + "\n")
        #expect(try await run("defaults list").contains("p.monthly fr-FR \(id) stay\n"))
        #expect(try await run("plan").contains("delete default p.monthly fr-FR\n"))
        _ = try await run("apply")
        #expect(try await run("defaults get p.monthly fr-FR") == "none\n")
        #expect(try await run("plan") == "nothing to do\n")
        _ = try await run("messages upload bleib")
        _ = try await run("defaults set p.yearly de-DE bleib")
        let other = try await run("messages list").split(separator: "\n").first { $0.hasSuffix(" bleib") }
        let bleib = try #require(other).prefix { $0 != " " }
        #expect(try await run("plan") == "set default p.yearly de-DE to stay instead of \(bleib)\n")
        _ = try await run("defaults delete p.monthly en-US")
        #expect(try await run("defaults get p.monthly en-US") == "none\n")
        _ = try await run("messages delete bleib")
        #expect(try await run("messages list") == "\(id) APPROVED stay\n")
        let unknown = try await dev.shell.run("balloon retention messages upload nothing \(Self.folder)")
        #expect(unknown.status == 64 && unknown.errors.contains("bleib, stay"), "\(unknown.errors)")
        await dev.stop()
    }

    @Test func `a rehearsal fails at 800 ms and says that the handler was late`() async throws {
        let directory = TemporaryDirectory()
        let program = Fixture.directory + "/handlers/retention_faults.py"
        let dev = try await start(#"{"exec":["\#(program)","slow","0.8"]}"#, in: directory)
        let apply = try await dev.shell.run("balloon retention apply \(Self.folder)")
        #expect(apply.status == 0, "\(apply.errors)")
        let rehearsal = try await dev.shell.run("balloon retention rehearse \(Self.folder)")
        #expect(rehearsal.status == 1 && rehearsal.output.hasSuffix("FAIL\n"), "\(rehearsal.output)")
        #expect(
            rehearsal.output.contains(
                "because: the handler did not answer within 450 ms (budgetMilliseconds)"),
            "\(rehearsal.output) \(rehearsal.errors)")
        await dev.stop()
    }
}

extension String {
    fileprivate func trimmingSuffix(while isDropped: (Character) -> Bool) -> String {
        String(reversed().drop(while: isDropped).reversed())
    }
}
