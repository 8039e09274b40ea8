import HandlerKit

/// An answer that concerns every event: the address or the secret is wrong, or the service is not deployed.
struct ServiceRefusal: HandlerUnavailableError, Equatable {
    /// 401, 403 or 404.
    let status: Int

    /// The statuses that the service would return for every event.
    static let statuses: Set = [401, 403, 404]

    var reason: String { "the service refuses every event: it answers with status \(status)" }
}
