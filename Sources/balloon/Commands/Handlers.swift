import ArgumentParser
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import HandlerBridges
import HandlerKit
import Logging
import MessageServer
import Simulator
import Synchronization

/// `balloon handlers …`: the handlers of a running server, and a check for handler programs.
struct Handlers: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "handlers",
        abstract:
            "List and restart the handlers of a running server, show their logs, and check a handler program.",
        subcommands: [List.self, Restart.self, Logs.self, Check.self])

    /// `balloon handlers list`: lists the handlers of the running server with their states.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "List the handlers: business, health, process, restarts, events in flight and waiting, stuck calls, noise."
        )

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let answer = try await ControlSocket(data: try options.data).ask(
                ControlOperations.handlers, Nothing())
            guard let handlers = try JSONDocument(answer).root["handlers"]?.elements else { return }
            options.writeHeader("BUSINESS", "HEALTH", "STATE")
            for handler in handlers {
                options.write(text(handler), json: String(decoding: handler.text, as: UTF8.self) + "\n")
            }
        }

        private func text(_ handler: JSONValue) -> String {
            var words = [handler["business"]?.string ?? "", handler["health"]?.string ?? ""]
            words += handler["downSeconds"]?.int.map { ["down for \($0) s"] } ?? []
            words += handler["process"]?.int.map { ["process \($0)"] } ?? []
            words += handler["restarts"]?.int.map { ["\($0) restarts"] } ?? []
            words.append("\(handler["inFlight"]?.int ?? 0) in flight")
            if let waiting = handler["waiting"]?.int, waiting > 0 { words.append("\(waiting) waiting") }
            if let stuck = handler["stuck"]?.int, stuck > 0 { words.append("\(stuck) stuck") }
            if let noise = handler["noiseLines"]?.int, noise > 0 {
                words.append("\(noise) \(noise == 1 ? "line" : "lines") of noise")
            }
            return terminalText(words.joined(separator: "  ")) + "\n"
        }
    }

    /// `balloon handlers restart`: restarts the handler of one business.
    struct Restart: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Restart a business's handler at once, even when its restarts are suspended.")

        @Argument(help: "The business's slug.")
        var business: String

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            _ = try await ask(ControlOperations.restartHandler, business, options)
            options.write(
                "\(business) restarted\n", json: jsonLine(["business": business, "restarted": true]))
        }
    }

    /// `balloon handlers logs`: shows the latest log lines of one business's handler.
    struct Logs: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the latest lines that a business's handler logged, 200 at most.")

        @Argument(help: "The business's slug.")
        var business: String

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let answer = try await ask(ControlOperations.handlerLogs, business, options)
            guard let lines = try JSONDocument(answer).root["lines"]?.elements else { return }
            for line in lines {
                let text = line.string ?? ""
                options.write(terminalText(text) + "\n", json: jsonLine(["line": text]))
            }
        }
    }

    private static func ask(
        _ operation: ControlOperation<String?, [String]>, _ business: String, _ options: ReadingOptions
    ) async throws -> [UInt8] {
        do {
            return try await ControlSocket(data: try options.data).ask(
                operation, business, timeout: ControlSocket.restartTimeout)
        } catch CommandFailure.refused(status: 404, answer: _) {
            throw CommandFailure.unknownArgument(
                "\"\(terminalText(business))\"", reason: "is not a business with a handler",
                hint: "run balloon handlers list to see the businesses")
        } catch CommandFailure.refused(status: 409, answer: _) {
            throw CommandFailure.unknownArgument(
                "the handler of \(terminalText(business))", reason: "runs inside the server",
                hint: "restart the server instead; the handler's log lines are in the server's log")
        }
    }

    /// `balloon handlers check`: checks whether a program is a reliable handler.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check whether a program is a reliable handler, and report what to correct.",
            discussion: """
                Starts the program like a server and checks: handshake, an event of each subscribed kind, the same event again, an event in \
                a file, an event in pieces, a text with unusual characters, concurrent events, response times, the same events from devices that show less than an \
                iPhone, cancel, an unknown call, noise, shutdown and a kill. Exits with 0 when every check passes. A line \
                that begins with warn names something that the customer would miss.
                """)

        @Argument(help: "The program and its arguments; put -- before arguments that begin with a dash.")
        var program: [String]

        @Option(help: .value("file", "A file with the handler's \"config\"."))
        var config: String?

        @Option(
            help: .value(
                "dir", "A directory with events of your own: one message of a customer in each .json file."))
        var events: String?

        @Option(
            help: .value(
                "id", "A queue of the business; a hand-off to a queue that is not given fails the check."))
        var queue: [String] = []

        @Option(help: .value("seconds", "The time limit of one event."))
        var deadline = 30

        func validate() throws {
            // The same range as for `deadlineSeconds` in a business's file.
            try require((1...300).contains(deadline), "--deadline takes 1 to 300 seconds.")
        }

        func run() async throws {
            let command = SpawnedProcess.Program(
                program, environment: ExecBinder.environment(for: "check"), directory: ".")
            let check = HandlerCheck(
                deadline: .seconds(deadline), queues: queue, program: command,
                configuration: try config.map { path throws(CommandFailure) in try CommandFile.json(path).root
                },
                samples: try Self.samples() + (events.map(HandlerCheck.Sample.all) ?? []),
                logger: Logger(label: "balloon") { _ in SwiftLogNoOpLogHandler() })
            let status = Mutex(CommandStatus.failed.rawValue)
            let signals = TerminationSignals { [check] number in
                status.withLock { $0 = number }
                // End the checked program here: it has its own process group, so the terminal's signals do
                // not reach it.
                Task { await check.end() }
            }
            let isSound = await check.run(Self.tell)
            withExtendedLifetime(signals) {}
            guard isSound, !check.isEnded else { throw ExitCode(status.withLock { $0 }) }
        }

        @Sendable private static func tell(_ finding: HandlerCheck.Finding) {
            // Print the program's log lines before the finding, because they explain it.
            for line in finding.log.suffix(maximumLogLines) {
                StandardStream.output.write("    | \(terminalText(line))\n")
            }
            switch finding.verdict {
            case .passed(let fact):
                StandardStream.output.write("ok    \(finding.name): \(terminalText(fact))\n")
            case .warned(let what, let correction):
                StandardStream.output.write("warn  \(finding.name): \(terminalText(what))\n")
                StandardStream.output.write("      \(terminalText(correction))\n")
            case .failed(let what, let correction):
                StandardStream.output.write("FAIL  \(finding.name): \(terminalText(what))\n")
                StandardStream.output.write("      \(terminalText(correction))\n")
            }
        }

        private static let maximumLogLines = 20

        /// Returns one canned message of each kind, from a customer whose device can show everything.
        private static func samples() throws -> [HandlerCheck.Sample] {
            let customer = SimulatedCustomer(
                id: CustomerID(Simulate.defaultCustomer),
                business: BusinessID("00000000-0000-4000-8000-000000000002"), server: "", mspID: "",
                secret: .random(byteCount: 32), gateway: nil, transport: try CurlTransport())
            return try Kind.allCases.map { kind in
                HandlerCheck.Sample(try JSONDocument(customer.message(kind)))
            }
        }
    }
}
