let marks = 0

/** Returns a text that was never written before, so that each change is visible. */
export const createMark = () => `mark-${++marks}`
