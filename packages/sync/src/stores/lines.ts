/**
 * Reads files line by line, with the offset of each line, and replaces files so that a crash leaves either the old or
 * the new file.
 */
import { open, rename, rm } from 'node:fs/promises'
import { isMissing, openOwnFile, rethrowWithPath, writeFlags } from './own-file.ts'

/** A line of a file, without its line feed. */
interface Line {
  text: string
  /** The offset of the line in the file, in bytes. */
  offset: number
  /** The offset of the next line, in bytes. */
  end: number
}

const lineFeed = 0x0a
const newLine = Buffer.of(lineFeed)

/** Yields the complete lines of a file. Leaves out a last line without a line feed. A missing file counts as empty. */
export async function* readLines(path: string): AsyncGenerator<Line> {
  let rest: Buffer = Buffer.alloc(0)
  let offset = 0
  try {
    const file = await openOwnFile(path)
    for await (const chunk of file.createReadStream({ highWaterMark: 1 << 20 })) {
      const bytes: Buffer = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      let start = 0
      for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, start)) {
        yield { text: bytes.toString('utf8', start, end), offset: offset + start, end: offset + end + 1 }
        start = end + 1
      }
      offset += start
      rest = bytes.subarray(start)
    }
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

/** The number of bytes that are buffered before a write. */
const writeSize = 1 << 20

/** Writes the lines to a new file, then renames it over the old file. When writing fails, the old file stays. */
export async function replaceFile(path: string, lines: AsyncIterable<string | Buffer> | string[]): Promise<void> {
  const draft = `${path}.tmp`
  const file = await openOwnFile(draft, writeFlags)
  try {
    try {
      for await (const block of joinLines(lines)) await file.writeFile(block).catch(rethrowWithPath(draft))
      await file.sync().catch(rethrowWithPath(draft))
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/**
 * Joins lines, each with its line feed, to blocks for one write. Copies each line at once, because its bytes are valid
 * only until the next line is read.
 */
async function* joinLines(lines: AsyncIterable<string | Buffer> | string[]): AsyncGenerator<Buffer> {
  const waiting: Buffer[] = []
  let size = 0
  for await (const line of lines) {
    waiting.push(Buffer.from(line), newLine)
    size += line.length + 1
    if (size < writeSize) continue
    yield Buffer.concat(waiting)
    waiting.length = 0
    size = 0
  }
  yield Buffer.concat(waiting)
}

/** Calls fsync on a directory, so that renames in it survive a crash. */
export async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory, so no fsync is possible.
  if (process.platform === 'win32') return
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
