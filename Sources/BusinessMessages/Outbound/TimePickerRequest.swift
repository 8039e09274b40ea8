internal import BalloonJSON

/// A choice of times for one appointment; the device also shows the customer's calendar.
///
/// ```json
/// "data": {"event": {"identifier": "repair-7", "title": "Repair", "location": {…}, "timezoneOffset": 60,
///          "timeslots": [{"identifier": "0", "startTime": "2026-07-10T17:00+0000", "duration": 3600}]}}
/// ```
/// Apple MSP API, "Time Picker Message". Devices without ``Capability/timePicker`` cannot show it.
public struct TimePickerRequest: Hashable, Sendable {
    /// A time slot.
    public struct Timeslot: Hashable, Sendable {
        /// The identifier that the answer contains; unique in the request.
        public let identifier: String
        /// The start in GMT, in Apple's format.
        public let startTime: String
        /// The duration, in whole seconds.
        public let duration: Duration

        /// Creates a slot that starts this many seconds after 1970-01-01T00:00:00Z.
        public init(_ identifier: String, startSeconds: Int, duration: Duration) {
            self.init(identifier, startTime: BusinessMessages.startTime(at: startSeconds), duration: duration)
        }

        /// Creates a slot from a date such as `2026-07-10T17:00+0000`.
        public init(_ identifier: String, startTime: String, duration: Duration) {
            self.identifier = identifier
            self.startTime = startTime
            self.duration = duration
        }
    }

    /// The location of the appointment; the customer can ask for directions.
    public struct Location: Hashable, Sendable {
        /// The location's name.
        public let title: String?
        /// The latitude in degrees, positive north of the equator.
        public let latitude: Double?
        /// The longitude in degrees, positive east of Greenwich.
        public let longitude: Double?
        /// The radius of the location in metres; ignored without latitude and longitude.
        public let radius: Double?

        /// Creates a location.
        public init(
            _ title: String?, latitude: Double? = nil, longitude: Double? = nil, radius: Double? = nil
        ) {
            self.title = title
            self.latitude = latitude
            self.longitude = longitude
            self.radius = radius
        }
    }

    /// The event's identifier.
    public let identifier: String
    /// The title of the appointment.
    public let title: String?
    /// The time slots, in display order.
    public let timeslots: [Timeslot]
    /// The location of the appointment.
    public let location: Location?
    /// The offset from GMT of the displayed times, in whole minutes; `nil` means the customer's own time
    /// zone.
    public let timezoneOffset: Duration?
    /// The identifier of one of the message's images, 1125 x 624 pixels, shown with the answer.
    public let imageIdentifier: String?
    /// The bubbles, images and identifiers, which all interactive messages have.
    public let presentation: Presentation

    /// Creates a time picker.
    public init(
        _ identifier: String, title: String?, timeslots: [Timeslot], location: Location? = nil,
        timezoneOffset: Duration? = nil, image: String? = nil, presentation: Presentation
    ) {
        self.identifier = identifier
        self.title = title
        self.timeslots = timeslots
        self.location = location
        self.timezoneOffset = timezoneOffset
        imageIdentifier = image
        self.presentation = presentation
    }

    func write(to writer: inout JSONWriter, id: MessageID) {
        let location: JSONObject? = location.map {
            ["title": $0.title, "latitude": $0.latitude, "longitude": $0.longitude, "radius": $0.radius]
        }
        let timeslots = timeslots.map {
            JSONObject([
                "identifier": $0.identifier, "startTime": $0.startTime,
                "duration": Int($0.duration.components.seconds),
            ])
        }
        presentation.write(
            to: &writer, id: id,
            [
                "event": JSONObject([
                    "identifier": identifier, "title": title, "location": location,
                    "timezoneOffset": timezoneOffset.map { Int($0.components.seconds / 60) },
                    "imageIdentifier": imageIdentifier, "timeslots": timeslots,
                ])
            ])
    }
}
