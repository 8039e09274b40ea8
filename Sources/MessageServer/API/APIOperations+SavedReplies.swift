import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BusinessMessages

/// The operations on saved replies.
///
/// - `GET …/saved-replies`: those of the business's file, which are `readOnly`, then those written by the API.
/// - `PUT …/saved-replies/{id}` with `{"title","text","queue"}`, or `message` instead of `text`; a text may have
///   `attachments`, as a message names them.
/// - `DELETE …/saved-replies/{id}`.
extension APIOperations {
    private static let savedReplies = business + "/saved-replies"
    private static let reply = JSONObjectForm<Shown>(written: [
        JSONField([
            ("id", .text), ("title", .text), ("text", .text.optional), ("message", .anyObject.optional),
            ("attachments", .attachments.optional), ("kind", .text), ("queue", .text.optional),
        ]) { $0.reply.write(to: &$1) },
        JSONField("readOnly", .flag) { $0.isReadOnly },
    ])
    private static let list = JSONObjectForm<[Shown]>.listed("replies", reply.form)

    private typealias Shown = (reply: SavedReply, isReadOnly: Bool)

    var savedReplies: [APIRoute] {
        [
            APIRoute(
                .get, Self.savedReplies, may: .read, "List the saved replies of a business",
                Self.list.form(named: "SavedReplies").schema
            ) { APIAnswer(json: Self.list.json(all(of: try $0.business.id))) },
            APIRoute(
                .put, Self.savedReplies + "/{id}", may: .send,
                body: .json(maximumBytes: 2 * SavedReply.maximumBytes, .savedReply), "Write a saved reply",
                Self.reply.form(named: "SavedReply").schema, answer: write),
            APIRoute(
                .delete, Self.savedReplies + "/{id}", may: .send, "Remove a saved reply",
                Self.reply.form(named: "SavedReply").schema, answer: remove),
        ]
    }

    private func all(of business: BusinessID) -> [Shown] {
        let fixed = watch.settings[business]?.savedReplies ?? []
        let ids = Set(fixed.map(\.id))
        // The file may have got an id that a person used before.
        return fixed.map { ($0, true) }
            + replies[business].filter { !ids.contains($0.id) }.map { ($0, false) }
    }

    private func write(_ request: APIRequest) async throws -> APIAnswer {
        let (business, id) = try place(of: request)
        let root = try request.object(["title", "text", "message", "attachments", "queue"])
        for attachment in try SendingBody.attachments(root)
        where uploads.path(of: attachment.id, for: business) == nil {
            throw SendingBody.unknown(attachment)
        }
        guard let reply = SavedReply(id: id, root) else {
            throw APIProblem(
                .badMember,
                "write a title of at most 200 bytes, and either a text, with or without attachments, or a message that can be sent, of at most 64 KiB",
                at: root)
        }
        _ = try queue(in: root, request)
        _ = try await change(business, id, to: reply)
        return APIAnswer(json: Self.reply.json((reply, false)))
    }

    private func remove(_ request: APIRequest) async throws -> APIAnswer {
        let (business, id) = try place(of: request)
        guard let reply = replies[business].first(where: { $0.id == id }),
            try await change(business, id, to: nil)
        else { throw APIProblem(.notFound) }
        return APIAnswer(json: Self.reply.json((reply, false)))
    }

    /// The business and the id in the path; throws for an id that is none, and for one of the business's file.
    private func place(of request: APIRequest) throws(APIProblem) -> (BusinessID, String) {
        let (business, id) = (try request.business.id, try request.path("id"))
        do throws(InvalidSetting) { _ = try SettingFormat.tokenName(id) } catch {
            throw APIProblem(.badParameter, "an id has 1 to 64 of a-z, 0-9 and -", parameter: "id")
        }
        guard !(watch.settings[business]?.savedReplies.contains { $0.id == id } ?? false) else {
            throw APIProblem(.conflict, "the saved reply is in the business's file")
        }
        return (business, id)
    }

    private func change(_ business: BusinessID, _ id: String, to reply: SavedReply?) async throws -> Bool {
        do { return try await replies.change(business, id, to: reply) } catch SavedReplies.Refusal.tooMany {
            throw APIProblem(.conflict, "a business has at most \(SavedReply.maximumCount) saved replies")
        } catch SavedReplies.Refusal.tooLarge {
            throw APIProblem(
                .conflict,
                "the saved replies of a business have at most \(SavedReplies.maximumBusinessBytes >> 20) MiB together"
            )
        } catch SavedReplies.Refusal.full {
            throw APIProblem(.conflict, "the server has no place for more saved replies")
        } catch UploadedFiles.Refusal.full {
            throw APIProblem(.conflict, "the business has too many files of saved replies, or too large ones")
        } catch SavedReplies.Refusal.unreadable {
            throw APIProblem(.unavailable, "the file of saved replies is damaged")
        } catch is SystemError {
            throw APIProblem(.unavailable, "the disk cannot be used")
        }
    }
}
