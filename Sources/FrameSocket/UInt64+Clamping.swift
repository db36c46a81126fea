// Arithmetic on times, which may come from a peer or a program, and must not trap.

extension UInt64 {
    /// Returns the sum, clamped to the maximum.
    func addingClamping(_ other: UInt64) -> UInt64 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? .max : sum
    }

    /// Returns the product, clamped to the maximum.
    func multipliedClamping(by other: UInt64) -> UInt64 {
        let (product, overflows) = multipliedReportingOverflow(by: other)
        return overflows ? .max : product
    }

    /// Returns the difference, or 0 if `other` is larger.
    func subtractingClamping(_ other: UInt64) -> UInt64 {
        self > other ? self - other : 0
    }
}
