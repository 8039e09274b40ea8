extension JSONValue {
    /// Finds the first array with more than `maximumElements` elements, or object with more than
    /// `maximumMembers` members, in this value including itself; nil when there is none.
    ///
    /// Scans the index once and allocates nothing.
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
}
