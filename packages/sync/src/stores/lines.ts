/** Files of lines: read with the offsets of their lines, and written so that a crash leaves the old or the new file. */
import { open, rename, rm } from 'node:fs/promises'
import { isMissing, openOwnFile, rethrowWithPath, writeFlags } from './own-file.ts'

/** A line of a file, without its line feed. */
interface Line {
  text: string
  /** The start of the line, in bytes. */
  offset: number
  /** The start of the next line, in bytes. */
  end: number
}

const lineFeed = 0x0a
const newLine = Buffer.of(lineFeed)

/** Reads the whole lines of a file; a last line without a line feed is left out. A missing file counts as empty. */
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

/** Buffers this many bytes before it writes. */
const writeSize = 1 << 20

/** Writes the lines to a new file, then renames it to replace the file. When writing fails, the former file stays. */
export async function replaceFile(path: string, lines: AsyncIterable<string | Buffer> | string[]): Promise<void> {
  const draft = `${path}.tmp`
  const file = await openOwnFile(draft, writeFlags)
  try {
    try {
      for await (const block of blocksOf(lines)) await file.writeFile(block).catch(rethrowWithPath(draft))
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
 * Puts lines together, each with its line feed. The bytes of a line need to be valid only until the next line is read.
 */
async function* blocksOf(lines: AsyncIterable<string | Buffer> | string[]): AsyncGenerator<Buffer> {
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

/** Makes renames in a directory durable (fsync). */
export async function syncDirectory(path: string): Promise<void> {
  // Windows does not open directories.
  if (process.platform === 'win32') return
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
