/** Runs a sync to its end: rounds until the copy is in step, once or at intervals. */
import { setTimeout as pause } from 'node:timers/promises'
import { takeAddress } from './address.ts'
import { ChangeAvailability } from './change-availability.ts'
import { Checkpoint } from './checkpoint.ts'
import { CopyError } from './copy-error.ts'
import { createDryStore } from './dry-run.ts'
import { exitCodes, SyncError } from './errors.ts'
import { ExportAvailability } from './export-availability.ts'
import { beginFullPass, dropUnknownTenants } from './full-pass.ts'
import type { ReportEvent } from './report.ts'
import { runRound } from './round.ts'
import { codeOf, exitCodeOf, messageOf, requestIdOf, retryAfterOf } from './service-error.ts'
import { createSource, type Source } from './source.ts'
import { reportStatus } from './status.ts'
import type { OpenStore, ReadCopy } from './store.ts'
import type { CopySelection, Sync } from './sync.ts'
import { verifyCopy } from './verify.ts'
import { reportWebhooks, WebhookWatch } from './webhooks.ts'

/** The options of the command `sync`. */
export interface SyncOptions {
  /** The address of the service; empty for `status` without a service. */
  url: string
  /** True when a plain `http://` address of another machine is allowed; default: false. */
  allowHttp?: boolean
  /** Reads the token. Called before each round, so that the user can replace the token while a watch runs. */
  readToken: () => Promise<string>
  /** The target of the copy, as the user gave it, without a password. */
  to: string
  openStore: OpenStore
  /** Opens the copy read-only. */
  readCopy: ReadCopy
  /**
   * `verify` compares the copy with the service when the copy is in step. `dry run` writes nothing. `status` reads the
   * copy, and from the service only the webhooks.
   */
  task?: 'sync' | 'verify' | 'dry run' | 'status'
  /** True when the user has requested a full pass: all lists are read again from their beginning. */
  full?: boolean
  selection: CopySelection
  /**
   * The seconds from the start of one round to the start of the next. `follow`: rounds are frequent enough to copy each
   * change within a second. Null: the run ends as soon as the copy is in step.
   */
  watch: number | 'follow' | null
}

/**
 * Runs a sync.
 *
 * @param stop ends the sync at the next checkpoint when aborted
 * @returns the exit code of the command; an error was reported
 */
export async function runSync(options: SyncOptions, report: ReportEvent, stop: AbortSignal): Promise<number> {
  try {
    return options.task === 'status' ? await runStatus(options, report, stop) : await runRounds(options, report, stop)
  } catch (error) {
    if (stop.aborted) {
      report({ event: 'stopped' })
      return options.watch === null ? exitCodes.interrupted : exitCodes.inStep
    }
    const code = exitCodeOf(error)
    report({ event: 'error', code, message: messageOf(error), request_id: requestIdOf(error) })
    return code
  }
}

/** The maximum time that `status` waits for the service, in milliseconds. */
const statusTimeout = 3_000

async function runStatus(options: SyncOptions, report: ReportEvent, stop: AbortSignal): Promise<number> {
  const { to, readCopy } = options
  const copy = await openCopy(to, readCopy)
  try {
    await reportStatus(to, copy, report)
    return exitCodes.inStep
  } finally {
    await copy?.close()
    if (copy && options.url !== '') await reportWebhooksOnce(options, report, stop)
  }
}

/**
 * Reports the webhooks that are failing or paused. When the service does not answer, reports nothing, because `status`
 * prints the status of the copy anyway.
 */
async function reportWebhooksOnce(options: SyncOptions, report: ReportEvent, stop: AbortSignal): Promise<void> {
  const { url, allowHttp = false, readToken } = options
  try {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(statusTimeout)])
    const source = createSource({ url, allowHttp, token: await readToken(), stop: signal, report, maxAttempts: 1 })
    await reportWebhooks(source, report)
  } catch {
    // Without a token or an answer, or with an earlier version of the service, there is nothing to report.
  }
}

/**
 * Opens the copy.
 *
 * @throws SyncError that names the copy, because the message of a refused connection does not say whether the service
 * or the database of the copy refused it
 */
async function openCopy<Copy>(to: string, open: () => Promise<Copy>): Promise<Copy> {
  try {
    return await open()
  } catch (error) {
    throw error instanceof SyncError ? error : new CopyError(to, 'opened', error)
  }
}

async function openStore({ to, task, ...options }: SyncOptions) {
  const openDry = async () => createDryStore(await options.readCopy())
  const store = await openCopy(to, task === 'dry run' ? openDry : options.openStore)
  try {
    return { store, checkpoint: new Checkpoint(store.positions) }
  } catch (error) {
    await store.close()
    throw error
  }
}

/**
 * Returns errors of the service and of the sync unchanged. All other errors come from the files or the database of the
 * copy, and become a `CopyError`.
 */
const toCopyError = (error: unknown, to: string): unknown =>
  error instanceof SyncError || codeOf(error) !== null ? error : new CopyError(to, 'written', error)

/**
 * The maximum pauses of a watch after a failed round, in seconds. `copy`: while the copy cannot be opened. `service`:
 * when the service sends `Retry-After`.
 */
