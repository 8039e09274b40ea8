package import BalloonHTTP

/// `GET /livez` and `GET /readyz`: whether the process is alive, and whether it may receive messages.
package enum HealthRoutes {
    /// The clients of the routes.
    package enum Audience: Sendable {
        /// All clients: `/readyz` answers `ok` or `not ready`, without a reason.
        case everybody
        /// Operators, through the admin listener and the control socket: `/readyz` answers with the reasons, and
        /// `/readyz?verbose` lists every check, unless `Host` names another server.
        case operators(hosts: @Sendable () -> HostRule)
    }

    /// The hint for a client whose `Host` is refused.
    static let hostHint = "name its IP address, or add the name to api.hosts"

    /// Creates the routes: a server is live when the answering shard runs, and ready when no
    /// ``ReadinessCheck`` is failing.
    ///
    /// A handler that is down does not make the server unready, because its business's events wait in the
    /// journal. A quarantined or unwritable conversation makes the server degraded, but not unready.
    package static func make(
        for audience: Audience, checks: ReadinessChecks, watch: ReadinessWatch? = nil
    ) -> [HTTPRoute] {
        let ok = HTTPResponse(.ok, text: "ok\n")
        return [
            HTTPRoute(.get, "/livez") { _, _ in
                watch?.recordQuestion()
                return ok
            },
            HTTPRoute(.get, "/readyz") { request, responder in
                watch?.recordQuestion()
                let isVerbose = request.query.elementsEqual("verbose".utf8)
                if isVerbose, case .operators(let hosts) = audience, !hosts().allows(request) {
                    return HTTPResponse(
                        .misdirectedRequest, text: "Host does not name this listener; \(hostHint)\n")
                }
                checks.check { readiness in
                    let text =
                        switch audience {
                        case .everybody: readiness.word
                        case .operators: isVerbose ? readiness.verbose : readiness.summary
                        }
                    responder.respond(
                        HTTPResponse(readiness.isReady ? .ok : .serviceUnavailable, text: text))
                }
                return nil
            },
        ]
    }
}
