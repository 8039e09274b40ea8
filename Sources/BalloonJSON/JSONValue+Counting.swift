extension JSONValue {
    /// Returns the first container with too many children, in this value or below; nil when there is none.
    ///
    /// An array may have `maximumElements` elements, an object `maximumMembers` members. The function scans
    /// the index once and allocates nothing.
    package func firstContainer(exceedingElements maximumElements: Int, members maximumMembers: Int)
        -> JSONValue?
    {
        let tape = storage.tape
        let end = tape.end(of: index)
        var at = index
        while at < end {
            switch tape.tag(at: at) {
            case .array:
                if tape.count(at: at) > maximumElements { return JSONValue(storage: storage, index: at) }
                at += 2
            case .object:
                if tape.count(at: at) > maximumMembers { return JSONValue(storage: storage, index: at) }
                at += 2
            case .plainString, .escapedString, .integer, .decimal, .true, .false, .null: at += 1
            }
        }
        return nil
    }

    /// The number of values in this value, including itself; names are not counted.
    package var valueCount: Int {
        let tape = storage.tape
        let end = tape.end(of: index)
        var (at, total) = (index, 1)
        while at < end {
            switch tape.tag(at: at) {
            case .array, .object:
                total += tape.count(at: at)
                at += 2
            case .plainString, .escapedString, .integer, .decimal, .true, .false, .null: at += 1
            }
        }
        return total
    }
}
