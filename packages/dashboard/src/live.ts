// Live updates: follows the changes of the service, and requests the answers that the page shows again.
import { createContext } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { VoucherGatewayError } from '../../client/src/error.ts'
import { pause } from '../../client/src/pause.ts'
import { Transport } from '../../client/src/transport.ts'
import { watchChanges } from '../../client/src/watch-changes.ts'
import type { Rate } from './api.ts'

/** An answer that the page shows and that live updates can refresh. */
export interface ShownAnswer {
  /** Returns the number of operations that the last request of this answer used; null before the first answer. */
  cost(): number | null
  /**
   * Requests the answer again. The current data stays visible meanwhile. Resolves when the answer has arrived or the
   * request has failed.
   */
  refresh(): Promise<void>
}

/**
 * The state of the live updates. `at` is the time of the last or next update by the browser's clock, in milliseconds
 * since the epoch.
 */
export type LiveState =
  | { kind: 'updated' | 'next'; at: number }
  | { kind: 'following' | 'connecting' | 'costly'; at?: undefined }

interface LiveListener {
  onState(state: LiveState): void
  /** Called when the token is not valid any more. */
  onEnd(): void
}

/** The rate limit in an answer, and the time of the answer, in milliseconds since the epoch. */
interface TimedRate extends Rate {
  readAt: number
}

type Live = ReturnType<typeof createLive>

/** Provides the live updates to the components below; null when their answers are not updated. */
export const LiveContext = createContext<Live | null>(null)

/** The minimum time between two refreshes, in milliseconds. */
const minInterval = 1_000

/** The interval at which the dashboard checks whether a refresh may begin, in milliseconds. */
const checkInterval = 250

/** The wait before a new attempt after an error of the stream that may be permanent, in milliseconds. */
const errorInterval = 30_000

/**
 * Returns the earliest time of the next refresh. Refreshes use at most half of each minute's operations, so that the
 * other half is left for the viewer. A refresh is immediate while three quarters of the operations are left; later
 * refreshes are spread over the rest of the minute.
 *
 * @param cost the number of operations that a refresh uses
 * @param refreshedAt the time of the last refresh; times are in milliseconds since the epoch
 * @returns milliseconds since the epoch; infinity for a refresh that costs more than half of the operations of a minute
 */
export function nextRefresh(rate: TimedRate | null, cost: number, refreshedAt: number): number {
  const earliest = refreshedAt + minInterval
  if (rate === null) return earliest
  const { limit, remaining, resetsIn, readAt } = rate
  if (cost > limit / 2) return Number.POSITIVE_INFINITY
  const spare = remaining - limit / 2
  if (cost < spare && remaining >= (limit * 3) / 4) return earliest
  const share = cost < spare ? cost / spare : 1
  return Math.max(earliest, readAt + resetsIn * 1000 * share)
}

/**
 * Creates the live updates of a session, which request answers again after changes, as often as the rate limit allows.
 */
