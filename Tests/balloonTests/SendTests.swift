import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import GatewayClient
import Logging
import MessageStore
import TestSupport
import Testing

@testable import balloon

/// Uses of `balloon send` and `balloon attachments` with a running `balloon dev`.
@Suite struct SendTests {
    @Test func `a text, a link, a file and a custom message are sent and recorded in the conversation`()
        async throws
    {
        let directory = TemporaryDirectory()
        let shell = Shell(directory: directory.path)
        let server = try await ServingCommand.dev(in: directory)
        try AtomicFile.write(Array("rye\n".utf8), to: directory.file("bread.txt"))
        try AtomicFile.write(Array(#"{"type":"typing_start"}"#.utf8), to: directory.file("typing.json"))
        let choice = OutboundMessage.quickReply(
            try QuickReplyRequest(
                summary: "Rye?", items: [.init("y", title: "Yes"), .init("n", title: "No")],
                requestIdentifier: MessageID.random().rawValue))
        try AtomicFile.write(choice.draft(), to: directory.file("choice.json"))
        for arguments in [
            "--text 'Your bread is ready.'", "--link https://example.com/bread --title Bread",
            "--text 'The list:' --attach bread.txt", "--message typing.json",
            "--link https://example.com/clip --preview", "--message choice.json --reusable",
        ] {
            let sent = try await shell.run("balloon send --to carol \(arguments)")
            #expect(sent.status == 0, "\(sent.errors)")
            #expect(sent.output.hasPrefix("accepted  "))
        }
        let json = try await shell.run("balloon send --to carol --text Hi --json")
        #expect(try JSONDocument(Array(json.output.utf8)).root["outcome"]?.string == "accepted")
        let shown = try await shell.run("balloon conversations show carol --json")
        #expect(shown.output.split(separator: "\n").count == 7)
        #expect(shown.output.contains(#""sha256""#) == false)

        let dry = try await shell.run("balloon send --to carol --text 'Not yet' --dry-run")
        #expect(dry.status == 0)
        #expect(try JSONDocument(Array(dry.output.utf8)).root["body"]?.string == "Not yet")
        let bubble = #"{"receivedMessage":{"title":"Sign in"}}"#
        for request in [bubble, #"{"signIn":\#(bubble)}"#] {
            let signIn = try await shell.run("balloon send --to carol --sign-in '\(request)' --dry-run")
            #expect(signIn.status == 0, "\(signIn.errors)")
            let data = try JSONDocument(Array(signIn.output.utf8)).root["interactiveData"]?["data"]
            #expect(data?["authenticate"]?["oauth2"]?["state"]?.string == "[added when sent]")
        }
        for (arguments, status) in [
            ("--to carol --sign-in '{}'", 65), ("--to carol --sign-in none.json", 69),
            ("--to carol", 64), ("--to carol --text a --link b --title c", 64), ("--text a", 64),
            ("--to carol --message none.json", 69), ("--to carol --text a --attach none.txt", 69),
            ("--to carol --text ''", 65), ("--to carol --text a --business other", 64),
            ("--to carol --text a --preview", 64), ("--to carol --text a --reusable", 64),
            ("--to carol --link https://example.com --preview --title ''", 65),
        ] {
            #expect(try await shell.run("balloon send \(arguments)").status == status, "\(arguments)")
        }
        #expect(
            try await shell.run("balloon conversations show carol").output.split(separator: "\n").count == 7)
        await server.stop()
        // No server and no gateway: it is on disk, and waits.
        let waiting = try await shell.run("balloon send --to carol --text later --wait 0")
        #expect(waiting.status == 75, "\(waiting.errors)")
        #expect(waiting.output.hasPrefix("queued  "))
    }

    @Test func `a path other than a regular file is refused at once, without reading it`() async throws {
        let directory = TemporaryDirectory()
        let shell = Shell(directory: directory.path)
        let server = try await ServingCommand.dev(in: directory)
        #expect(try await shell.run("mkfifo pipe").status == 0)
        for command in ["send --to carol --text a", "simulate text"] {
            for (path, reason) in [("pipe", "not a regular file"), ("data", "Is a directory")] {
                let result = try await shell.run("timeout 120 balloon \(command) --attach \(path)")
                #expect(result.status == 69, "\(command) \(path)")
                #expect(result.errors.contains("\(path): "), "\(result.errors)")
                #expect(result.errors.contains(reason), "\(result.errors)")
            }
        }
        await server.stop()
    }

    @Test func `a customer's file is listed and extracted by its hash`() async throws {
        let directory = TemporaryDirectory()
        let shell = Shell(directory: directory.path)
        let server = try await ServingCommand.dev(in: directory)
        let identity = try #require(try DevelopmentServer.read(in: directory.file("data")))
        let client = try GatewayClient(
            configuration: GatewayConfiguration(
                baseURL: identity.gateway + "/v1", mspID: identity.mspID, secret: identity.secret,
                downloadHosts: [String(identity.gateway.dropFirst("http://".count))]),
            logger: LogCollector().logger)
        let file = try await client.upload(ContentSource(bytes: [1, 2, 3]), for: identity.businessID)
        let attachment = file.attachment(name: "a\u{1B}[31m.png", mimeType: "image/png")
        let message =
            #"{"type":"text","body":"\#u{FFFC}","attachments":["#
            + String(decoding: attachment.json, as: UTF8.self)
            + "]}"
        try AtomicFile.write(Array(message.utf8), to: directory.file("message.json"))
        let simulated = try await shell.run("balloon simulate message.json --wait --customer bob")
        #expect(simulated.status == 0, "\(simulated.errors)")
        let list = try await shell.run("balloon attachments list --customer bob")
        #expect(
            list.output.hasSuffix("  3  bob  a\u{FFFD}[31m.png  image/png\n")
                || list.output.contains("  3  bob  "))
        #expect(!list.output.contains("\u{1B}"))
        let json = try JSONDocument(
            Array(try await shell.run("balloon attachments list --json").output.utf8)
        ).root
        #expect(json["kept"]?.bool == true)
        let hash = try #require(json["sha256"]?.string)
        #expect(try await shell.run("balloon attachments get \(hash.prefix(8))").output == "\u{1}\u{2}\u{3}")
        #expect(try await shell.run("balloon attachments get \(hash) --output copy").status == 0)
        #expect(try File(directory.file("copy"), for: .reading).readAll() == [1, 2, 3])
        #expect(try await shell.run("balloon attachments get \(hash) --output copy").status == 69)
        let lost = try await shell.run("balloon attachments get \(hash) >/dev/full")
        #expect(lost.status == 69)
        #expect(lost.errors.contains("error: standard output: write: No space left on device (28)"))
        // The file size limit simulates a full disk; it also cuts off the command's messages.
        let part = try await shell.run(
            "trap '' XFSZ; ulimit -f 0; balloon attachments get \(hash) --output part")
        #expect(part.status == 69)
        #expect(!Directory.exists(directory.file("part")))
        let export = try await shell.run("balloon export out --customer bob")
        #expect(export.status == 0 && export.output.contains("and 1 files to out"), "\(export.errors)")
        #expect(try File(directory.file("out/files/\(hash)"), for: .reading).readAll() == [1, 2, 3])
        let messages = try File(directory.file("out/conversation-1/messages.ndjson"), for: .reading).readAll()
        #expect(
            String(decoding: messages, as: UTF8.self).contains(#""files":[{"sha256":"\#(hash)","size":3}]"#))
        let full = try await shell.run("trap '' XFSZ; ulimit -f 0; balloon export full --customer bob")
        #expect(full.status == 69 && !Directory.exists(directory.file("full")))
        #expect(try await shell.run("balloon export full --customer bob").errors.contains("full.new exists"))
        for wrong in ["0", "ffffffff", "../../dev.json"] {
            #expect(try await shell.run("balloon attachments get \(wrong)").status == 64)
        }
        await server.stop()
    }
}
