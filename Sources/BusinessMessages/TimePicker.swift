internal import BalloonJSON

/// The time slot chosen by the customer.
///
/// ```json
/// "data": {"event": {"identifier": "1", "title": "Repair", "timezoneOffset": 60, "timeslots": [
///          {"identifier": "0", "startTime": "2026-07-10T17:00+0000", "duration": 3600}]}}
/// ```
/// Apple MSP API, "Time Picker Message". Older devices send the event inside `timePicker`.
public struct TimePicker: Sendable {
    /// A time slot.
    public struct Timeslot: Equatable, Sendable {
        /// The slot's identifier, chosen by the business.
        public let identifier: String?
        /// The start of the slot, as the device sent it.
        public let startTime: String?
        /// The start in seconds since 1970-01-01T00:00:00Z; `nil` when `startTime` is not a date.
        public let startSeconds: Int?
        /// The duration, in whole seconds.
        public let duration: Duration?

        init(_ value: JSONValue) {
            identifier = value["identifier"]?.scalarString
            startTime = value["startTime"]?.scalarString
            startSeconds = startTime.flatMap(secondsSinceEpoch(parsing:))
            duration = value["duration"]?.scalarInt.map { .seconds($0) }
        }
    }

    /// The location of the appointment.
    public struct Location: Equatable, Sendable {
        /// The location's name.
        public let title: String?
        /// The latitude in degrees, positive north of the equator.
        public let latitude: Double?
        /// The longitude in degrees, positive east of Greenwich.
        public let longitude: Double?
        /// The radius of the location, in metres.
        public let radius: Double?

        init(_ value: JSONValue) {
            title = value["title"]?.scalarString
            latitude = value["latitude"]?.scalarDouble
            longitude = value["longitude"]?.scalarDouble
            radius = value["radius"]?.scalarDouble
        }
    }

    /// The event's identifier, chosen by the business.
    public let identifier: String?
    /// The title of the appointment.
    public let title: String?
    /// The location of the appointment.
    public let location: Location?
    /// The offset from GMT of the displayed times, in whole minutes; `nil` means the customer's own time
    /// zone.
    public let timezoneOffset: Duration?
    /// The identifier of one of the interaction's images.
    public let imageIdentifier: String?
    /// The chosen slots; currently always one.
    public let timeslots: [Timeslot]
    /// The fields that all interactive messages have in common.
    public let interaction: Interaction

    init(_ event: JSONValue, _ interaction: Interaction) {
        identifier = event["identifier"]?.scalarString
        title = event["title"]?.scalarString
        location = event["location"]?.object.map(Location.init)
        timezoneOffset = event["timezoneOffset"]?.scalarInt.flatMap(boundedSeconds(minutes:))
        imageIdentifier = event["imageIdentifier"]?.scalarString
        timeslots = (event["timeslots"]?.objects ?? []).map(Timeslot.init)
        self.interaction = interaction
    }

    /// The chosen slot; `nil` when the message has none.
    public var selectedTimeslot: Timeslot? { timeslots.first }
}

/// Converts an offset from minutes; `nil` when it is more than a day, which is no offset of a time zone.
private func boundedSeconds(minutes: Int) -> Duration? {
    (-1440...1440).contains(minutes) ? .seconds(minutes * 60) : nil
}
