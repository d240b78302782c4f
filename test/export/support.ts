import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { createBrotliDecompress, createGunzip } from 'node:zlib'
import { bulkExports } from '../../src/export/routes.ts'
import type { Answer, Client } from '../support/app.ts'
import { afterFile } from '../support/cleanups.ts'
import { lineEnd } from '../support/line-end.ts'

export const exportPath = '/api/external/export/v1'

/**
 * Sets the number of records per chunk for all exports, and restores it after the tests of the file, because test files
 * share modules.
 */
export function setChunkSize(chunkSize: number): void {
  for (const each of bulkExports) {
    const { chunkSize: former } = each
    each.chunkSize = chunkSize
    afterFile(() => {
      each.chunkSize = former
    })
  }
}

interface Lines {
  serverTime: string
  // biome-ignore lint/suspicious/noExplicitAny: the tests check the shape of the records
  records: any[]
  /** The lines of the records, unchanged. */
  recordLines: string[]
  cursors: string[]
  /** For each cursor, the number of records in front of it. A slow reader gets more cursors than there are chunks. */
  cursorPlaces: number[]
  /** The number of records that the last line states; null without the last line. */
  count: number | null
}

/** Parses the lines of an export by their type. Drops an incomplete line at the end, which has no line feed. */
export function readLines(text: string): Lines {
  const read: Lines = { serverTime: '', records: [], recordLines: [], cursors: [], cursorPlaces: [], count: null }
  for (const line of text.split(lineEnd).slice(0, -1)) {
    const value = JSON.parse(line)
    if ('server_time' in value) read.serverTime = value.server_time
    else if ('end' in value) read.count = value.count
    else if ('cursor' in value) {
      read.cursors.push(value.cursor)
      read.cursorPlaces.push(read.records.length)
    } else {
      read.records.push(value)
      read.recordLines.push(line)
    }
  }
  return read
}

/** Exports a list. @param path relative to `exportPath`, such as `/tenants` */
export async function exportList({ ask }: Client, secret: string, path: string): Promise<Answer & Lines> {
  const answer = await ask({ method: 'GET', url: exportPath + path, headers: { authorization: `Bearer ${secret}` } })
  return { ...answer, ...readLines(answer.status === 200 ? answer.text : '') }
}

/** A response whose parts are still arriving. */
export type OpenExport = Awaited<ReturnType<typeof openExport>>

const decoders = { gzip: createGunzip, br: createBrotliDecompress }
const isCoding = (name: string): name is keyof typeof decoders => name in decoders

/** Requests an export on a new connection. */
export async function openExport(origin: string, secret: string, path: string, headers: Record<string, string> = {}) {
  const url = origin + exportPath + path
  const request = get(url, { agent: false, headers: { authorization: `Bearer ${secret}`, ...headers } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const coding = response.headers['content-encoding'] ?? ''
  const body: Readable = isCoding(coding) ? pipeline(response, decoders[coding](), () => {}) : response
  const chunks: Buffer[] = []
  body.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = new Promise<'whole' | 'broken'>(resolve => {
    body.once('end', () => resolve('whole'))
    for (const each of [body, response, request]) each.on('error', () => resolve('broken'))
    response.once('close', () => response.complete || resolve('broken'))
  })
  return {
    ...{ status: response.statusCode ?? 0, headers: response.headers, response },
    /** The decompressed response. `pause()` makes the reader stop. */
    body,
    /** Returns all received data as decompressed text. */
    text: () => Buffer.concat(chunks).toString(),
    /** Resolves when the response ends: `whole` if it is complete, and else `broken`. */
    ended,
  }
}

/**
 * Waits until the buffers of a connection are full.
 *
 * @returns the number of bytes that have arrived at this end, with the bytes in the kernel's buffer; infinity outside
 *   Linux, where the number is not known
 */
export async function waitUntilBuffersAreFull(socket: Socket): Promise<number> {
  if (process.platform !== 'linux') return Number.POSITIVE_INFINITY
  const port = (socket.localPort ?? 0).toString(16).toUpperCase().padStart(4, '0')
  const kept = new RegExp(`: [\\dA-F]+:${port} [\\dA-F:]+ \\d+ [\\dA-F]+:([\\dA-F]+)`)
  const unsent = new RegExp(` [\\dA-F]+:${port} \\d+ 0*[1-9A-F][\\dA-F]*:`)
  for (let before = -1, same = 0; ; await pause(100)) {
    const table = await readFile('/proc/net/tcp', 'latin1')
    const arrived = socket.bytesRead + Number.parseInt(kept.exec(table)?.[1] ?? '', 16)
    same = arrived === before && unsent.test(table) ? same + 1 : 0
    if (same === 5) return arrived
    before = arrived
  }
}
