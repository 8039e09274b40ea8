import BalloonTransport
import MessageServer

extension DoctorFacts {
    /// The findings, in a fixed order; every check has at least one; `store.postgres` and `store.erasureLedger` have one more each.
    var findings: [DoctorFinding] {
        let checks: [(name: String, findings: [DoctorFinding])] = [
            ("gateway", [reachability]), ("clock", [clock]), ("data directory", [directory]),
            ("disk space", [space]), ("disk sync", [syncTime]), ("database", databaseFindings),
            ("erasure ledger", ledgerFolder), ("descriptors", [descriptors]),
            ("configuration", configuration),
            ("certificates", certificateFindings), ("handlers", handlerPrograms), ("server", runningServer),
        ]
        return checks.flatMap { check in check.findings.map { $0.of(check.name) } }
    }

    /// A difference of the clocks that is worth a warning, and one at which Apple may refuse tokens.
    private static let toleratedSeconds = 5
    private static let refusedSeconds = 60
    private static let slowSyncMicroseconds = 50_000
    private static let comfortableFreeBytes: UInt64 = 1 << 30
    private static let requiredOpenFiles = 1024
    private static let comfortableOpenFiles = 16_384
    private static let day = 86_400

    /// DNS, the connection and TLS.
    private var reachability: DoctorFinding {
        guard case .failed(let error) = gateway else {
            return .ok(gateway == .skipped ? "not asked" : "\(gatewayURL) answers")
        }
        let text = "\(gatewayURL) cannot be reached: \(error.reason)"
        let remedy =
            switch error {
            case .hostUnresolved: "check the name in gateway.url and the resolver in /etc/resolv.conf"
            case .connectionFailed, .timedOut, .interrupted:
                "allow outgoing connections to port 443, or set HTTPS_PROXY"
            case .tlsFailed: "check for a proxy that inspects TLS"
            case .certificateRefused:
                "install the package ca-certificates, check the clock, and check for a proxy that inspects TLS"
            case .requestInvalid, .schemeRefused, .addressRefused: "correct gateway.url"
            case .responseTooLarge, .contentFailed, .cancelled, .failed: "run the command again"
            }
        return .problem(text, remedy)
    }

    private var clock: DoctorFinding {
        guard case .answered(let date?, let at, let roundTrip) = gateway else {
            return .ok("not compared, because the gateway sent no time")
        }
        let ahead = at - date
        // Half of the round trip and one second of the header's resolution are unknown.
        let doubt = roundTrip / 2 + 1
        let direction = ahead > 0 ? "ahead of" : "behind"
        let text = "the clock is \(abs(ahead)) s \(direction) the gateway's"
        let remedy = "synchronize the clock, for example with systemd-timesyncd or chrony"
        if abs(ahead) > Self.refusedSeconds + doubt { return .problem(text, remedy) }
        if abs(ahead) > Self.toleratedSeconds + doubt { return .warning(text, remedy) }
        return .ok("the clock agrees with the gateway's")
    }

    private var directory: DoctorFinding {
        switch dataDirectory {
        case .missing: return .ok("\(dataDirectoryPath) does not exist; the first start creates it")
        case .unreadable(let reason):
            return .problem(
                "\(dataDirectoryPath) cannot be read: \(reason)",
                "run this command as the server's user or as root")
        case .present(let owner, let mode, let strangers):
            if let first = strangers.first {
                return .problem(
                    "\(first) has another owner than \(dataDirectoryPath), which belongs to user \(owner)",
                    "stop the server and run chown -R \(owner) on \(dataDirectoryPath)")
            }
            if user != 0, user != owner {
                return .warning(
                    "\(dataDirectoryPath) belongs to user \(owner), and this command runs as \(user)",
                    "run this command and the server as user \(owner)")
            }
            if mode & 0o077 != 0 {
                let text = "other users can reach \(dataDirectoryPath) (mode \(String(mode, radix: 8)))"
                return .warning(text, "run chmod 700 on it")
            }
            return .ok("\(dataDirectoryPath) belongs to user \(owner) alone")
        }
    }

