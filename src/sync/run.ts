/** Runs a sync to its end: rounds until the copy is in step, once or at intervals. */
import { setTimeout as pause } from 'node:timers/promises'
import { Checkpoint } from './checkpoint.ts'
import { exitCodes, SyncError } from './errors.ts'
import { Exports } from './exports.ts'
import type { ReportEvent } from './report.ts'
import { runRound } from './round.ts'
import { codeOf, exitCodeOf, messageOf, requestIdOf } from './service-error.ts'
import { createSource, type Source } from './source.ts'
import type { OpenStore, Store } from './store.ts'
import type { CopySelection, Sync } from './sync.ts'

/** What the command says. */
export interface SyncOptions {
  /** The address of the service. */
  url: string
  /** Whether a plain `http://` address may lead to another machine; default: no. */
  allowHttp?: boolean
  /** Reads the token; called before each round, so that a token can be rotated while a watch runs. */
  readToken: () => Promise<string>
  /** The target as the command names it, without a password. */
  to: string
  openStore: OpenStore
  selection: CopySelection
  /** Seconds from the start of a round to the start of the next; null: until the copy is in step once. */
  watch: number | null
}

/**
 * Runs a sync.
 *
 * @param stop ends it at the next checkpoint when it is aborted
 * @returns the exit code of the command; an error was reported
 */
export async function runSync(options: SyncOptions, report: ReportEvent, stop: AbortSignal): Promise<number> {
  let store: Store | null = null
  try {
    store = await openCopy(options)
    return await runRounds(options, store, report, stop)
  } catch (error) {
    if (stop.aborted) {
      report({ event: 'stopped' })
      return options.watch === null ? exitCodes.interrupted : exitCodes.inStep
    }
    const code = exitCodeOf(error)
    report({ event: 'error', code, message: messageOf(error), request_id: requestIdOf(error) })
    return code
  } finally {
    await store?.close()
  }
}

/** Opens the copy. @throws SyncError that names the place: a refused connection could as well be that to the service */
async function openCopy({ to, openStore }: SyncOptions): Promise<Store> {
  try {
    return await openStore()
  } catch (error) {
    if (error instanceof SyncError) throw error
    throw new SyncError(exitCodes.failed, `The copy in ${to} cannot be opened: ${messageOf(error)}`, { cause: error })
  }
}

async function runRounds(options: SyncOptions, store: Store, report: ReportEvent, stop: AbortSignal): Promise<number> {
  const { url, allowHttp = false, readToken, to, selection, watch } = options
  const checkpoint = new Checkpoint(store.positions)
  if (checkpoint.copy && checkpoint.copy.source !== url) {
    throw new SyncError(
      exitCodes.usage,
      `${to} holds a copy of ${checkpoint.copy.source}, not of ${url}. Name another place with --to, or delete that copy.`,
    )
  }
  report({ event: 'start', url, to, resumed: checkpoint.copy !== null })
  const exports = new Exports()
  const skipped: Sync['skipped'] = new Set()
  for (let round = 0; ; round++) {
    const started = performance.now()
    try {
      const connection = { url, allowHttp, token: await readToken(), stop, report }
      if (round === 0) await requireService(createSource({ ...connection, maxAttempts: 1 }))
      const source = createSource(connection)
      const sync: Sync = { source, exports, store, checkpoint, selection, report, skipped, stop }
      const unreadable = await bringInStep(sync, started)
      if (watch === null) {
        if (unreadable.length > 0) throw new SyncError(exitCodes.refused, unreadable.join('\n'))
        return exitCodes.inStep
      }
      for (const message of unreadable) report({ event: 'failed', message, request_id: null })
    } catch (error) {
      if (stop.aborted || watch === null || exitCodeOf(error) !== exitCodes.unreachable) throw error
      report({ event: 'failed', message: messageOf(error), request_id: requestIdOf(error) })
    }
    const left = watch * 1000 - (performance.now() - started)
    await pause(Math.max(0, left), undefined, { signal: stop })
  }
}

/** Sends one request, once, so that a wrong address shows at once. @throws SyncError when another server answers */
async function requireService(source: Source): Promise<void> {
  try {
    await source.firstTenants()
  } catch (error) {
    const code = codeOf(error) ?? ''
    // The service is there. The round waits until it answers.
    if (['RATE_LIMITED', 'UNAVAILABLE'].includes(code)) return
    if (!['NOT_FOUND', 'METHOD_NOT_ALLOWED', 'INVALID_RESPONSE'].includes(code)) throw error
    const message = `No voucher gateway answers at ${source.url}. Correct the address in --url. (${messageOf(error)})`
    throw new SyncError(exitCodes.unreachable, message, { cause: error })
  }
}

/** A round that read lists from their beginning and took longer is followed by another one, in milliseconds. */
const longRound = 10_000

/**
 * Runs a round, and another one after a long first pass, so that the copy is not as old as that.
 *
 * @returns what the token may not read
 */
async function bringInStep(sync: Sync, started: number): Promise<string[]> {
  let received = 0
  let removed = 0
  for (;;) {
    const began = performance.now()
    const result = await runRound(sync)
    received += result.received
    removed += result.removed
    if (result.beganAnew && performance.now() - began > longRound) continue
    const tenants = sync.checkpoint.tenants.size
    const seconds = Math.round(performance.now() - started) / 1000
    sync.report({ event: 'in_step', server_time: result.serverTime, tenants, received, removed, seconds })
    return result.unreadable
  }
}
