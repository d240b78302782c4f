/** Files of lines: read with the offsets of their lines, and written so that a crash leaves the old or the new file. */
import { type FileHandle, open, rename } from 'node:fs/promises'
import { openOwnFile, writing } from './own-file.ts'

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

/** Returns whether an error says that there is no such file. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

/** Buffers this many bytes before it writes. */
const writeSize = 1 << 20

/** Writes a file of lines under another name, and then puts it in the place of the former one. */
export class LineFile {
  private constructor(
    private readonly path: string,
    private readonly file: FileHandle,
    private readonly waiting: (string | Buffer)[] = [],
    private size = 0,
  ) {}

  static async create(path: string): Promise<LineFile> {
    return new LineFile(path, await openOwnFile(`${path}.tmp`, writing))
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
    await writeWhole(this.file, bytes, null)
  }

  /** Replaces the former file. */
  async replace(): Promise<void> {
    try {
      await this.flush()
      await this.file.sync()
    } finally {
      await this.file.close()
    }
    await rename(`${this.path}.tmp`, this.path)
  }

  /** Closes the file, and leaves the former one as it is. */
  async abandon(): Promise<void> {
    await this.file.close()
  }
}

/**
 * Writes all bytes.
 *
 * @param position where in the file; null for its end
 */
export async function writeWhole(file: FileHandle, bytes: Buffer, position: number | null): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(
      bytes,
      done,
      bytes.length - done,
      position === null ? null : position + done,
    )
    done += bytesWritten
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
