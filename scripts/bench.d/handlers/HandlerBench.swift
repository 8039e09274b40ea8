import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import Glibc
import HandlerKit
import Logging
import StdioHandler

/// Measures the cost of handlers: `HandlerBench FOLDER PYTHON EVENTS CHILDREN`, or without arguments a child that answers.
///
/// Customer, gateway and server share the process, so compare the rows with each other: the difference to the first row
/// is the cost of the binding.
@main struct HandlerBench {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 4, let events = Int(arguments[2]), let children = Int(arguments[3]) else {
            return await StdioHandler.run(Echo())
        }
        let readiness = ReadinessCount()
        LoggingSystem.bootstrap { _ in readiness }
        let own = try ProcessPaths.executable()
        let (service, url) = try await echoService()
        try await compare(
            [
                ("in the process (Swift)", #"{"builtin": "echo"}"#),
                ("child process (Swift)", #"{"exec": ["\#(own)"]}"#),
                ("child process (Python)", #"{"exec": ["\#(arguments[1])"]}"#),
                ("HTTP service on loopback", #"{"http": {"url": "\#(url)", "secret": {"env": "HOOK"}}}"#),
            ], events: events, folder: arguments[0], readiness)
        await service.stop(within: .zero)
        try await isolate(arguments[1], events: max(100, events / 4), folder: arguments[0], readiness)
        try await crowd(children, program: arguments[1], folder: arguments[0], readiness)
    }

    /// One row for each binding.
    private static func compare(
        _ bindings: [(name: String, json: String)], events: Int, folder: String, _ readiness: ReadinessCount
    ) async throws {
        print(
            "| handler | events/s, 64 customers | latency p50 | p99 | added p50 | added p99 |\n|---|---|---|---|---|---|"
        )
        var first: (Duration, Duration)?
        for (row, binding) in bindings.enumerated() {
            let server = try await BenchedServer([binding.json], folder: "\(folder)/row\(row)")
            if binding.json.contains("exec") { await readiness.wait(for: 1) }
            _ = try await server.latencies(customers: 8, events: 200)
            let alone = try await server.latencies(customers: 1, events: max(100, events / 4)).sorted()
            let begun = ContinuousClock.now
            _ = try await server.latencies(customers: 64, events: events)
            let seconds = (ContinuousClock.now - begun).seconds
            let (median, worst) = (alone[alone.count / 2], alone[alone.count * 99 / 100])
            first = first ?? (median, worst)
            let added = first.map { [median - $0.0, worst - $0.1] } ?? []
            let cells = [Int(Double(events) / seconds).description] + ([median, worst] + added).map(\.text)
            print("| \(binding.name) | \(cells.joined(separator: " | ")) |")
            await server.stop()
        }
    }

    /// A business with a working handler, alone and next to one with a faulty handler and two hundred events.
    private static func isolate(
        _ program: String, events: Int, folder: String, _ readiness: ReadinessCount
    ) async throws {
        print("\n| beside a handler that is | latency p50 | p99 |\n|---|---|---|")
        let bad = program.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/bad.py"
        for fault in ["not there", "slow", "crashing", "flooding", "deaf"] {
            let other = #"{"exec": ["\#(bad)", "\#(fault)"]}"#
            let good = #"{"exec": ["\#(program)"]}"#
            readiness.reset()
            let server = try await BenchedServer(
                fault == "not there" ? [good] : [good, other], folder: "\(folder)/\(fault.prefix(4))")
            await readiness.wait(for: fault == "not there" ? 1 : 2)
            if fault != "not there" { try await server.burden(1, events: 200) }
            let waits = try await server.latencies(customers: 1, events: events).sorted()
            print("| \(fault) | \(waits[waits.count / 2].text) | \(waits[waits.count * 99 / 100].text) |")
            await server.stop()
        }
    }

    /// Many businesses, each with its own process.
    private static func crowd(
        _ count: Int, program: String, folder: String, _ readiness: ReadinessCount
    ) async throws {
        func binding(_ generation: Int) -> String {
            #"{"exec": ["\#(program)"], "config": {"generation": \#(generation)}}"#
        }
        let old = [String](repeating: binding(0), count: count)
        let before = Memory.own()
        readiness.reset()
        var begun = ContinuousClock.now
        let server = try await BenchedServer(old, folder: "\(folder)/crowd")
        await readiness.wait(for: count)
        let start = ContinuousClock.now - begun
        let (own, children) = (Memory.own(), Memory.children())
        readiness.reset()
        begun = .now
        await server.reload([binding(1)] + old.dropFirst())
        await readiness.wait(for: 1)
        let one = ContinuousClock.now - begun
        readiness.reset()
        begun = .now
        await server.reload([String](repeating: binding(2), count: count))
        await readiness.wait(for: count)
        let all = ContinuousClock.now - begun
        begun = .now
        await server.reload([String](repeating: binding(2), count: count))
        let none = ContinuousClock.now - begun
        await server.stop()
        print("\n| \(count) businesses with a Python process each | |\n|---|---|")
        print("| start until every handler is ready | \(start.text) |")
        print(
            "| memory of the server, resident; of which for them | \(own.kiB / 1024) MiB; \((own.kiB - before.kiB) / 1024) MiB |"
        )
        print(
            "| memory of the processes, proportional; each | \(children.kiB / 1024) MiB; \(children.kiB / max(1, children.count)) KiB |"
        )
        print("| reload that changes nothing | \(none.text) |")
        print("| reload that replaces one, until it is ready | \(one.text) |")
        print("| reload that replaces all, until they are ready | \(all.text) |")
    }

    private static func echoService() async throws -> (HTTPServer, String) {
        let answer = HTTPResponse(.ok, json: Array(#"{"replies":["ok"]}"#.utf8))
        let hook = HTTPRoute(.post, "/hook", body: .collected(maximumBytes: 1 << 20)) { _, _ in answer }
        let server = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: [hook])], shards: 1,
            logger: Logger(label: "service"))
        return (server, "http://\(try await server.start()[0])/hook")
    }
}

/// Answers every text at once.
struct Echo: TextHandler {
    func text(_ text: Text, _ context: Context) -> Outcome { .reply("ok") }
}

struct EchoFactory: HandlerFactory {
    let name = "echo"
    func make(configuration: JSONValue?) -> any Handler { Echo() }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
    /// In milliseconds with two decimals.
    var text: String {
        let hundredths = Int((seconds * 100_000).rounded())
        let rest = abs(hundredths) % 100
        return "\(hundredths < 0 ? "-" : "")\(abs(hundredths) / 100).\(rest < 10 ? "0" : "")\(rest) ms"
    }
}
