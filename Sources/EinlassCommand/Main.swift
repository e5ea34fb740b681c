@main
struct EinlassCommand {
  static func main() {}
}
