@main
struct EinlassSandbox {
  static func main() {}
}
