import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import MessageServer

/// `balloon doctor`: examines the machine, the configuration and the running server.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract:
            "Examine this machine, the configuration and the running server, and name a remedy for each finding.",
        discussion: """
            Checks DNS, TLS and the clock against Apple's gateway, the owner, mode, free space and sync time of the data directory, \
            the limit of descriptors, the secrets' files, certificates, handler programs, and the readiness of the running server. \
            Exits with 1 when there is a problem; a warning alone exits with 0.
            """)

    @Option(help: .value("file", "The server's configuration file."))
    var config: String

    @Option(help: .value("dir", "The data directory, instead of the configured one."))
    var data: String?

    @Flag(help: "Make no request to the gateway.")
    var offline = false

    @Flag(help: "Write one JSON object in each line.")
    var json = false

    func run() async throws {
        let facts = try await DoctorExamination.facts(
            configurationFile: config, dataDirectory: data, asksGateway: !offline)
        let findings = facts.findings
        for finding in findings { StandardStream.output.write(json ? finding.line : finding.text(.output)) }
        if findings.contains(where: { $0.state == .problem }) {
            throw ExitCode(CommandStatus.failed.rawValue)
        }
    }
}

extension DoctorFinding {
    /// One line of JSON: `{"check":"clock","state":"problem","text":"…","remedy":"…"}`.
    var line: String {
        jsonLine(["check": check, "state": state.rawValue, "text": text, "remedy": remedy])
    }

    /// One line, and a second one with the remedy.
    func text(_ style: TerminalStyle) -> String {
        let word =
            switch state {
            case .ok: "ok      "
            case .warning: "warning "
            case .problem: style.failure("PROBLEM ")
            }
        return word + terminalText("\(check): \(text)") + "\n"
            + (remedy.map { "  hint: " + terminalText($0) + "\n" } ?? "")
    }
}
