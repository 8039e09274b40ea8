import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import MessageStore

/// The operations that read and set whether people are present to answer a business's customers.
///
/// `GET …/people` answers `{"open":false,"text":"Back at 9.","until":"…","opensAt":"…"}`. `PUT …/people` takes such an
/// object without `opensAt`, and answers after it is durable. While `open` is false, a customer who waits for a person gets
/// `text` instead of the configured texts. `opensAt` says when people answer again, while they do not.
extension APIOperations {
    private static let people = business + "/people"

    var presence: [APIRoute] {
        [
            APIRoute(.get, Self.people, may: .read, "Read whether people are there", .presenceState) {
                answer(try business($0))
            },
            APIRoute(
                .put, Self.people, may: .send, body: .json(maximumBytes: 64 << 10, .presence),
                "Set whether people are there", .presenceState
            ) { request in
                try request.requireSupervision()
                let business = try business(request)
                let root = try request.object(["open", "text", "until"])
                _ = try root.needed("open", "must be true or false", \.bool)
                let now = Timestamp.now()
                _ = try root.given("until", "must be a time in the future, while open is false") {
                    $0.string.flatMap { Timestamp(rfc3339: $0) }.flatMap { $0 > now ? $0 : nil }
                }
                guard let presence = Presence(root) else {
                    throw APIProblem(
                        .badMember,
                        "text must be a text of up to \(PeopleConfiguration.maximumTextBytes) bytes, and is required while open is false; until needs open to be false",
                        at: root["text"] ?? root)
                }
                if presence.lacksUntil {
                    throw APIProblem(
                        .badMember, "text has \(OpeningPhrase.placeholder), which needs until",
                        at: root["text"] ?? root)
                }
                do {
                    try await watch.presence.change(business, to: presence)
                } catch is PeoplePresence.Unreadable {
                    throw APIProblem(.unavailable, "the file of people's presence is damaged")
                } catch is SystemError {
                    throw APIProblem(.unavailable, "the disk cannot be used")
                }
                return answer(business)
            },
        ]
    }

    private func answer(_ business: BusinessID) -> APIAnswer {
        let (presence, people) = (watch.presence[business], watch.settings[business])
        return APIAnswer { writer in
            presence.write(to: &writer)
            writer.field("opensAt", people?.openingTime(of: nil).opensAt(after: .now())?.rfc3339)
            writer.field("link", people?.link)
        }
    }

    private typealias Person = (entry: Availability.Entry, held: Int)
    private static let persons = JSONObjectForm<[Person]>.listed(
        "persons",
        JSONObjectForm<Person>(written: [
            JSONField("person", .person) { $0.entry.person },
            JSONField("state", .choice(Availability.State.allCases.map(\.rawValue))) {
                $0.entry.state.rawValue
            },
            JSONField("since", .time) { $0.entry.chosenAt }, JSONField("held", .integer) { $0.held },
            JSONField("conversation", optional: .hash) { $0.entry.conversation },
        ]).form)

    /// The operations on the availability of single persons.
    var availability: [APIRoute] {
        let path = Self.people + "/persons"
        return [
            APIRoute(
                .get, path, may: .read,
                "List the persons who are available or away, or look at a conversation",
                Self.persons.form(named: "Persons").schema
            ) { request in
                let business = try request.business.id
                let assigned = watch.assigned(of: business)
                let persons = watch.availability.persons(of: business).map { entry in
                    (entry, assigned.count { $0.person?.id == entry.person.id })
                }
                return APIAnswer(json: Self.persons.json(persons))
            },
            APIRoute(
                .put, path, may: .send, body: .json(maximumBytes: 4 << 10, .availability),
                "Report that the token's person is there, and whether available", .availabilityState
            ) { request in
                guard let person = request.token.person else {
                    throw APIProblem(.rightMissing, "the token names no person")
                }
                let root = try request.object(["state", "conversation"])
                let state = try root.given("state", "must be available, away or gone") {
                    $0.string.flatMap(Availability.State.init)
                }
                let conversation = try root.given("conversation", "must be the id of a conversation") {
                    value in value.string.flatMap { APIParameter.Format.hash.accepts($0) ? $0 : nil }
                }
                let shown = watch.availability.report(
                    person, state, lookingAt: conversation, in: try request.business.id)
                if state != nil { watch.wakeUp() }
                return APIAnswer { $0.field("state", shown.rawValue) }
            },
        ]
    }

    private func business(_ request: APIRequest) throws(APIProblem) -> BusinessID {
        let business = try request.business.id
        guard watch.settings[business] != nil else {
            throw APIProblem(.conflict, "the business's file has no member people")
        }
        return business
    }
}
