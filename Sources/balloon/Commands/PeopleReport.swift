import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import MessageServer

extension People {
    /// `balloon people report`.
    struct Report: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Report about the ended conversations of a business.",
            discussion: """
                A conversation has ended when neither side has written for "newAfterHours", by default a day. Times of \
                answers are in seconds. Reads the figures of the data directory; a server may run meanwhile.
                """)

        @Argument(help: "The business's slug.")
        var business: String

        @Option(help: .value("time", "Only conversations that ended then or later."))
        var from: Timestamp?

        @Option(help: .value("time", "Only conversations that ended before."))
        var to: Timestamp?

        @Option(help: "A row for each hour of the day (in the zone of the hours, else UTC), queue or person.")
        var by: FiguresReport.Grouping?

        @Flag(help: "Print CSV.")
        var csv = false

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let now = Timestamp.now()
            let report = try FiguresReport(
                dataDirectory: try options.data, slug: business,
                from: from ?? now.advanced(by: .seconds(-7 * 86_400)), to: to ?? now, by: by)
            if csv { return StandardStream.output.write(report.csv) }
            options.writeHeader(
                by?.rawValue.uppercased() ?? "SUM", "CONVERSATIONS", "BOT", "PEOPLE", "UNANSWERED",
                "HANDOFFS", "FIRST P50", "P90", "LATER P50", "P90")
            for (name, row) in report.rows {
                options.write(text(name, row), json: jsonLine { row.write(name, to: &$0) })
            }
            if report.damaged > 0 { StandardStream.error.write("\(report.damaged) lines are damaged\n") }
        }

        private func text(_ name: String, _ row: FiguresReport.Row) -> String {
            let numbers: [Int?] = [
                row.conversations, row.byBot, row.byPeople, row.unanswered, row.askedFor + row.handedOff,
                row.first.seconds(0.5), row.first.seconds(0.9), row.later.seconds(0.5),
                row.later.seconds(0.9),
            ]
            let cells = [name.isEmpty ? "all" : name] + numbers.map { $0.map { "\($0)" } ?? "-" }
            return terminalText(cells.joined(separator: "  ")) + "\n"
        }
    }
}

extension FiguresReport.Grouping: ExpressibleByArgument {}
