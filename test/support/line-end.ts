/** The characters at which readers such as Python's `splitlines` end a line. */
export const lineEnd = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/
