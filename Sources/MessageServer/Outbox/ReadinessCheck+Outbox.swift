extension ReadinessCheck {
    /// The check `outbox`: degraded while sending is paused, which does not make the server unready.
    static func outbox(_ pauses: [GatewayHealth.Report], queuedReplies: Int) -> ReadinessCheck {
        guard let pause = pauses.first else { return ReadinessCheck("outbox", .ok) }
        let who =
            if pause.business == nil {
                "no replies"
            } else {
                "no replies of \(pauses.count == 1 ? "one business" : "\(pauses.count) businesses")"
            }
        let why =
            switch pause.cause {
            case .refused(let status, _): "the gateway refuses with \(status): check the secret and the clock"
            case .outage: "the gateway does not answer: see the log"
            }
        return ReadinessCheck(
            "outbox", .degraded(reason: "\(who) are sent, \(queuedReplies) wait: \(why)"))
    }
}
