import EinlassJSON
import Testing

@Suite struct DatesTests {
  @Test(
    arguments: [
      ("2026-11-29T18:00:00Z", 1_795_975_200), ("1970-01-01T00:00:00Z", 0),
      ("2026-11-29T19:30:00+01:30", 1_795_975_200), ("2026-11-29T10:00:00-08:00", 1_795_975_200),
      ("2024-02-29T23:59:59Z", 1_709_251_199),
    ] as [(String, Int64)])
  func `A time of RFC 3339 is read and written`(text: String, time: Int64) {
    #expect(seconds(of: text) == time)
    if text.hasSuffix("Z") { #expect(timestamp(time) == text) }
  }

  @Test(arguments: [
    "", "Z", "2026-11-29", "2026-11-29T18:00:00", "2026-11-29 18:00:00Z", "2026-02-29T18:00:00Z",
    "2026-11-29T24:00:00Z", "2026-11-29T18:60:00Z", "2026-11-29T18:00:60Z",
    "2026-11-29T18:00:00.5Z", "2026-11-29T18:00:00+0100", "2026-11-29T18:00:00*01:00",
    "2026-11-29T18:00:0éZ", "2026-11-29T-1:00:00Z", "2026-11-29T18:00:00+24:00",
  ])
  func `Another text is no time`(text: String) { #expect(seconds(of: text) == nil) }
}
