import BalloonHTTP

/// The pages of a fake provider.
enum FakeProviderPage {
    /// The page with the form; its fields have the `autocomplete` values with which a device fills them in.
    ///
    /// Apple MSP API, "Password AutoFill".
    static func signIn(fields: [(name: String, value: String)]) -> HTTPResponse {
        let hidden = fields.map { field in
            #"<input type="hidden" name="\#(field.name.htmlEscaped)" value="\#(field.value.htmlEscaped)">"#
        }
        return page(
            .ok,
            """
            <h1>Sign in</h1>
            <form method="post" action="\(ProviderEndpoint.authorize.rawValue)">
            \(hidden.joined(separator: "\n"))
            <label>User <input name="username" autocomplete="username" value=""></label>
            <label>Password <input name="password" type="password" autocomplete="current-password" value=""></label>
            <label>Code <input name="otp" inputmode="numeric" autocomplete="one-time-code" value=""></label>
            <button>Sign in</button> <button name="deny" value="1">Decline</button>
            </form>
            """)
    }

    static func notice(_ text: String) -> HTTPResponse { page(.ok, "<h1>\(text.htmlEscaped)</h1>") }

    static func failure(_ code: Int) -> HTTPResponse {
        let status = HTTPStatus(code: code) ?? .internalServerError
        return page(status, "<h1>\(status.code)</h1>")
    }

    private static func page(_ status: HTTPStatus, _ body: String) -> HTTPResponse {
        let text = "<!doctype html><meta charset=utf-8><title>Fake provider</title>\(body)\n"
        return HTTPResponse(
            status, contentType: "text/html; charset=utf-8", body: Array(text.utf8),
            fields: [
                ("Cache-Control", "no-store"),
                ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
            ])
    }
}
