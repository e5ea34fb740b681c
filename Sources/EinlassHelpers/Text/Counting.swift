package import EinlassJSON

/// Returns a number with its noun: `1 account`, `2 accounts`.
package func counted(_ number: JSONValue?, _ one: String, _ several: String? = nil) -> String {
  let count = number?.int64 ?? 0
  return "\(count) \(count == 1 ? one : several ?? "\(one)s")"
}