function createLive(token: string, { onState, onEnd }: LiveListener) {
  const answers = new Set<ShownAnswer>()
  let rate: TimedRate | null = null
  /** The page shows all changes up to this instant, unless `isDue` is true; undefined before the first figures. */
  let position: string | undefined
  /** True when a change arrived after the last refresh began. */
  let isDue = false
  let isRefreshing = false
  let refreshedAt = 0
  let isConnecting = false
  const transport = new Transport({
    url: location.origin,
    token,
    // The page itself was loaded from the same origin, so `http://` is no further risk.
    allowHttp: true,
    onWait: connectAgain,
  })

  function connectAgain(): void {
    isConnecting = true
    onState({ kind: 'connecting' })
  }

  async function refreshWhenDue(): Promise<void> {
    if (!isDue || isRefreshing) return
    const costs = [...answers].map(answer => answer.cost())
    if (costs.includes(null)) return
    const cost = costs.reduce<number>((sum, each) => sum + (each ?? 0), 0)
    const at = nextRefresh(rate, cost, refreshedAt)
    if (at > Date.now()) {
      if (at === Number.POSITIVE_INFINITY) onState({ kind: 'costly' })
      else if (at > refreshedAt + minInterval) onState({ kind: 'next', at })
      return
    }
    isDue = false
    isRefreshing = true
    refreshedAt = Date.now()
    await Promise.all([...answers].map(answer => answer.refresh()))
    isRefreshing = false
    onState({ kind: 'updated', at: Date.now() })
  }

  /** Reads changes until the signal is aborted. A change of a tenant of the view sets `isDue`. */
  async function watch(includes: (tenant: string) => boolean, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (position === undefined) {
          await pause(checkInterval, signal)
          continue
        }
        for await (const { lists, serverTime } of watchChanges(transport, { after: position, signal })) {
          position = serverTime
          if (isConnecting) onState({ kind: 'following' })
          isConnecting = false
          if (lists.some(({ tenantId }) => includes(String(tenantId)))) isDue = true
          void refreshWhenDue()
        }
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof VoucherGatewayError && error.code === 'UNAUTHENTICATED') return onEnd()
        if (error instanceof VoucherGatewayError && error.needsFullPass) {
          position = undefined
          isDue = true
        } else {
          connectAgain()
          await pause(errorInterval, signal).catch(() => {})
        }
      }
    }
  }

  return {
    /** Adds an answer to the live updates. The returned function removes the answer. */
    join(answer: ShownAnswer): () => void {
      answers.add(answer)
      return () => answers.delete(answer)
    },

    onRate(next: Rate): void {
      const isOver = rate === null || Date.now() >= rate.readAt + rate.resetsIn * 1000
      // Answers can arrive in another order than the order of their requests.
      if (!isOver && rate !== null && next.remaining > rate.remaining) return
      rate = { ...next, readAt: Date.now() }
    },

    /**
     * Sets the first position from the first figures.
     *
     * @param asOf the instant up to which the figures include all changes
     */
    onFigures(asOf: string): void {
      position ??= asOf
    },

    /**
     * Follows changes until the signal is aborted. The next call continues at the same position, so no change is
     * missed.
     *
     * @param includes returns whether the view may include a tenant
     */
    follow(includes: (tenant: string) => boolean, signal: AbortSignal): void {
      // The rate limit may have delayed a refresh, even one from before the page was hidden, so a timer checks for it.
      const timer = setInterval(refreshWhenDue, checkInterval)
      signal.addEventListener('abort', () => clearInterval(timer), { once: true })
      void watch(includes, signal)
    },
  }
}

/** Opens the live updates of a session, and returns them with their connection state. */
export function useLive(token: string, onEnd: () => void): { live: Live; liveState: LiveState } {
  const [liveState, setState] = useState<LiveState>({ kind: 'following' })
  const live = useMemo(() => {
    const onState = (next: LiveState) =>
      setState(last => (last.kind === next.kind && last.at === next.at ? last : next))
    return createLive(token, { onState, onEnd })
  }, [])
  return { live, liveState }
}

/**
 * Follows changes while `isOn` is true and the page is visible.
 *
 * @param includes returns whether the view may include a tenant
 */
export function useFollow(live: Live, isOn: boolean, includes: (tenant: string) => boolean): void {
  const wanted = useRef(includes)
  wanted.current = includes
  useEffect(() => {
    if (!isOn) return
    let controller: AbortController | undefined
    const followWhenVisible = () => {
      controller?.abort()
      if (document.visibilityState !== 'visible') return
      controller = new AbortController()
      live.follow(tenant => wanted.current(tenant), controller.signal)
    }
    followWhenVisible()
    document.addEventListener('visibilitychange', followWhenVisible)
    return () => {
      document.removeEventListener('visibilitychange', followWhenVisible)
      controller?.abort()
    }
  }, [live, isOn])
}
