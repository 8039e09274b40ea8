import BalloonJSON
import BalloonPOSIX
import Glibc
import TestSupport
import Testing

@testable import balloon

@Suite struct HandlersTests {
    /// Creates a configuration with one business, whose handler is the Python sample of `balloon init`.
    private func configuration() async throws -> TemporaryDirectory {
        let directory = TemporaryDirectory()
        let written = try await Shell(directory: directory.path).run("balloon init --handler python")
        #expect(written.status == 0, "\(written.errors)")
        #expect(written.output.contains("balloon handlers check ./shop.py"))
        return directory
    }

    private func text(_ path: String) throws -> String {
        String(decoding: try File(path, for: .reading).readAll(), as: UTF8.self)
    }

    @Test(arguments: [
        ("python", ["shop.py", "balloon.py"]), ("node", ["shop.mjs", "balloon.mjs"]), ("shell", ["shop.sh"]),
    ])
    func `init writes the sample handlers, and they pass the check`(_ language: String, _ files: [String])
        async throws
    {
        let directory = TemporaryDirectory()
        let shell = Shell(directory: directory.path)
        let written = try await shell.run("balloon init --handler \(language)")
        #expect(written.status == 0, "\(written.errors)")
        for file in files {
            #expect(
                try text(directory.file(file)) == text(Fixture.sampleHandlers + "/\(language)/\(file)"),
                "\(file)")
        }
        // The image's user and that of a systemd unit read the files of another user.
        let modes = try await shell.run("stat -c '%a %n' server.json businesses businesses/shop.json *.*")
        let isReadable = modes.output.split(separator: "\n").allSatisfy {
            $0.hasPrefix("644 ") || $0.hasPrefix("755 ")
        }
        #expect(isReadable, "\(modes.output)")
        let program = "./" + files[0]
        #expect(try text(directory.file("businesses/shop.json")).contains("../\(files[0])"))
        #expect(written.output.contains("balloon dev --handler \(program)"))
        let checked = try await shell.run("balloon handlers check \(program)")
        #expect(checked.status == 0, "\(checked.output)")
        #expect(checked.output.contains("ok    event form: handled, 1 reply"))
    }

    @Test func `init writes a valid configuration, and overwrites no files`() async throws {
        let directory = try await configuration()
        let shell = Shell(directory: directory.path)
        let again = try await shell.run("balloon init --handler python")
        #expect(again.status == 64)
        #expect(again.errors.contains("server.json exists already"))
        let sound = try await shell.run(
            "BALLOON_SECRET=c2VjcmV0LXNlY3JldC1zZWNyZXQ= balloon config check --config server.json")
        #expect(sound.output == "server.json is valid; businesses: shop\n", "\(sound.errors)")
        let broken = try await shell.run("balloon handlers check -- sh -c 'echo hello; exit 3'")
        #expect(broken.status == 1)
        #expect(broken.output.contains("\nFAIL  handshake: "))
    }

    @Test func `init writes all files or none, and names the file that failed`() async throws {
        let directory = TemporaryDirectory()
        let shell = Shell(directory: directory.path)
        try Directory.make(directory.file("bot"))
        try AtomicFile.write([], to: directory.file("bot/businesses"))
        let stopped = try await shell.run("balloon init bot --handler python")
        #expect(stopped.status == 69)
        #expect(stopped.errors.contains("error: bot/businesses/shop.json: mkdir: Not a directory"))
        #expect(!stopped.errors.contains("free space on the disk"))
        #expect(stopped.output == "")
        #expect(try Directory.names(in: directory.file("bot")) == ["businesses"])
        try AtomicFile.write([], to: directory.file("file"))
        let below = try await shell.run("balloon init file/bot --handler swift")
        #expect(below.status == 69)
        #expect(
            below.errors.contains("error: file/bot/server.json: mkdir: Not a directory"), "\(below.errors)")
        // When a write fails, init removes the files that it has written. Here the limit for each file is 512 bytes.
        let full = try await shell.run("trap '' XFSZ; ulimit -f 1; balloon init full/bot --handler python")
        #expect(full.status == 69)
        #expect(full.errors.contains("error: full/bot/shop.py: write: File too large"), "\(full.errors)")
        #expect(!Directory.exists(directory.file("full")))
        let empty = try await shell.run("balloon init '' --handler python")
        #expect(empty.status == 64)
        #expect(empty.errors.contains("name is empty"))
    }

    @Test func `a missing program is reported before a server starts`() async throws {
        let directory = try await configuration()
        let shell = Shell(directory: directory.path)
        try Directory.remove(directory.file("shop.py"))
        let secret = "BALLOON_SECRET=c2VjcmV0LXNlY3JldC1zZWNyZXQ="
        let checked = try await shell.run("\(secret) balloon config check --config server.json")
        #expect(checked.status == 78)
        #expect(
            checked.errors.contains("businesses/shop.json: names the program ../shop.py, which cannot be"),
            "\(checked.errors)")
        // The missing program is also reported together with other problems, in the same file and in the other one.
        let business = try text(directory.file("businesses/shop.json"))
        try AtomicFile.write(
            Array(business.replacing(#""name": "Shop""#, with: #""name": "", "deadlineSeconds": 0"#).utf8),
            to: directory.file("businesses/shop.json"))
        let both = try await shell.run("\(secret) BALLOON_LISTEN=x balloon config check --config server.json")
        #expect(both.status == 78)
        for wrong in ["BALLOON_LISTEN", "/deadlineSeconds", "/name", "names the program ../shop.py"] {
            #expect(both.errors.contains(wrong), "\(wrong): \(both.errors)")
        }
        try AtomicFile.write(Array(business.utf8), to: directory.file("businesses/shop.json"))
        let started = try await shell.run("balloon dev --handler ./shop.py --listen 127.0.0.1:0")
        #expect(started.status == 69)
        #expect(started.errors.contains("./shop.py: access: No such file or directory"))
        #expect(started.errors.contains("hint: check its path, which is relative to"))
    }

    @Test
    func
        `init writes a Swift package that equals the sample, and reports a wrong path to the server's package`()
        async throws
    {
        let directory = TemporaryDirectory()
        let written = try await Shell(directory: directory.path).run(
            "balloon init bot --handler swift --package ../../..")
        #expect(written.status == 0, "\(written.errors)")
        #expect(
            written.output.contains("The server's package was not found in bot/../../..: correct its path"))
        let root = Fixture.directory.dropLast("/Tests/TestSupport/Fixtures".count)
        let found = try await Shell(directory: directory.path).run(
            "balloon init found --handler swift --package \(quoted(String(root)))")
        #expect(found.status == 0)
        #expect(!found.output.contains("correct its path"))
        for name in ["Package.swift", "Sources/shop/main.swift", "Sources/shop/Shop.swift"] {
            #expect(
                try text(directory.file("bot/" + name)) == text(Fixture.sampleHandlers + "/swift/" + name),
                "\(name)")
        }
    }

    /// Starts the server of the directory's configuration; its log is appended to that of an earlier server.
    private func serve(in directory: TemporaryDirectory) async throws -> ServingCommand {
        try await ServingCommand(
            "serve --config server.json --listen 127.0.0.1:0", in: directory,
            setup: "export BALLOON_SECRET=c2VjcmV0LXNlY3JldC1zZWNyZXQ=;", log: "2>>log")
    }

    /// Waits until `count` lines of the server's log contain `words`.
    private func log(_ words: String, in directory: TemporaryDirectory, count: Int = 1) async throws {
        let isThere = await eventually {
            let lines = (try? text(directory.file("log")))?.split(separator: "\n") ?? []
            return lines.count { $0.contains(words) } >= count
        }
        if !isThere { Issue.record("no \"\(words)\" in \(try text(directory.file("log")))") }
    }

    @Test
    func
        `a running server lists and restarts its handlers, shows their logs, and reloads its configuration`()
        async throws
    {
        let directory = try await configuration()
        let shell = Shell(directory: directory.path)
        let server = try await serve(in: directory)
        try await log("handler is ready", in: directory)
        let list = try await shell.run("balloon handlers list")
        #expect(list.output.hasPrefix("shop  ready  process "), "\(list.errors)")
        #expect(
            try await shell.run("balloon handlers list --json").output.hasPrefix(
                #"{"business":"shop","health":"#))
        #expect(try await shell.run("balloon handlers restart shop").output == "shop restarted\n")
        try await log("handler is ready", in: directory, count: 2)
        #expect(try await shell.run("balloon handlers logs shop").output == "")
        #expect(
            try await shell.run("balloon handlers restart shop --json").output
                == #"{"business":"shop","restarted":true}"# + "\n")
        try await log("handler is ready", in: directory, count: 3)
        let unknown = try await shell.run("balloon handlers restart nobody")
        #expect(unknown.status == 64)
        #expect(
            unknown.errors
                == "error: \"nobody\" is not a business with a handler\n  hint: run balloon handlers list to see the businesses\n"
        )

        // The server loads a new file, keeps the old configuration when a file is invalid, and reloads at SIGHUP.
        let quiet = #"{"businessID":"b-2","name":"Quiet","handler":{"builtin":"none"}}"#
        try AtomicFile.write(Array(quiet.utf8), to: directory.file("businesses/quiet.json"))
        try await log("configuration reloaded", in: directory)
        #expect(
            try await shell.run("balloon handlers list").output.hasPrefix(
                "quiet  none  0 in flight\nshop  ready"))
        try AtomicFile.write(Array("{".utf8), to: directory.file("businesses/quiet.json"))
        try await log("the old configuration stays", in: directory)
        #expect(try await shell.run("balloon handlers list").output.hasPrefix("quiet"))
        try AtomicFile.write(Array(quiet.utf8), to: directory.file("businesses/quiet.json"))
        try await log("configuration reloaded", in: directory, count: 2)
        server.hangUp()
        try await log("configuration reloaded", in: directory, count: 3)
        await server.stop()
        let gone = try await shell.run("balloon handlers list")
        #expect(gone.status == 69)
    }

    /// Whether the process runs; a zombie counts as ended.
    private func isRunning(_ process: Int) -> Bool {
        guard let stat = try? text("/proc/\(process)/stat") else { return false }
        return stat.split(separator: ")").last?.split(separator: " ").first != "Z"
    }

    @Test func `the handler processes of a killed server end by themselves`() async throws {
        let directory = try await configuration()
        let shell = Shell(directory: directory.path)
        let programs = ["node": "node/shop.mjs", "shell": "shell/shop.sh"].mapValues {
            Fixture.sampleHandlers + "/" + $0
        }
        .merging(["swift": try Shell.programs() + "/ShopExample"]) { $1 }
        for (slug, program) in programs {
            let business = #"{"businessID":"b-\#(slug)","name":"Shop","handler":{"exec":["\#(program)"]}}"#
            try AtomicFile.write(Array(business.utf8), to: directory.file("businesses/\(slug).json"))
        }
        let server = try await serve(in: directory)
        try await log("handler is ready", in: directory, count: 4)
        let handlers = try JSONDocument(
            Array(
                "[\(try await shell.run("balloon handlers list --json").output.split(separator: "\n").joined(separator: ","))]"
                    .utf8))
        let processes = handlers.root.elements.compactMap { $0["process"]?.int }
        #expect(processes.count == 4)
        #expect(processes.allSatisfy(isRunning))
        await server.kill()
        // Each handler process ends by itself, because the server's end closes its standard input.
        #expect(await eventually { !processes.contains(where: isRunning) })
    }

    @Test func `an embedded server reports a wrong configuration, and does not trap`()
        async throws
    {
        let directory = try await configuration()
        let shell = Shell(directory: directory.path)
        let wrong = try await shell.run("ShopExample server.json")
        #expect(wrong.status == 78)
        #expect(
            wrong.errors.contains(
                "/secret/env: names an environment variable that is not set\n  hint: set it"))
        #expect(
            wrong.errors.contains(
                "is bound by \"exec\", which this program cannot run\n  hint: use one of: {\"builtin\": \"shop\"}"
            ))
        let business = #"{"businessID":"b-1","name":"Shop","handler":{"builtin":"shop"}}"#
        try AtomicFile.write(Array(business.utf8), to: directory.file("businesses/shop.json"))
        let taken = try await shell.run(
            "BALLOON_SECRET=c2VjcmV0LXNlY3JldC1zZWNyZXQ= BALLOON_DATA_DIRECTORY=server.json/data ShopExample server.json"
        )
        #expect(taken.status == 69, "\(taken.errors)")
        #expect(taken.errors.contains("error: "))
        let hasty = try await shell.run("balloon handlers check ./shop.py --deadline 0")
        #expect(hasty.status == 64)
    }

    @Test func `handlers list shows noise, and commands for a builtin handler fail and name the reason`()
        async throws
    {
        let directory = try await configuration()
        let shell = Shell(directory: directory.path)
        let files = [
            "shop": #"{"exec":["sh","-c","echo Loading; exec ../shop.py"]}"#,
            "inside": #"{"builtin":"demo"}"#,
        ]
        for (slug, handler) in files {
            let business = #"{"businessID":"b-\#(slug)","name":"Shop","handler":\#(handler)}"#
            try AtomicFile.write(Array(business.utf8), to: directory.file("businesses/\(slug).json"))
        }
        let server = try await serve(in: directory)
        try await log("handler is ready", in: directory)
        let list = try await shell.run("balloon handlers list").output
        #expect(list.contains("1 line of noise"), "\(list)")
        #expect(try await shell.run("balloon handlers list --json").output.contains(#""noiseLines":1"#))
        for command in ["restart", "logs"] {
            let inside = try await shell.run("balloon handlers \(command) inside")
            #expect(inside.status == 64)
            #expect(inside.errors.hasPrefix("error: the handler of inside runs inside the server\n  hint: "))
        }
        await server.stop()
    }

    @Test func `a process that survives a killed server is ended by the next server`() async throws {
        let directory = try await configuration()
        // The handler reads nothing after the first call, so it does not notice that the server was killed.
        let introduction =
            #"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"1\",\"events\":\"*\"}}"#
        let deaf = "read line; echo '\(introduction)'; exec sleep 1000"
        let business = #"{"businessID":"b-1","name":"Shop","handler":{"exec":["sh","-c","\#(deaf)"]}}"#
        try AtomicFile.write(Array(business.utf8), to: directory.file("businesses/shop.json"))
        let first = try await serve(in: directory)
        try await log("handler is ready", in: directory)
        let path = directory.file("data/handlers/shop/process")
        func named() -> Int? { (try? text(path))?.split(separator: " ").first.flatMap { Int($0) } }
        let process = try #require(named())
        await first.kill()
        #expect(isRunning(process))
        let second = try await serve(in: directory)
        #expect(await eventually { !isRunning(process) })
        try await log("of an earlier server", in: directory)
        // The second server leaves a process as well; end it here, because no third server follows.
        try await log("handler is ready", in: directory, count: 2)
        await second.kill()
        let rest = try #require(named())
        #expect(rest != process && Glibc.kill(pid_t(rest), SIGKILL) == 0)
    }

    @Test func `the next server ends child processes that an ended handler left behind`()
        async throws
    {
        let directory = try await configuration()
        let wrapper =
            #"{"exec":["sh","-c","sleep 1000 & echo $! >../left; exec ../shop.py"]}"#
        let business = #"{"businessID":"b-1","name":"Shop","handler":\#(wrapper)}"#
        try AtomicFile.write(Array(business.utf8), to: directory.file("businesses/shop.json"))
        let first = try await serve(in: directory)
        try await log("handler is ready", in: directory)
        let left = try #require(Int(try text(directory.file("left")).dropLast()))
        let program = try #require(
            try text(directory.file("data/handlers/shop/process")).split(separator: " ").first
                .flatMap { Int($0) })
        await first.kill()
        #expect(await eventually { !isRunning(program) })
        #expect(isRunning(left))
        let second = try await serve(in: directory)
        try await log("handler is ready", in: directory, count: 2)
        #expect(await eventually { !isRunning(left) })
        _ = Glibc.kill(pid_t(left), SIGKILL)
        await second.stop()
    }

    @Test(arguments: [SIGTERM, SIGHUP])
    func `handlers check ends the checked program when a signal ends the check`(_ number: Int32) async throws
    {
        let directory = TemporaryDirectory()
        let running = try Shell(directory: directory.path).start(
            "exec balloon handlers check -- sh -c 'trap \"\" TERM HUP; echo $$ >deaf; exec sleep 1000'")
        func named() -> Int? { (try? text(directory.file("deaf"))).flatMap { Int($0.dropLast()) } }
        #expect(await eventually { named() != nil })
        let process = try #require(named())
        if number == SIGHUP { running.hangUp() } else { running.terminate() }
        #expect(await running.wait() == 128 + number)
        // The program is not a child of this process; the process that adopts it reaps it.
        #expect(await eventually { !isRunning(process) })
        _ = Glibc.kill(pid_t(process), SIGKILL)
    }

    @Test func `dev --handler runs the given handler program`() async throws {
        let directory = try await configuration()
        let shell = Shell(directory: directory.path)
        let server = try await ServingCommand.dev(
            "--handler ./shop.py", in: directory, until: "balloon simulate")
        let answer = try await shell.run("balloon simulate text --wait")
        #expect(answer.output.contains("What can we do for you?"), "\(answer.errors)")
        await server.stop()
    }
}
