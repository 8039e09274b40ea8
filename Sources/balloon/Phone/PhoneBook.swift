import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import MessageServer
import Synchronization

/// The customers of the phone, kept in `DATA/phone.json`, so that a restart keeps their devices.
final class PhoneBook: Sendable {
    static let maximumCustomers = 500

    private let path: String
    private let customers: Mutex<[PhoneCustomer]>

    /// Reads the file in a data directory; one that is absent or unreadable has no customers.
    init(directory: String) {
        path = directory + "/phone.json"
        // The file has only the names of simulated devices, so that a broken one is replaced.
        let bytes = try? File(path, for: .readingGiven).readAll()
        let root = bytes.flatMap { try? JSONDocument($0) }?.root
        let known = root?["customers"]?.elements.compactMap { PhoneCustomer($0) } ?? []
        customers = Mutex(Array(known.prefix(Self.maximumCustomers)))
    }

    var all: [PhoneCustomer] { customers.withLock { $0 } }

    subscript(id: CustomerID) -> PhoneCustomer? { customers.withLock { $0.first { $0.id == id } } }

    /// Adds a customer; throws a conflict when the identity is known or the book is full.
    func add(_ make: (_ number: Int) throws(InspectorProblem) -> PhoneCustomer) throws -> PhoneCustomer {
        try customers.withLock { customers in
            guard customers.count < Self.maximumCustomers else {
                throw InspectorProblem(.conflict, "there are \(Self.maximumCustomers) customers; reset first")
            }
            let customer = try make(customers.count + 1)
            guard !customers.contains(where: { $0.id == customer.id }) else {
                throw InspectorProblem(.conflict, "a customer has this id")
            }
            try write(customers + [customer])
            customers.append(customer)
            return customer
        }
    }

    /// Adds the sender of a message that another program posted, or the receiver of an invitation, whose name is the number.
    func discover(_ id: CustomerID, _ business: BusinessID) {
        if self[id] != nil { return }
        // The book may be full, and the disk too: the customer is then not shown.
        _ = try? add { number throws(InspectorProblem) in
            let telephone = id.rawValue.hasPrefix("tel:") ? String(id.rawValue.dropFirst(4)) : nil
            return PhoneCustomer(id: id, business: business, name: telephone ?? "Customer \(number)")
        }
    }

    /// Changes a customer; throws `not found` when there is none.
    func change(_ id: CustomerID, by object: JSONValue) throws -> PhoneCustomer {
        try customers.withLock { customers in
            guard let index = customers.firstIndex(where: { $0.id == id }) else { throw Self.unknown }
            var changed = customers
            try changed[index].change(by: object)
            try write(changed)
            customers = changed
            return changed[index]
        }
    }

    /// Forgets all customers.
    func reset() throws {
        try customers.withLock { customers in
            try write([])
            customers = []
        }
    }

    static let unknown = InspectorProblem(.notFound, "there is no customer with this id")

    private func write(_ customers: [PhoneCustomer]) throws(SystemError) {
        let json = JSONWriter.object(reservingCapacity: 4096) { writer in
            writer.field("format", 1)
            writer.list("customers", customers) { customer, writer in customer.write(to: &writer) }
        }
        try AtomicFile.write(json + [UInt8(ascii: "\n")], to: path)
    }
}
