// swift-tools-version: 6.2
// Fuzz targets: a package of its own, so that an ordinary build knows nothing of them. `run` builds it.

import PackageDescription

let package = Package(
  name: "fuzz",
  dependencies: [.package(name: "einlass", path: "../..")],
  targets: [
    .target(name: "CFuzzer"),
    .executableTarget(
      name: "Fuzz", dependencies: ["CFuzzer", .product(name: "EinlassParts", package: "einlass")]),
  ]
)