const longestPause = { copy: 60, service: 900 }

async function runRounds(options: SyncOptions, report: ReportEvent, stop: AbortSignal): Promise<number> {
  const { url, allowHttp = false, readToken, to, selection, watch, task, full = false } = options
  let copy: Awaited<ReturnType<typeof openStore>> | null = await openStore(options)
  report({ event: 'start', url, to, resumed: copy.checkpoint.copy !== null })
  const exports = new ExportAvailability()
  const changes = new ChangeAvailability()
  const webhooks = new WebhookWatch()
  const lacking: Sync['lacking'] = new Map()
  const skipped: Sync['skipped'] = new Set()
  let hasBegun = false
  let outages = 0
  let isFollowing = false
  const reported = new Set<string>()
  const isNew = (message: string) => reported.size < reported.add(message).size
  try {
    for (;;) {
      const started = performance.now()
      let least = 0
      try {
        copy ??= await openStore(options)
        const connection = { url, allowHttp, token: await readToken(), stop, report }
        const impatient = createSource({ ...connection, maxAttempts: 1 })
        if (!hasBegun) await requireService(impatient)
        const source = createSource(connection)
        const isDryRun = task === 'dry run'
        const sync: Sync = { source, exports, changes, ...copy, selection, report, lacking, skipped, isDryRun, stop }
        if (!hasBegun) await takeAddress(sync, to, full)
        if (full && !hasBegun) await beginRequestedFullPass(sync)
        hasBegun = true
        const unreadable = await bringInStep(sync, started, watch === 'follow' && isFollowing)
        isFollowing = true
        await webhooks.look(impatient, sync)
        if (task === 'verify') await verifyCopy(sync)
        if (watch === null) {
          if (unreadable.length > 0) throw new SyncError(exitCodes.refused, unreadable.join('\n'))
          return exitCodes.inStep
        }
        outages = 0
        for (const message of watch === 'follow' ? unreadable.filter(isNew) : unreadable) {
          report({ event: 'failed', message, request_id: null })
        }
      } catch (failure) {
        const error = stop.aborted ? failure : toCopyError(failure, to)
        // After the first success, opening the copy is tried again after any error, because after an outage the old
        // lock may still exist for some time.
        const isOutage = copy === null || error instanceof CopyError
        if (stop.aborted || watch === null || !(isOutage || exitCodeOf(error) === exitCodes.unreachable)) throw error
        report({ event: 'failed', message: messageOf(error), request_id: requestIdOf(error) })
        isFollowing = false
        least = Math.min(Math.max(1, retryAfterOf(error) ?? 0), longestPause.service)
        if (isOutage) {
          // After a commit whose outcome is unknown, only the checkpoint in the store is correct.
          await copy?.store.close().catch(() => {})
          copy = null
          least = Math.min(2 ** outages++, longestPause.copy)
          report({ event: 'wait', seconds: least, reason: 'until the copy is opened again' })
        }
      }
      const interval = watch === 'follow' ? changes.pause() : watch
      const left = copy ? interval - (performance.now() - started) / 1000 : 0
      await pause(Math.max(least, left) * 1000, undefined, { signal: stop })
    }
  } finally {
    await copy?.store.close()
  }
}

/**
 * Begins the full pass that the user requested. For a copy without a checkpoint, only drops unknown tenants, because
 * its first round is a full pass anyway.
 */
async function beginRequestedFullPass(sync: Sync): Promise<void> {
  await dropUnknownTenants(sync)
  if (sync.checkpoint.copy) await beginFullPass(sync, 'it was asked for.')
}

/**
 * Sends one request without retries, so that a wrong address is reported immediately.
 *
 * @throws SyncError when the server at the address is not the service
 */
async function requireService(source: Source): Promise<void> {
  try {
    await source.firstTenants()
  } catch (error) {
    const code = codeOf(error) ?? ''
    // The service is at this address. Ignores the error, because the round itself waits until the service answers.
    if (['RATE_LIMITED', 'UNAVAILABLE'].includes(code)) return
    if (!['NOT_FOUND', 'METHOD_NOT_ALLOWED', 'INVALID_RESPONSE'].includes(code)) throw error
    const message = `No voucher gateway answers at ${source.url}. Correct the address in --url. (${messageOf(error)})`
    throw new SyncError(exitCodes.unreachable, message, { cause: error })
  }
}

/**
 * When a round read lists from their beginning and took longer than this time, a second round follows; in milliseconds.
 */
const longRound = 10_000

/**
 * Runs a round, and another round after a long first pass, so that the copy is up to date.
 *
 * @param isQuiet true when rounds that change nothing are not reported
 * @returns the lists that the token may not read
 */
async function bringInStep(sync: Sync, started: number, isQuiet: boolean): Promise<string[]> {
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
    if (isQuiet && received + removed === 0) return result.unreadable
    const seconds = Math.round(performance.now() - started) / 1000
    sync.report({ event: 'in_step', server_time: result.serverTime, tenants, received, removed, seconds })
    return result.unreadable
  }
}
