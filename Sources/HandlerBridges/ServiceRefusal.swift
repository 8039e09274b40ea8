import HandlerKit

/// A service's answer that concerns every event: its address or its secret is wrong, or it is not deployed.
struct ServiceRefusal: HandlerUnavailableError, Equatable {
    /// 401, 403 or 404.
    let status: Int

    /// The statuses that mean that the service is down.
    static let statuses: Set = [401, 403, 404]

    var reason: String { "the service is down: it answered with status \(status)" }
}
