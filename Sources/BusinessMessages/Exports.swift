// A message's raw JSON is part of what handlers see, so whoever imports this may read it.
@_exported public import BalloonJSON
