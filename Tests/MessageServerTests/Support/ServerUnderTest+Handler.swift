import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import MessageServer
import MessageStore
import ServerTestSupport
import TestSupport

extension ServerUnderTest {
    /// Starts a server with two businesses, both served by `handler`.
    convenience init(
        _ handler: any Handler = RecordingHandler(), directory: TemporaryDirectory = TemporaryDirectory(),
        disk: any StoreDisk = SystemDisk(), adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws {
        let businesses = [("one", Self.business), ("two", Self.otherBusiness)].map {
            BusinessConfiguration(
                slug: $0, businessID: $1, name: $0, handler: .builtin(name: "test", configuration: nil))
        }
        try await self.init(
            businesses: businesses, handlers: [FixedFactory(handler: handler)], in: directory, disk: disk,
            adjust: adjust)
    }

    /// Every line of the journal, as text.
    func journal() throws -> String {
        let folder = directory.file("data/journal")
        return try Directory.names(in: folder).reduce(into: "") { text, name in
            text += String(decoding: try File(folder + "/" + name, for: .reading).readAll(), as: UTF8.self)
        }
    }
}

private struct FixedFactory: HandlerFactory {
    let handler: any Handler
    var name: String { "test" }
    func make(configuration: JSONValue?) -> any Handler { handler }
}
