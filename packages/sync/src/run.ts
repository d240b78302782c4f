/** Runs a sync to its end: rounds until the copy is in step, once or at intervals. */
import { setTimeout as pause } from 'node:timers/promises'
import { Checkpoint } from './checkpoint.ts'
import { createDryStore } from './dry-run.ts'
import { exitCodes, SyncError } from './errors.ts'
import { Exports } from './exports.ts'
import { beginFullPass, dropUnknownTenants } from './full-pass.ts'
import type { ReportEvent } from './report.ts'
import { runRound } from './round.ts'
import { codeOf, exitCodeOf, messageOf, requestIdOf } from './service-error.ts'
import { createSource, type Source } from './source.ts'
import { reportStatus } from './status.ts'
import type { CopyReader, OpenStore, ReadCopy, Store } from './store.ts'
import type { CopySelection, Sync } from './sync.ts'
import { verifyCopy } from './verify.ts'

/** The options of the command. */
export interface SyncOptions {
  /** The address of the service. */
  url: string
  /** True when a plain `http://` address may lead to another machine; default: false. */
  allowHttp?: boolean
  /** Reads the token; called before each round, so that a token can be rotated while a watch runs. */
  readToken: () => Promise<string>
  /** The target as the command names it, without a password. */
  to: string
  openStore: OpenStore
  /** Opens the copy to read it alone. */
  readCopy: ReadCopy
  /** `verify` compares the copy when it is in step; `dry run` writes nothing; `status` reads the copy alone. */
  task?: 'sync' | 'verify' | 'dry run' | 'status'
  /** True when all lists are read again from their beginning. */
  full?: boolean
  selection: CopySelection
  /** Seconds from the start of a round to the start of the next; null: it ends as soon as the copy is in step. */
  watch: number | null
}

/**
 * Runs a sync.
 *
 * @param stop ends it at the next checkpoint when it is aborted
 * @returns the exit code of the command; an error was reported
 */
export async function runSync(options: SyncOptions, report: ReportEvent, stop: AbortSignal): Promise<number> {
  let copy: CopyReader | null = null
  try {
    if (options.task === 'status') {
      copy = await openCopy(options, options.readCopy)
      await reportStatus(options.to, copy, report)
      return exitCodes.inStep
    }
    const openDry = async () => createDryStore(await options.readCopy())
    const store = await openCopy(options, options.task === 'dry run' ? openDry : options.openStore)
    copy = store
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
    await copy?.close()
  }
}

/**
 * Opens the copy. @throws SyncError that names the copy, because a refused connection could also be the connection to
 * the service
 */
async function openCopy<Copy>({ to }: SyncOptions, open: () => Promise<Copy>): Promise<Copy> {
  try {
    return await open()
  } catch (error) {
    if (error instanceof SyncError) throw error
    throw new SyncError(exitCodes.failed, `The copy in ${to} cannot be opened: ${messageOf(error)}`, { cause: error })
  }
}

async function runRounds(options: SyncOptions, store: Store, report: ReportEvent, stop: AbortSignal): Promise<number> {
  const { url, allowHttp = false, readToken, to, selection, watch, task, full = false } = options
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
      const isDryRun = task === 'dry run'
      const sync: Sync = { source, exports, store, checkpoint, selection, report, skipped, isDryRun, stop }
      if (full && round === 0) await beginAgain(sync)
      const unreadable = await bringInStep(sync, started)
      if (task === 'verify') await verifyCopy(sync)
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

/** Begins a full pass that the user requested. A copy without a checkpoint begins one by itself. */
async function beginAgain(sync: Sync): Promise<void> {
  await dropUnknownTenants(sync)
  if (sync.checkpoint.copy) await beginFullPass(sync, 'it was asked for.')
}

/**
 * Sends one request without retries, so that a wrong address is reported at once. @throws SyncError when another
 * server answers
 */
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
 * Runs a round, and another one after a long first pass, so that the copy is up to date.
 *
 * @returns the lists that the token may not read
 */
async function bringInStep(sync: Sync, started: number): Promise<string[]> {
  let received = 0
  let removed = 0
  for (;;) {
    const began = performance.now()
    const result = await runRound(sync)
    received += result.received
    removed += result.removed
    const tenants = sync.checkpoint.tenants.size
    if (sync.isDryRun) {
      sync.report({ event: 'dry_run', tenants, received, removed })
      return result.unreadable
    }
    if (result.beganAnew && performance.now() - began > longRound) continue
    const seconds = Math.round(performance.now() - started) / 1000
    sync.report({ event: 'in_step', server_time: result.serverTime, tenants, received, removed, seconds })
    return result.unreadable
  }
}
