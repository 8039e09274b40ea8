import BalloonJSON
import BalloonPOSIX

extension JSONWriter {
    /// Writes a member whose value is a timestamp, without creating a string for it.
    mutating func field(_ name: String, _ instant: Timestamp) {
        key(name)
        raw { bytes in
            bytes.append(UInt8(ascii: "\""))
            instant.append(to: &bytes)
            bytes.append(UInt8(ascii: "\""))
        }
    }
}
