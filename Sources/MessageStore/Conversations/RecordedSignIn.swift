package import BalloonJSON

/// The result of a sign-in that ended while no handler answered.
///
/// It is for the person who has the conversation: `{"result":"signedIn","issuer":"https://…"}`. It never
/// contains a claim or a token.
package struct RecordedSignIn: Hashable, Sendable, JSONWritable {
    /// The name of the result, such as `signedIn`.
    package let result: String
    /// The issuer of the identity provider; nil unless the customer signed in.
    package let issuer: String?
    /// The customer's identifier at the provider; only when the business asks for it.
    package let subject: String?

    /// Creates a result.
    package init(result: String, issuer: String? = nil, subject: String? = nil) {
        self.result = result
        self.issuer = issuer
        self.subject = subject
    }

    /// Parses the member `signIn` of a record or a line.
    init?(_ value: JSONValue?) {
        guard let value, let result = value["result"]?.string else { return nil }
        self.init(result: result, issuer: value["issuer"]?.string, subject: value["subject"]?.string)
    }

    /// Writes the object.
    package func write(to writer: inout JSONWriter) {
        writer.object(["result": result, "issuer": issuer, "subject": subject])
    }
}
