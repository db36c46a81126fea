// Type-checked against stubs, not run on a device.

#if canImport(ReplayKit)
    internal import Foundation

    extension BroadcastSetup {
        /// Checks the setup of this process, an app or an extension.
        ///
        /// In an app it also checks the Info.plists of the extensions in the app's bundle. It reads files; call it
        /// during development or in a test, not for every broadcast.
        ///
        /// - Parameter socketName: The socket's name in the group's container.
        /// - Returns: Every problem; empty if none was found, which does not prove that the setup is complete.
        public static func check(socketName: String = AppGroup.socketName) -> [Problem] {
            let main = BundleEntries(Bundle.main.infoDictionary ?? [:])
            let group = main.group.map(AppGroup.init(identifier:))
            return problems(
                in: Facts(
                    main: main,
                    embedded: embeddedExtensions(),
                    socketPath: group?.socketPath(named: socketName)
                )
            )
        }

        /// Returns what is wrong with the App Group of an extension that has no path.
        static func sentenceWithoutPath() -> String {
            let main = BundleEntries(Bundle.main.infoDictionary ?? [:])
            return sentenceWithoutPath(in: Facts(main: main, embedded: [], socketPath: nil))
        }

        /// Returns the Info.plists of the extensions in the bundle, omitting those that cannot be read.
        private static func embeddedExtensions() -> [BundleEntries] {
            guard let folder = Bundle.main.builtInPlugInsPath,
                let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
            else { return [] }
            return names.filter { $0.hasSuffix(".appex") }.sorted()
                .compactMap { Bundle(path: folder + "/" + $0)?.infoDictionary }.map { BundleEntries($0) }
        }
    }
#endif
