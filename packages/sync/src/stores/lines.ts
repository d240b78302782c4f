/** Files of lines: read with the offsets of their lines, and written so that a crash leaves the old or the new file. */
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { isMissing, openOwnFile, throwWithName, writing } from './own-file.ts'

/** A line of a file, without its line feed. */
interface Line {
  text: string
  /** Its start, in bytes. */
  offset: number
  /** The start of the next one, in bytes. */
  end: number
}

const lineFeed = 0x0a

/** Reads the whole lines of a file; a last line without a line feed is left out. No file is an empty file. */
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

/** A file of lines that is written under another name, and then put in the place of the former one. */
export class LineFile {
  private readonly waiting: (string | Buffer)[] = []
  private size = 0

  private constructor(
    private readonly draft: string,
    private readonly file: FileHandle,
  ) {}

  /** Replaces a file by the lines that `write` adds. When it fails, the former one stays as it is. */
  static async replace(path: string, write: (lines: LineFile) => Promise<void>): Promise<void> {
    const draft = `${path}.tmp`
    const lines = new LineFile(draft, await openOwnFile(draft, writing))
    try {
      try {
        await write(lines)
        await lines.flush()
        await lines.file.sync().catch(throwWithName(draft))
      } finally {
        await lines.file.close()
      }
      await rename(draft, path)
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  }

  /** Adds a line. */
  async add(line: string | Buffer): Promise<void> {
    this.waiting.push(line)
    this.size += line.length + 1
    if (this.size >= writeSize) await this.flush()
  }

  private async flush(): Promise<void> {
    const bytes = Buffer.concat(this.waiting.flatMap(line => [Buffer.from(line), Buffer.from('\n')]))
    this.waiting.length = 0
    this.size = 0
    await this.file.writeFile(bytes).catch(throwWithName(this.draft))
  }
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
