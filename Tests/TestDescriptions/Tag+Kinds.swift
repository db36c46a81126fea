// A release build makes every target, and has no Testing.
#if canImport(Testing)
    public import Testing

    extension Tag {
        /// A suite that only computes: without sockets, processes and clocks.
        ///
        /// `scripts/test` runs such suites in parallel with each other, and all others one test at a time.
        @Tag public static var computes: Self
    }
#endif
