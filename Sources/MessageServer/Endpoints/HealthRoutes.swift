package import BalloonHTTP
package import MessageStore

/// `GET /livez` and `GET /readyz`: whether the process is alive, and whether it may receive messages.
package enum HealthRoutes {
    /// The clients of the routes.
    package enum Audience: Sendable {
        /// All clients: `/readyz` answers `ok` and a line for each problem, or the reasons why the server is not ready.
        case everybody
        /// This machine, through the control socket: `/readyz?verbose` lists every check.
        case operators
    }

    /// The server is live when the answering shard runs, and ready when no ``ReadinessCheck`` is failing.
    ///
    /// A handler that is down does not make the server unready, because its business's events wait in the
    /// journal. Neither does a quarantined or unwritable conversation: the answer is then `ok` with a line for each
    /// problem that needs an operator.
    package static func make(
        for audience: Audience, store: Store, outbox: @escaping @Sendable () -> ReadinessCheck? = { nil },
        watch: ReadinessWatch? = nil, isDraining: @escaping @Sendable () -> Bool
    ) -> [HTTPRoute] {
        let ok = HTTPResponse(.ok, text: "ok\n")
        return [
            HTTPRoute(.get, "/livez") { _, _ in ok },
            HTTPRoute(.get, "/readyz") { request, _ in
                watch?.recordQuestion()
                let readiness = Readiness(
                    checks: ReadinessCheck.all(store: store, isDraining: isDraining())
                        + [outbox()].compactMap(\.self))
                let isVerbose = audience == .operators && request.query.elementsEqual("verbose".utf8)
                return HTTPResponse(
                    readiness.isReady ? .ok : .serviceUnavailable,
                    text: isVerbose ? readiness.verbose : readiness.summary)
            },
        ]
    }
}
