/** The maximum length of a line with a whole object or array. */
const lineLength = 120

/** Returns a value as readable JSON: an object or an array that fits on a line is on one line. */
export const toJson = (value: unknown): string => `${write(value, 0, '')}\n`

/** @param start the length of the line before the value */
function write(value: unknown, start: number, indent: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  const parts = Object.entries(value)
    .filter(([, part]) => part !== undefined)
    .map(([key, part]) => ({ name: Array.isArray(value) ? '' : `${JSON.stringify(key)}: `, part }))
  const [open, close, gap] = Array.isArray(value) ? ['[', ']', ''] : ['{', '}', ' ']
  if (parts.length === 0) return open + close
  const lines = parts.map(({ name, part }) => name + write(part, inner.length + name.length + 1, inner))
  const line = `${open}${gap}${lines.join(', ')}${gap}${close}`
  if (start + line.length <= lineLength && !line.includes('\n')) return line
  return `${open}\n${lines.map(each => inner + each).join(',\n')}\n${indent}${close}`
}
