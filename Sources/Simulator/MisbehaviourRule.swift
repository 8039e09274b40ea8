import BalloonHTTP

/// When the fake gateway misbehaves at an endpoint, and how.
///
/// As a text `ENDPOINT=WHAT[,times=N][,every=N]`: `message=503`, `message=429/7,times=2` (with `Retry-After`),
/// `message=delay/250` (milliseconds), `message=silence`, `message=drop,every=3`, `preDownload=expired`, `blob=truncate/100`,
/// `blob=longer/1`, `blob=shorter/1`, `blob=garble`, `blob=slow/1000` (bytes a second), `blob=endless`.
package struct MisbehaviourRule: Sendable, Hashable {
    /// Where.
    package let endpoint: GatewayEndpoint
    /// What.
    package let misbehaviour: Misbehaviour
    /// How often still; nil for ever.
    private var left: Int?
    /// At which of the requests: each, every second, and so on.
    private let every: Int
    private var seen = 0

    /// Makes a rule for the next `times` requests, or for all, of which `every` N-th is meant.
    package init(_ endpoint: GatewayEndpoint, _ misbehaviour: Misbehaviour, times: Int? = nil, every: Int = 1)
    {
        self.endpoint = endpoint
        self.misbehaviour = misbehaviour
        left = times
        self.every = max(1, every)
    }

    /// Reads a text; nil when it is no rule.
    package init?(_ text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        let head = parts[0].split(separator: "=", maxSplits: 1).map(String.init)
        guard head.count == 2, let endpoint = GatewayEndpoint(rawValue: head[0]),
            let misbehaviour = Misbehaviour(head[1])
        else { return nil }
        var (times, every): (Int?, Int) = (nil, 1)
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, let number = Int(pair[1]), number > 0 else { return nil }
            switch pair[0] {
            case "times": times = number
            case "every": every = number
            default: return nil
            }
        }
        self.init(endpoint, misbehaviour, times: times, every: every)
    }

    /// Whether it has not been used up.
    var isLeft: Bool { left != 0 }

    /// Counts a request; whether it is one that is meant.
    mutating func isDue() -> Bool {
        seen += 1
        guard seen % every == 0 else { return false }
        left = left.map { $0 - 1 }
        return true
    }
}

extension Misbehaviour {
    /// Reads `WHAT` or `WHAT/NUMBER`.
    fileprivate init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2 else { return nil }
        let number = parts.count == 2 ? Int(parts[1]).flatMap { $0 >= 0 ? $0 : nil } : nil
        if parts.count == 2, number == nil { return nil }
        switch (String(parts[0]), number) {
        case ("delay", let milliseconds?): self = .delay(.milliseconds(milliseconds))
        case ("silence", nil): self = .silence
        case ("drop", nil): self = .drop
        case ("truncate", let bytes?): self = .truncate(bytes: bytes)
        case ("longer", let bytes?): self = .resize(by: bytes)
        case ("shorter", let bytes?): self = .resize(by: -bytes)
        case ("garble", nil): self = .garble
        case ("slow", let rate?) where rate > 0: self = .trickle(bytesPerSecond: rate)
        case ("endless", nil): self = .endless
        case ("expired", nil): self = .answer(.notFound)
        case (let name, let seconds):
            guard let code = Int(name), (300...599).contains(code), let status = HTTPStatus(code: code) else {
                return nil
            }
            self = .answer(status, retryAfterSeconds: seconds)
        }
    }
}
