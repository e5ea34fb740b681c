// swift-tools-version: 6.2
// A program of somebody else's that uses the engine directly: what it needs must stay public.

import PackageDescription

// The folder that holds einlass: given by whoever copies this package elsewhere.
let einlass = Context.environment["EINLASS_PACKAGE"] ?? "../.."
let name = einlass.split(separator: "/").last.map(String.init) ?? "einlass"

let package = Package(
  name: "downstream",
  dependencies: [.package(name: "einlass", path: einlass)],
  targets: [
    .executableTarget(
      name: "Downstream", dependencies: [.product(name: "Einlass", package: "einlass")])
  ]
)
