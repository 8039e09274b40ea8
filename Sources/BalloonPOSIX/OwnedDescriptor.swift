/// An open file descriptor that several closures share; it closes with the last reference.
package final class OwnedDescriptor: Sendable {
    private let descriptor: Descriptor
    var raw: Int32 { descriptor.raw }

    /// Takes ownership of `raw`, which must be open and have no other owner.
    package init(owning raw: Int32) { descriptor = Descriptor(owning: raw) }

    func read(_ maximumBytes: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        _ = try descriptor.read(onto: &bytes, maximumBytes: maximumBytes)
        return bytes
    }

    func write(_ bytes: [UInt8], from offset: Int) throws(SystemError) -> Int {
        try descriptor.write(bytes, from: offset)
    }
}