    private var databaseFindings: [DoctorFinding] {
        switch database {
        case nil: []
        case .failed(let reason):
            [
                .problem(
                    "the store's database cannot be used: \(reason)",
                    "check store.postgres.url and PostgreSQL")
            ]
        case .answered(let count, true) where count == 0:
            [
                .problem(
                    "a commit waits for a standby of PostgreSQL, and none is connected",
                    "start the standby, or empty synchronous_standby_names")
            ]
        case .answered(_, true): [.ok("a message is on PostgreSQL's disk and a standby's before its 200")]
        case .answered(let count, false):
            [.ok("a message is on PostgreSQL's disk before its 200; \(Self.later(count))")]
        }
    }

    private static func later(_ standbys: Int) -> String {
        standbys == 0
            ? "no standby is connected, so that disk must not be lost"
            : "its \(standbys == 1 ? "standby gets" : "\(standbys) standbys get") it later, and a promotion loses the last ones"
    }

    private var ledgerFolder: [DoctorFinding] {
        guard let ledger else { return [] }
        guard let failure = ledger.failure else { return [.ok("its folder \(ledger.folder) can be written")] }
        let remedy = "mount its volume, and let the server's user write there"
        return [
            .problem(
                "no file can be written in \(ledger.folder): \(failure)",
                "\(remedy); under systemd add ReadWritePaths=\(ledger.folder)")
        ]
    }

    private var space: DoctorFinding {
        guard let freeBytes else { return .ok("unknown") }
        let text = "\(StatusRendering.bytes(Int(clamping: freeBytes))) are free"
        let remedy = "free space on the disk of \(dataDirectoryPath), or lower attachments.retentionDays"
        if freeBytes < minimumFreeBytes {
            let required = StatusRendering.bytes(Int(clamping: minimumFreeBytes))
            return .problem(text + ", \(required) are required", remedy)
        }
        return freeBytes < Self.comfortableFreeBytes ? .warning(text, remedy) : .ok(text)
    }

    private var syncTime: DoctorFinding {
        switch sync {
        case .skipped: return .ok("not measured, because the data directory does not exist")
        case .failed(let reason):
            return .problem(
                "no file can be written in \(dataDirectoryPath): \(reason)",
                "run this command as the server's user, and check the disk")
        case .median(let microseconds):
            let milliseconds = "\(microseconds / 1000).\(microseconds % 1000 / 100) ms"
            if microseconds > Self.slowSyncMicroseconds {
                return .warning(
                    "a sync takes \(milliseconds); Apple waits for one with each message",
                    "keep the data directory on a local SSD instead of a network or rotating disk")
            }
            return .ok("a sync takes \(milliseconds)")
        }
    }

    private var descriptors: DoctorFinding {
        let text = "at most \(maximumOpenFiles) descriptors can be open"
        let remedy = "raise the limit: LimitNOFILE=65536 in systemd, --ulimit nofile=65536 in a container"
        if maximumOpenFiles < Self.requiredOpenFiles { return .problem(text, remedy) }
        return maximumOpenFiles < Self.comfortableOpenFiles ? .warning(text, remedy) : .ok(text)
    }

    private var configuration: [DoctorFinding] {
        if warnings.isEmpty { return [.ok("no warnings")] }
        return warnings.map { .warning($0.text, $0.remedy) }
    }

    private var certificateFindings: [DoctorFinding] {
        if certificates.isEmpty { return [.ok("none is configured")] }
        return certificates.map { certificate in
            let path = certificate.path
            guard let expiry = certificate.expiresAt else {
                return .problem("\(path) cannot be read", "check the path and the mode of the file")
            }
            let remedy = "renew it, then send SIGHUP to the server"
            let days = (expiry - now) / Self.day
            if expiry <= now { return .problem("\(path) has expired", remedy) }
            if days < 14 { return .warning("\(path) expires in \(days) days", remedy) }
            return .ok("\(path) expires in \(days) days")
        }
    }

    private var handlerPrograms: [DoctorFinding] {
        if programs.isEmpty { return [.ok("every handler program can be started")] }
        return programs.map { .problem($0.text, $0.remedy) }
    }

    private var runningServer: [DoctorFinding] {
        guard let server else { return [.ok("no server runs on this data directory")] }
        let findings = server.checks.compactMap { result -> DoctorFinding? in
            guard let reason = result.state.reason else { return nil }
            let (what, hint) = ("\(result.name): \(reason)", "see the page Operations for \(result.name)")
            return result.state.level == .failing ? .problem(what, hint) : .warning(what, hint)
        }
        return findings.isEmpty ? [.ok("the running server is ready")] : findings
    }
}
