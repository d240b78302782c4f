let marks = 0

/** @returns a text that was never written before, so that each change shows */
export const createMark = () => `mark-${++marks}`
