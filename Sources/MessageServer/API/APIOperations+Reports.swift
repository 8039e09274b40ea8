import BalloonHTTP
import BalloonJSON
import BalloonPOSIX

/// The operations that report about ended conversations.
///
/// - `GET …/report?from to by`: the sum, and a row for each `hour`, `queue` or `person`.
/// - `GET …/report.csv?from to by`: the same as CSV.
extension APIOperations {
    private typealias Named = (name: String, row: FiguresReport.Row)
    private static let members: [(name: String, schema: JSONSchema)] = {
        let counts = ["conversations", "byBot", "byPeople", "unanswered", "askedFor", "handedOff"]
        let times =
            ["firstP50", "firstP90", "laterP50", "laterP90"]
            + ["firstOpenP50", "firstOpenP90", "laterOpenP50", "laterOpenP90"]
        var members: [(name: String, schema: JSONSchema)] = [("group", .text)]
        for name in counts + ["consents", "withdrawals"] { members.append((name, .count)) }
        for name in times { members.append((name, .count.optional)) }
        members.append(("scores", .list(.count)))
        return members
    }()
    private static let row = JSONObjectForm<Named>(written: [
        JSONField(members) { $0.row.write($0.name, to: &$1) }
    ])
    private static let rows = JSONObjectForm<[Named]>.listed("rows", row.form)

    private static let query = [
        APIParameter("from", .time, "Conversations that ended then or later; seven days ago by default."),
        APIParameter("to", .time, "Conversations that ended before; now by default."),
        APIParameter(
            "by", .choice(FiguresReport.Grouping.allCases.map(\.rawValue)), "A row for each of these."),
    ]

    var reports: [APIRoute] {
        [
            APIRoute(
                .get, Self.business + "/report", may: .read, query: Self.query,
                "Report about ended conversations",
                Self.rows.form(named: "Report").schema
            ) { APIAnswer(json: Self.rows.json(try report($0).rows)) },
            APIRoute(
                method: .get, path: Self.business + "/report.csv", right: .read, query: Self.query,
                summary: "Report about ended conversations as CSV", answer: .file,
                handler: .blocking { request, _ in
                    APIAnswer(status: .ok, contentType: "text/csv", body: Array(try report(request).csv.utf8))
                }),
        ]
    }

    private func report(_ request: APIRequest) throws -> FiguresReport {
        let now = Timestamp.now()
        return try FiguresReport(
            dataDirectory: dataDirectory, slug: request.business.slug,
            from: request.time("from") ?? now.advanced(by: .seconds(-7 * 86_400)),
            to: request.time("to") ?? now,
            by: request["by"].flatMap(FiguresReport.Grouping.init))
    }
}
