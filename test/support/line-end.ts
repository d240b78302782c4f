/** Where readers end a line, such as Python's `splitlines`. */
export const lineEnd = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/
