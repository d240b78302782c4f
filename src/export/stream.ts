/**
 * Sends an export, and aborts it when the token may no longer read the list or when the service stops. The connection
 * is then reset, so that the client notices the abort.
 */
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { pipeline, Readable, type Transform } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { constants, createBrotliCompress, createGzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ExportWork, exportChannel } from '../channels.ts'
import type { GatewayError } from '../domain/errors.ts'
import type { ExportLease } from '../domain/record/export-limits.ts'
import { toRequestError } from '../domain/token/request-count.ts'
import { brotliOptions, codingFor } from '../http/compression.ts'
import { reportFailure, toGatewayError } from '../http/errors.ts'
import { lineFormat } from '../http/headers.ts'
import { recordError } from '../http/request-count.ts'

/**
 * The interval at which the token and its scope are checked, in milliseconds. An export ends within a second after its
 * token is revoked.
 */
const checkInterval = 250

/** The number of checks between two renewals of the lease, which makes two seconds. */
const checksPerRenewal = 8

/** The maximum time for which a stopping service waits until a chunk has reached the reader, in milliseconds. */
const flushLimit = 2_000

interface StreamOptions {
  lease: ExportLease
  /** Throws when the token may no longer read the list. */
  authorize: () => Promise<void>
  isStopping: () => boolean
  compression: boolean
}

/** An export that is being sent. */
export class ExportStream {
  readonly #timer: NodeJS.Timeout
  #checks = 0
  #isChecking = false
  #hasEnded = false
  /** The streams through which the response passes, from the lines to the encoder. */
  #stages: (Readable | Transform)[] = []
  readonly #work: ExportWork = { outcome: 'abandoned' }

  constructor(
    private readonly request: FastifyRequest,
    private readonly reply: FastifyReply,
    private readonly options: StreamOptions,
    onClose: () => void,
  ) {
    exportChannel.start.publish(this.#work)
    this.#timer = setInterval(() => void this.#check(), checkInterval).unref()
    const { socket } = request.raw
    const close = () => {
      reply.raw.off('close', close)
      socket.off('close', close)
      clearInterval(this.#timer)
      this.#hasEnded = true
      // When a connection ends, Node does not close a response that waits behind another response.
      this.#stages[0]?.destroy()
      onClose()
      if (reply.raw.writableFinished) this.#work.outcome = 'complete'
      exportChannel.asyncEnd.publish(this.#work)
      // An error is ignored: the lease then ends when it expires.
      options.lease.release().catch(() => {})
    }
    reply.raw.once('close', close)
    socket.once('close', close)
  }

  /** Aborts the response, so that nothing more reaches the reader. @param error the reason, for the log */
  end(error: unknown): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const { raw } = this.reply
    const known = toGatewayError(error)
    if (!raw.destroyed) {
      this.#work.outcome = known.code
      recordError(this.request, toRequestError(known))
      if (known !== error || known.code === 'INTERNAL') reportFailure(this.request, known)
    }
    // Without a reset, the kernel would first send its buffer of some megabytes.
    this.request.raw.socket.resetAndDestroy()
  }

  send(lines: AsyncGenerator<Buffer>): FastifyReply {
    const source = Readable.from(this.#guard(lines), { objectMode: false })
    const coding = this.options.compression ? codingFor(this.request) : 'identity'
    this.reply.type(lineFormat)
    if (this.options.compression) this.reply.header('Vary', 'Accept-Encoding')
    const encoder = createEncoder(coding)
    this.#stages = encoder ? [source, encoder] : [source]
    if (!encoder) return this.reply.send(source)
    this.reply.header('Content-Encoding', coding)
    return this.reply.send(pipeline(source, encoder, () => {}))
  }

  /**
   * Called when the service is about to stop. Waits until the reader has received all data, and throws the error of the
   * stop. Also throws when the export ends during the wait.
   */
  async continueUnless(stopping: () => GatewayError): Promise<void> {
    if (this.#hasEnded) throw new Error('The export has ended.')
    if (!this.options.isStopping()) return
    for (const limit = performance.now() + flushLimit; performance.now() < limit && (await this.#isSending()); ) {
      await pause(20)
    }
    throw stopping()
  }

  async #isSending(): Promise<boolean> {
    const { raw } = this.reply
    const waiting = this.#stages.map(
      stage => stage.readableLength + ('writableLength' in stage ? stage.writableLength : 0),
    )
    if (raw.destroyed) return false
    if (waiting.reduce((sum, length) => sum + length, raw.writableLength) > 0) return true
    return (await unreadBytes(this.request.raw.socket)) > 0
  }

  async *#guard(lines: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
    try {
      yield* lines
    } catch (error) {
      this.end(error)
      throw error
    }
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return
    this.#isChecking = true
    try {
      await this.options.authorize()
      const isRenewal = ++this.#checks % checksPerRenewal === 0
      if (isRenewal && !(await this.options.lease.renew())) throw new Error('Another export took the lease.')
    } catch (error) {
      this.end(error)
    }
    this.#isChecking = false
  }
}

/** Returns an encoder that passes on all data immediately, or null when the response is not compressed. */
function createEncoder(coding: string): Transform | null {
  if (coding === 'br') return createBrotliCompress({ ...brotliOptions, flush: constants.BROTLI_OPERATION_FLUSH })
  return coding === 'gzip' ? createGzip({ level: 1, flush: constants.Z_SYNC_FLUSH }) : null
}

/** Matches the ports and the send queue of an established connection in `/proc/net/tcp`, see proc_pid_net(5). */
const socketEntry = /^ *\d+: [\dA-F]+:([\dA-F]{4}) [\dA-F]+:([\dA-F]{4}) 01 ([\dA-F]{8}):/gm

/**
 * Returns the number of bytes that the kernel keeps for the reader of a connection; 0 on systems other than Linux. When
 * several connections have the same ports, returns the smallest value.
 */
async function unreadBytes({ localPort, remotePort }: Socket): Promise<number> {
  const queues: number[] = []
  for (const table of ['tcp', 'tcp6']) {
    const text = await readFile(`/proc/net/${table}`, 'latin1').catch(() => '')
    for (const [, local = '', remote = '', queue = ''] of text.matchAll(socketEntry)) {
      const isThis = Number.parseInt(local, 16) === localPort && Number.parseInt(remote, 16) === remotePort
      if (isThis) queues.push(Number.parseInt(queue, 16))
    }
  }
  return queues.length > 0 ? Math.min(...queues) : 0
}
