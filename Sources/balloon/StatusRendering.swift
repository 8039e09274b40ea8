import MessageServer

/// The text of `balloon status`.
enum StatusRendering {
    /// The status of a server: a line about the whole, a line for each check that is not `ok`, a table of the businesses, and lines about
    /// connections, journal and disk.
    ///
    /// ```
    /// balloon 0.9.0, up 1 d 0 h, ready
    /// degraded: handlers: 1 handler is down: run balloon handlers list
    ///
    /// BUSINESS  HANDLER         PENDING  OLDEST  DEAD  OUTBOX  WAITING  PERSON
    /// fish      down for 40 s         3    12 s     0       1        2       1
    ///
    /// connections: public 12, control 1, admin 0
    /// journal: 1.0 MB
    /// disk: 5.0 GB free; the server needs 64.0 MB
    /// ```
    static func text(_ status: ServerStatus, style: TerminalStyle) -> String {
        let problems = status.checks.compactMap { check -> String? in
            guard let reason = check.state.reason else { return nil }
            let text = "\(check.state.level.rawValue): \(check.name): \(reason)"
            return check.state.level == .failing ? style.failure(terminalText(text)) : text
        }
        let idle = status.businesses.compactMap { business in
            business.idleDays.flatMap { days in
                days < ServerStatus.Business.maximumIdleDays
                    ? nil
                    : terminalText(
                        "warning: \(business.name): no message for \(days) days; Apple may deactivate a business after three months without one"
                    )
            }
        }
        let state = status.isReady ? (problems.isEmpty ? "ready" : "ready, degraded") : "not ready"
        let title = "balloon \(status.version), up \(duration(status.uptimeSeconds)), \(state)"
        let disk =
            (status.freeBytes.map { "\(bytes($0)) free" } ?? "free space unknown")
            + (status.minimumFreeBytes > 0 ? "; the server needs \(bytes(status.minimumFreeBytes))" : "")
        let waiting = status.waitingBytes > 0 ? ", \(bytes(status.waitingBytes)) wait for the disk" : ""
        let listeners = status.listeners.map { "\(terminalText($0.name)) \($0.connections)" }
        return
            ([terminalText(title)] + problems + idle + [""] + table(status.businesses, style) + [
                "", "connections: " + listeners.joined(separator: ", "),
                "journal: \(bytes(status.journalBytes))\(waiting)", "disk: \(disk)",
            ]).joined(separator: "\n") + "\n"
    }

    /// A number of bytes to three digits or so: `999 B`, `1.5 KB`, `64.0 MB`; a kilobyte has 1024 bytes.
    static func bytes(_ count: Int) -> String {
        guard count >= 1024 else { return "\(count) B" }
        var (tenths, units) = (count / 1024 * 10 + count % 1024 * 10 / 1024, ["MB", "GB", "TB", "PB"][...])
        var unit = "KB"
        while tenths >= 10_240, let next = units.popFirst() { (tenths, unit) = (tenths / 1024, next) }
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }

    /// A time in its two largest units: `40 s`, `2 min 5 s`, `3 h 0 min`, `12 d 4 h`.
    static func duration(_ seconds: Int) -> String {
        switch seconds {
        case ..<60: "\(max(0, seconds)) s"
        case ..<3600: "\(seconds / 60) min \(seconds % 60) s"
        case ..<86_400: "\(seconds / 3600) h \(seconds % 3600 / 60) min"
        default: "\(seconds / 86_400) d \(seconds % 86_400 / 3600) h"
        }
    }

    private static func table(_ businesses: [ServerStatus.Business], _ style: TerminalStyle) -> [String] {
        let header = ["BUSINESS", "HANDLER", "PENDING", "OLDEST", "DEAD", "OUTBOX", "WAITING", "PERSON"]
        let rows = businesses.map { business in
            [
                terminalText(business.name), handler(business), "\(business.pending)",
                business.oldestSeconds.map(duration) ?? "-", "\(business.deadLetters)",
                "\(business.outbox)", "\(business.waiting)", "\(business.person)",
            ]
        }
        let widths = header.indices.map { column in
            ([header] + rows).map { $0[column].count }.max() ?? 0
        }
        let lines = ([header] + rows).map { row in
            row.enumerated().map { column, cell in
                let blanks = String(repeating: " ", count: widths[column] - cell.count)
                // Names are aligned to the left, numbers to the right.
                return column < 2 ? cell + blanks : blanks + cell
            }.joined(separator: "  ")
        }
        return [style.faint(lines[0])] + lines.dropFirst()
    }

    private static func handler(_ business: ServerStatus.Business) -> String {
        let restarts = business.restarts.map { $0 > 0 ? ", \($0) restarts" : "" } ?? ""
        guard let seconds = business.downSeconds else { return terminalText(business.handler) + restarts }
        return "down for \(duration(seconds))" + restarts
    }
}
