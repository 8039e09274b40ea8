import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import TestSupport
import Testing

@testable import balloon

/// Tests `balloon dev` with other handlers than the demo.
@Suite struct DevHandlerTests {
    /// The script of a handler that answers every text with `answer`.
    private static func script(_ answer: String) -> [UInt8] {
        Array(
            #"""
            #!/bin/sh
            while IFS= read -r line; do
                id=$(printf '%s' "$line" | sed -E 's/^\{"jsonrpc": ?"2\.0", ?"id": ?([0-9]+).*/\1/')
                case $line in
                *'"initialize"'*) result='{"protocolVersion":"1","handler":{"name":"test"},"events":["text"]}' ;;
                *'"event"'*) result='{"replies":["\#(answer)"]}' ;;
                *) continue ;;
                esac
                printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
            done
            """#.utf8)
    }

    private static func write(_ answer: String, to name: String, in directory: TemporaryDirectory) throws {
        // Replace the file as editors do: write a new file, then rename it to the old name.
        try AtomicFile.write(script(answer), to: directory.file(name + ".new"))
        try Directory.makeExecutable(directory.file(name + ".new"))
        try Directory.rename(directory.file(name + ".new"), to: directory.file(name))
    }

    @Test func `a handler program restarts when its file changes`() async throws {
        let directory = TemporaryDirectory()
        try Self.write("one", to: "bot.sh", in: directory)
        let server = try await ServingCommand.dev("--handler ./bot.sh", in: directory)
        let shell = Shell(directory: directory.path)
        for command in ["balloon handlers logs demo", "balloon handlers restart demo", "balloon chat"] {
            #expect(server.greeting.contains(command))
        }
        #expect(try await shell.run("balloon simulate text --wait").output.hasSuffix("business  text: one\n"))
        try Self.write("two", to: "bot.sh", in: directory)
        let changed = try await shell.run("balloon simulate text --wait") {
            $0.output.hasSuffix("text: two\n")
        }
        #expect(changed.output.hasSuffix("business  text: two\n"))
        #expect(try await shell.run("cat log").output.contains("handler file changed; restarting"))
        await server.stop()
    }

    @Test func `a handler program restarts when a source below its folder changes, but not for other files`()
        async throws
    {
        let directory = TemporaryDirectory()
        try Directory.make(directory.file("bot/words"))
        try Self.write("$answer", to: "bot/bot.sh", in: directory)
        let program = String(decoding: Self.script("$answer"), as: UTF8.self)
            .replacing("#!/bin/sh", with: "#!/bin/sh\n. \"${0%/*}/words/answer.sh\"")
            .replacing("'{\"replies\":[\"$answer\"]}'", with: "'{\"replies\":[\"'$answer'\"]}'")
        try AtomicFile.write(Array(program.utf8), to: directory.file("bot/bot.sh"))
        try Directory.makeExecutable(directory.file("bot/bot.sh"))
        try AtomicFile.write(Array("answer=one".utf8), to: directory.file("bot/words/answer.sh"))
        let server = try await ServingCommand.dev("--handler ./bot/bot.sh", in: directory)
        let shell = Shell(directory: directory.path)
        #expect(try await shell.run("balloon simulate text --wait").output.hasSuffix("business  text: one\n"))
        // A file with the program's data is not a source, and so does not restart the program.
        try AtomicFile.write(Array("x".utf8), to: directory.file("bot/words/orders.db"))
        try AtomicFile.write(Array("answer=two".utf8), to: directory.file("bot/words/answer.sh"))
        let changed = try await shell.run("balloon simulate text --wait") {
            $0.output.hasSuffix("text: two\n")
        }
        #expect(changed.output.hasSuffix("business  text: two\n"))
        await server.stop()
    }

    @Test(arguments: [
        ("bot.py", ["py"]), ("bot.mjs", ["cjs", "cts", "js", "mjs", "mts", "ts"]), ("bot", []), (".bot", []),
    ])
    func `the watched sources of a program have the program's extension`(name: String, extensions: [String]) {
        #expect(HandlerReloading.extensions(of: name).sorted() == extensions)
    }

    @Test func `at most 100 folders are watched, without hidden folders and those of packages`() throws {
        let directory = TemporaryDirectory()
        for name in ["a/b", "node_modules/x", ".git", "__pycache__"] {
            try Directory.make(directory.file("bot/" + name))
        }
        let top = directory.file("bot")
        #expect(HandlerReloading.folders(below: top) == [top, top + "/a", top + "/a/b"])
        for number in 0..<120 { try Directory.make(directory.file("bot/many/\(number)")) }
        #expect(HandlerReloading.folders(below: top).count == HandlerReloading.maximumFolders)
    }

    @Test
    func `simulate --wait reports that the handler is down, and names the command that shows the cause`()
        async throws
    {
        let directory = TemporaryDirectory()
        try AtomicFile.write(Array("#!/bin/sh\nexit 1\n".utf8), to: directory.file("bot.sh"))
        try Directory.makeExecutable(directory.file("bot.sh"))
        let server = try await ServingCommand.dev("--handler ./bot.sh", in: directory)
        let result = try await Shell(directory: directory.path).run(
            "balloon simulate text --wait --timeout 2")
        #expect(result.status == 75)
        #expect(result.output.contains(": its handler has been down for "), "\(result.output)")
        #expect(
            result.output.hasSuffix(" s; for the reason, run balloon handlers logs demo\n"),
            "\(result.output)")
        await server.stop()
    }

    @Test func `a changed handler program is not restarted when reloading is off`() async throws {
        let directory = TemporaryDirectory()
        try Self.write("one", to: "bot.sh", in: directory)
        let server = try await ServingCommand.dev("--handler ./bot.sh --no-reload", in: directory)
        try Self.write("two", to: "bot.sh", in: directory)
        let shell = Shell(directory: directory.path)
        #expect(try await shell.run("balloon simulate text --wait").output.hasSuffix("business  text: one\n"))
        #expect(!(try await shell.run("cat log").output.contains("handler file changed")))
        await server.stop()
    }

    @Test
    func `dev serves a configuration's businesses, but uses neither its MSP secret nor its data directory`()
        async throws
    {
        let directory = TemporaryDirectory()
        try Directory.make(directory.file("etc/businesses"))
        let files = [
            (
                "server.json",
                #"{"mspID":"msp","secret":{"file":"/nowhere/msp"},"dataDirectory":"/nowhere/data"}"#
            ),
            (
                "businesses/fish.json",
                #"{"businessID":"b-fish","name":"Fish","handler":{"exec":["sh","./fish.sh"]}}"#
            ),
            ("businesses/cake.json", #"{"businessID":"b-cake","name":"Cake","handler":{"builtin":"none"}}"#),
        ]
        for (name, text) in files {
            try AtomicFile.write(Array(text.utf8), to: directory.file("etc/" + name))
        }
        try Self.write("cod", to: "etc/businesses/fish.sh", in: directory)
        let server = try await ServingCommand.dev("--config etc/server.json", in: directory)
        let shell = Shell(directory: directory.path)
        let fish = try await shell.run("balloon simulate text --wait --business fish")
        #expect(fish.output.hasSuffix("business  text: cod\n"), "\(fish.errors)")
        let cake = try await shell.run("balloon simulate text --wait --business b-cake")
        #expect(
            cake.output.hasSuffix("handled, no reply\n")
                || cake.output.hasSuffix("no handler for this kind\n"))
        try Self.write("sole", to: "etc/businesses/fish.sh", in: directory)
        let changed = try await shell.run("balloon simulate text --wait --business fish") {
            $0.output.hasSuffix("text: sole\n")
        }
        #expect(changed.output.hasSuffix("business  text: sole\n"))
        #expect(!Directory.exists("/nowhere"))
        #expect(server.greeting.contains("balloon chat --business fish"))
        let identity = try #require(try DevelopmentServer.read(in: directory.file("data"))).businessID
        let described = try JSONDocument(
            try File(DevelopmentServer.path(in: directory.file("data")), for: .reading).readAll()
        ).root
        #expect(described["business"]?.string == "cake")
        #expect(described["businessID"]?.string == "b-cake")
        #expect(described["businesses"]?.elements.compactMap { $0["slug"]?.string } == ["cake", "fish"])
        // A later start without the configuration is the same demo as before.
        #expect(described["demoID"]?.string == identity.rawValue)
        // The gateway knows the businesses of the configuration, and no others.
        let gateway = try #require(try DevelopmentServer.read(in: directory.file("data"))).gateway
        for (source, status) in [("b-fish", "400"), ("b-cake", "400"), ("foreign", "404")] {
            let answer = try await shell.run(
                "curl -s -o answer -w '%{http_code}' -H \"authorization: Bearer $(balloon token sign --outbound)\" "
                    + "-H 'source-id: \(source)' \(gateway)/v1/preDownload")
            #expect(answer.output == status, "\(source)")
        }
        await server.stop()
    }

    @Test
    func `simulate with a configuration needs the MSP's secret, but no handler's secret and no certificate`()
        async throws
    {
        let directory = TemporaryDirectory()
        try Directory.make(directory.file("businesses"))
        let files = [
            (
                "server.json",
                #"{"mspID":"msp","secret":{"env":"MSP_SECRET"},"publicURL":"https://balloon.example","tls":{"certificateFile":"none","keyFile":"none"}}"#
            ),
            (
                "businesses/fish.json",
                #"{"businessID":"b","name":"Fish","handler":{"http":{"url":"https://fish.example","secret":{"env":"NONE"}}}}"#
            ),
        ]
        for (name, text) in files { try AtomicFile.write(Array(text.utf8), to: directory.file(name)) }
        let result = try await Shell(directory: directory.path).run(
            "MSP_SECRET=c2VjcmV0LXNlY3JldC1zZWNyZXQ= balloon simulate text --config server.json --to http://127.0.0.1:9"
        )
        #expect(result.status == 69)
        #expect(
            result.errors.hasPrefix("error: no server answers at http://127.0.0.1:9\n"), "\(result.errors)")
    }

    @Test func `dev uses an HTTP service as handler, and does not start without a usable secret for it`()
        async throws
    {
        let directory = TemporaryDirectory()
        let shell = Shell(directory: directory.path)
        let missing = try await shell.run(
            "balloon dev --listen 127.0.0.1:0 --handler-url http://127.0.0.1:9/ --handler-secret-env NONE")
        #expect(missing.status == 64)
        #expect(missing.errors.hasPrefix("error: --handler-url is refused: "), "\(missing.errors)")
        let server = try await ServingCommand(
            "dev --listen 127.0.0.1:0 --handler-url http://127.0.0.1:9/ --handler-secret-env KEY",
            in: directory,
            setup: "export KEY=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=;",
            until: ServingCommand.endOfGreeting)
        let pending = try await shell.run("balloon simulate text --wait --timeout 1")
        #expect(pending.status == 75)
        await server.kill()
    }

    @Test func `dev refuses the data directory of balloon serve`() async throws {
        let directory = TemporaryDirectory()
        let server = try await ServingCommand.dev(in: directory)
        await server.stop()
        try Directory.remove(DevelopmentServer.path(in: directory.file("data")))
        let refused = try await Shell(directory: directory.path).run("balloon dev --listen 127.0.0.1:0")
        #expect(refused.status == 64)
        #expect(refused.errors.hasPrefix("error: data is the data directory of balloon serve\n"))
    }
}
