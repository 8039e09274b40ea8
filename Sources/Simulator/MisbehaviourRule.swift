import BalloonHTTP

/// A rule that makes the fake gateway misbehave at an endpoint.
///
/// As a text `ENDPOINT=WHAT[,times=N][,every=N]`: `message=503`, `message=429/7,times=2` (with `Retry-After`),
/// `message=delay/250` (milliseconds), `message=silence`, `message=drop,every=3`, `preDownload=expired`, `blob=truncate/100`,
/// `blob=longer/1`, `blob=shorter/1`, `blob=garble`, `blob=slow/1000` (bytes a second), `blob=endless`.
/// Each number is at most 100,000,000.
package struct MisbehaviourRule: Sendable, Hashable, CustomStringConvertible {
    /// The endpoint.
    package let endpoint: GatewayEndpoint
    /// The fault.
    package let misbehaviour: Misbehaviour
    /// The number of requests to which the rule still applies; nil for no limit.
    private var left: Int?
    /// The number n if the rule applies to every n-th request; 1 means every request.
    private let every: Int
    private var seen = 0

    /// Creates a rule that applies to every `every`-th request, `times` times in total, or without limit when
    /// `times` is nil.
    package init(_ endpoint: GatewayEndpoint, _ misbehaviour: Misbehaviour, times: Int? = nil, every: Int = 1)
    {
        self.endpoint = endpoint
        self.misbehaviour = misbehaviour
        left = times
        self.every = max(1, every)
    }

    /// Parses a rule; nil when the text is no rule.
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

    /// The rule as a text, with the number of requests to which it still applies.
    package var description: String {
        let times = left.map { ",times=\($0)" } ?? ""
        return "\(endpoint.rawValue)=\(misbehaviour.text)" + times + (every > 1 ? ",every=\(every)" : "")
    }

    /// Whether the rule still applies.
    var isLeft: Bool { left != 0 }

    /// Counts a request; returns whether the rule applies to it.
    mutating func isDue() -> Bool {
        seen += 1
        guard seen % every == 0 else { return false }
        left = left.map { $0 - 1 }
        return true
    }
}

extension Misbehaviour {
    /// The text of a rule after `ENDPOINT=`; the text of `body` cannot be parsed back.
    fileprivate var text: String {
        switch self {
        case .answer(let status, let seconds): "\(status.code)" + (seconds.map { "/\($0)" } ?? "")
        case .body: "body"
        case .delay(let delay): "delay/\(Int(delay / .milliseconds(1)))"
        case .silence: "silence"
        case .drop: "drop"
        case .truncate(let bytes): "truncate/\(bytes)"
        case .resize(let bytes): bytes < 0 ? "shorter/\(-bytes)" : "longer/\(bytes)"
        case .garble: "garble"
        case .trickle(let rate): "slow/\(rate)"
        case .endless: "endless"
        }
    }

    /// Parses `WHAT` or `WHAT/NUMBER`.
    fileprivate init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2 else { return nil }
        let number = parts.count == 2 ? Int(parts[1]).flatMap { allowedNumbers.contains($0) ? $0 : nil } : nil
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

/// The numbers that a rule may contain: at most 100 MB as a number of bytes, and 27 hours as a number of
/// milliseconds.
private let allowedNumbers = 0...100_000_000
