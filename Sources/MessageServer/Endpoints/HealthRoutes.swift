package import BalloonHTTP
package import MessageStore

/// `GET /livez` and `GET /readyz`: is the process alive, and may it be sent messages.
package enum HealthRoutes {
    /// Who may ask.
    package enum Audience: Sendable {
        /// Anybody: `/readyz` answers a constant, and a count of what waits for an operator.
        case everybody
        /// This machine, by the control socket: `/readyz?verbose` lists every check.
        case operators
    }

    /// Live means that the shard that answers runs; ready, that no ``ReadinessCheck`` is failing.
    ///
    /// A handler that is down does not make the server unready: its business's events wait in the journal. Nor does a
    /// conversation that is set aside or cannot be written; the answer is `ok` and a line for what somebody must see to.
    package static func make(
        for audience: Audience, store: Store, outbox: @escaping @Sendable () -> ReadinessCheck? = { nil },
        isDraining: @escaping @Sendable () -> Bool
    ) -> [HTTPRoute] {
        let ok = HTTPResponse(.ok, text: "ok\n")
        return [
            HTTPRoute(.get, "/livez") { _, _ in ok },
            HTTPRoute(.get, "/readyz") { request, _ in
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
