extension HTTPRoute {
    /// The same route, but with 403 for requests that a web page of another site could have sent.
    ///
    /// `Host` must be `localhost` or a loopback address, and `Origin`, if there is one, must have the same host and port.
    package var forLocalCallers: HTTPRoute {
        requiring({ HostRule(.loopback) }, else: .forbidden, "Host or Origin does not name this machine\n")
    }

    /// The same route, but with 421 for requests whose `Host` names none of `rule`, which is called for each request.
    package func forHosts(_ rule: @escaping @Sendable () -> HostRule, hint: String) -> HTTPRoute {
        requiring(rule, else: .misdirectedRequest, "Host does not name this listener; \(hint)\n")
    }

    private func requiring(
        _ rule: @escaping @Sendable () -> HostRule, else status: HTTPStatus, _ text: String
    ) -> HTTPRoute {
        var route = self
        route.makeHandlers = { [makeHandlers] shard in
            let handlers = makeHandlers(shard)
            return Handlers(
                admit: { head in
                    guard rule().allows(head) else { return .refused(HTTPResponse(status, text: text)) }
                    return handlers.admit?(head) ?? .admitted(mark: 0)
                }, handle: handlers.handle)
        }
        return route
    }
}
