import BalloonJSON
package import BusinessMessages
package import MessageStore

/// The body of `POST /erase`: `{"job":"…","customers":["…"],"keepPayments":false}`.
package struct ErasureRequest: Sendable {
    /// The maximum number of customers in one request.
    package static let maximumCustomers = 1000

    /// The customers to erase.
    package let customers: Set<CustomerID>
    /// Whether the lines of payments stay.
    package let keepsPayments: Bool

    /// Creates a request.
    package init(_ customers: Set<CustomerID>, keepsPayments: Bool) {
        self.customers = customers
        self.keepsPayments = keepsPayments
    }

    /// Parses a body; nil when it is invalid.
    init?(_ json: [UInt8]) {
        guard let root = (try? JSONDocument(json))?.root, let values = root["customers"]?.elements,
            (1...Self.maximumCustomers).contains(values.count)
        else { return nil }
        let customers = values.compactMap(\.string)
        guard customers.count == values.count, !customers.contains("") else { return nil }
        self.init(Set(customers.map { CustomerID($0) }), keepsPayments: root["keepPayments"]?.bool ?? false)
    }

    /// The JSON of the request, with the identifier of its job.
    package func json(job: String) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("job", job)
            writer.key("customers")
            writer.array { writer in for customer in customers { writer.string(customer.rawValue) } }
            writer.field("keepPayments", keepsPayments)
        }
    }
}

extension CustomerErasure.Report {
    /// `{"conversations":2,"records":57,"contents":1,"unreached":["…"],"linked":["tel:…"]}`; `linked` is absent when it
    /// would be empty.
    package var json: [UInt8] {
        JSONWriter.object { writer in
            writer.field("conversations", conversations)
            writer.field("records", records)
            writer.field("contents", contents)
            writer.key("unreached")
            writer.array { writer in for path in unreached { writer.string(path) } }
            guard !linked.isEmpty else { return }
            writer.key("linked")
            writer.array { writer in
                for customer in linked.map(\.rawValue).sorted() { writer.string(customer) }
            }
        }
    }

    /// Parses ``json``; nil when it has another form.
    package init?(_ json: [UInt8]) {
        guard let root = (try? JSONDocument(json))?.root, let conversations = root["conversations"]?.int,
            let records = root["records"]?.int, let contents = root["contents"]?.int,
            let unreached = root["unreached"]?.elements
        else { return nil }
        self.init()
        self.conversations = conversations
        self.records = records
        self.contents = contents
        self.unreached = unreached.compactMap(\.string)
        linked = Set(root["linked"]?.elements.compactMap { $0.string.map { CustomerID($0) } } ?? [])
    }
}
