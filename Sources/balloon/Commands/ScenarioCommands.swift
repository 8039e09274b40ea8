import ArgumentParser
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Logging
import MessageServer
import Simulator

/// `balloon scenario`: conversations as tests.
struct ScenarioCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scenario", abstract: "Play recorded conversations against a handler.",
        subcommands: [Run.self])

    /// `balloon scenario run`: plays files against a handler, without a browser.
    struct Run: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Play scenarios against a handler, and compare its replies.",
            discussion: """
                Starts a server and a simulated gateway on free ports, with a data directory that is removed at the end. \
                Each file is played as a new customer. Exits with 0 when every expectation is met, with 1 when one is not, \
                with 65 for an invalid file, and with 69 when the handler does not start.
                """)

        @Argument(help: .value("file", "The scenarios."))
        var files: [String]

        @OptionGroup var choice: DevelopmentHandler

        @Option(help: .value("business", "The business, when there is more than one."))
        var business: String?

        @Option(help: .value("file", "Write the results as JUnit's XML to this file."))
        var junit: String?

        @OptionGroup var log: LogOptions

        func run() async throws {
            let scenarios = try files.map { ($0, try Scenario(file: $0)) }
            let server = try await ScenarioServer(choice, business: business, try log.start().logger)
            let report = try await running {
                try await play(scenarios, on: server)
            } stop: {
                await server.stop()
            }
            if let junit { try CommandFile.write(report.text, to: junit) }
            if report.failures > 0 { throw ExitCode(CommandStatus.failed.rawValue) }
        }

        private func play(_ scenarios: [(String, Scenario)], on server: ScenarioServer) async throws
            -> JUnitReport
        {
            var report = JUnitReport()
            for (file, scenario) in scenarios {
                var run = ScenarioRun(
                    server.customer(of: scenario), server.simulators.gateway,
                    provider: server.simulators.provider.url)
                let results = await run.play(scenario)
                report.add(file, results)
                for result in results { StandardStream.output.write(line(file, result)) }
            }
            return report
        }

        private func line(_ file: String, _ result: ScenarioRun.Result) -> String {
            let step = terminalText("\(file): \(result.name)")
            switch result.verdict {
            case .passed: return "ok       \(step)\n"
            case .skipped: return "skipped  \(step)\n"
            case .failed(let reasons):
                return "FAILED   \(step)\n" + reasons.map { "         \(terminalText($0))\n" }.joined()
            }
        }
    }
}
