import BalloonJSON
import BalloonPOSIX
import BalloonWire
import Glibc
import TestSupport
import Testing

@testable import balloon

@Suite struct DevTests {
    private static func commands(of greeting: String) -> [String] {
        greeting.split(separator: "\n").filter { $0.hasPrefix("  ") }.map { String($0.dropFirst(2)) }
    }

    @Test func `the commands that dev prints can be run unchanged`() async throws {
        let directory = TemporaryDirectory()
        let server = try await ServingCommand.dev(in: directory)
        let commands = Self.commands(of: server.greeting)
        #expect(commands.count == 4)
        let shell = Shell(directory: directory.path)
        var outputs: [String] = []
        for command in commands {
            let result = try await shell.run(command + " </dev/null")
            #expect(result.status == 0, "\(command): \(result.errors)")
            outputs.append(result.output)
        }
        let question = "quickReply: Please choose [Opening hours | Track my order | Talk to a person]"
        #expect(outputs[0].hasPrefix("customer  text: "))
        #expect(outputs[0].hasSuffix("business  text: What can we do for you?\nbusiness  \(question)\n"))
        #expect(
            outputs[1] == "customer  quickReply: Track my order\nbusiness  text: You chose: Track my order\n")
        #expect(commands[2].hasSuffix(" chat"))
        #expect(outputs[3].contains("  business  \(question)\n"))
        #expect(outputs[3].contains("  customer  quickReply: Track my order\n"))

        await server.stop()
        let log = try File(directory.file("log"), for: .reading).readAll()
        let secret = try #require(try DevelopmentServer.read(in: directory.file("data"))).secret
        #expect(!String(decoding: log, as: UTF8.self).contains(Base64.encode(secret.bytes)))
        for line in log.split(separator: 0x0A) { _ = try JSONDocument(Array(line)) }
    }

    @Test func `dev keeps its identity over restarts, and only its user may read the file with the secret`()
        async throws
    {
        let directory = TemporaryDirectory()
        var servers: [DevelopmentServer] = []
        for _ in 0..<2 {
            let server = try await ServingCommand.dev(in: directory)
            servers.append(try #require(try DevelopmentServer.read(in: directory.file("data"))))
            await server.stop()
        }
        #expect(servers[0].mspID == servers[1].mspID)
        #expect(servers[0].secret == servers[1].secret)
        #expect(servers[0].businessID == servers[1].businessID)
        var status = stat()
        #expect(stat(DevelopmentServer.path(in: directory.file("data")), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test func `a second dev in the same directory is refused and changes nothing`() async throws {
        let directory = TemporaryDirectory()
        let server = try await ServingCommand.dev(in: directory)
        let before = try DevelopmentServer.read(in: directory.file("data"))
        let second = try await Shell(directory: directory.path).run("balloon dev --listen 127.0.0.1:0")
        #expect(second.status == 69)
        #expect(second.errors.contains("is in use by process"))
        #expect(try DevelopmentServer.read(in: directory.file("data")) == before)
        await server.stop()
    }

    @Test
    func `dev json appears when it is complete, and a failed first start keeps the folder and its identity`()
        async throws
    {
        let directory = TemporaryDirectory()
        let server = try await ServingCommand.dev(in: directory)
        let taken = try #require(try DevelopmentServer.read(in: directory.file("data"))).server
            .dropFirst("http://".count)
        var identities: [DevelopmentServer?] = []
        for _ in 0..<2 {
            let failed = try await Shell(directory: directory.path).run(
                "balloon dev --data other --listen \(taken)")
            #expect(failed.status == 69, "\(failed.errors)")
            #expect(!Directory.exists(DevelopmentServer.path(in: directory.file("other"))))
            identities.append(try DevelopmentServer.read(in: directory.file("other")))
        }
        #expect(identities[0] != nil && identities[0]?.secret == identities[1]?.secret)
        #expect(!Directory.exists(directory.file("data/dev.starting.json")))
        await server.stop()
    }

    @Test
    func
        `simulate sends large messages, several kinds and standard input to the demo, and reports a refusal`()
        async throws
    {
        let directory = TemporaryDirectory()
        let server = try await ServingCommand.dev(in: directory)
        let shell = Shell(directory: directory.path)
        let large = try await shell.run("balloon simulate form --large --wait --customer bob")
        #expect(large.output.hasSuffix("business  text: You chose: Steel, 12/24/2026, A bell, please\n"))
        let written = try await shell.run(
            #"echo '{"type":"text","body":"Hi"}' | balloon simulate - typingStart --json --customer carol"#)
        let kinds = try written.output.split(separator: "\n").map {
            try JSONDocument(Array($0.utf8)).root["kind"]
        }
        #expect(kinds.map { $0?.string } == ["text", "typingStart"])
        let health = try await shell.run(
            "balloon healthcheck --url \(try #require(try DevelopmentServer.read(in: directory.file("data"))).server)"
        )
        #expect(health.output == "ok\n")

        let foreign = try await shell.run(
            #"echo '{"type":"text","body":"Hi","destinationId":"nobody"}' | balloon simulate -"#)
        #expect(foreign.status == 1)
        #expect(foreign.errors.hasPrefix("error: the server answered 404: "))
        await server.stop()
    }
}
