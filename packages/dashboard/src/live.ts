// Follows the changes of the service, and asks again for what the page shows.
import { createContext } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { VoucherGatewayError } from '../../client/src/error.ts'
import { pause } from '../../client/src/pause.ts'
import { Transport } from '../../client/src/transport.ts'
import { watchChanges } from '../../client/src/watch-changes.ts'
import type { Rate } from './api.ts'

/** An answer that the page shows. */
export interface ShownAnswer {
  /** Returns the operations that its last request counted as; null before the first answer. */
  cost(): number | null
  /**
   * Requests the answer again, while its present data stay visible. Resolves when the answer has come, or has failed.
   */
  refresh(): Promise<void>
}

/** The state of the updates of the page, with a time by the browser's clock, in milliseconds since the epoch. */
export type LiveState =
  | { kind: 'updated' | 'next'; at: number }
  | { kind: 'following' | 'connecting' | 'costly'; at?: undefined }

interface LiveListener {
  onState(state: LiveState): void
  /** Called when the token is not valid any more. */
  onEnd(): void
}

/** The rate in an answer, and the time of the answer. */
interface TimedRate extends Rate {
  readAt: number
}

type Live = ReturnType<typeof createLive>

/** Provides the object that refreshes the answers of the components below it; null: it refreshes none. */
export const LiveContext = createContext<Live | null>(null)

/** The minimum time between two refreshes, in milliseconds. */
const minInterval = 1_000

/** The interval at which it looks whether a refresh may begin, in milliseconds. */
const checkInterval = 250

/** The wait after an error of the stream that another try may not mend, in milliseconds. */
const errorInterval = 30_000

/**
 * Returns the earliest time of the next refresh. It leaves half of each minute's operations to the person: refreshes are
 * immediate while three quarters are left, and are then spread over the rest of the minute.
 *
 * @param cost the operations of a refresh
 * @param refreshedAt the time of the last refresh; times are in milliseconds since the epoch
 * @returns infinity for a refresh that costs more than half of the operations of a minute
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

/** Creates the object that refreshes the answers of a session after changes, as far as the rate allows. */
function createLive(token: string, { onState, onEnd }: LiveListener) {
  const answers = new Set<ShownAnswer>()
  let rate: TimedRate | null = null
  /** The page has all changes up to this instant, or `isDue`; undefined: no figures were read yet. */
  let position: string | undefined
  /** True when a change arrived after the last refresh began. */
  let isDue = false
  let isRefreshing = false
  let refreshedAt = 0
  let isConnecting = false
  const transport = new Transport({
    url: location.origin,
    token,
    // The page itself comes from the same origin.
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

  /** Reads changes until the signal ends it, and sets `isDue`. */
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
    /** Refreshes an answer after changes until the returned function is called. */
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

    /** Begins with the changes after the first figures. @param asOf the instant up to which they have all changes */
    onFigures(asOf: string): void {
      position ??= asOf
    },

    /**
     * Follows until the signal ends it. A later call also gets the changes in between.
     *
     * @param includes returns whether the view may include a tenant
     */
    follow(includes: (tenant: string) => boolean, signal: AbortSignal): void {
      // The rate may delay a refresh, even from before the page was hidden.
      const timer = setInterval(refreshWhenDue, checkInterval)
      signal.addEventListener('abort', () => clearInterval(timer), { once: true })
      void watch(includes, signal)
    },
  }
}

/** Creates the `Live` of a session. Returns the `Live` with the state of its updates. */
export function useLive(token: string, onEnd: () => void): { live: Live; liveState: LiveState } {
  const [liveState, setState] = useState<LiveState>({ kind: 'following' })
  const live = useMemo(() => {
    const onState = (next: LiveState) =>
      setState(last => (last.kind === next.kind && last.at === next.at ? last : next))
    return createLive(token, { onState, onEnd })
  }, [])
  return { live, liveState }
}

/** Follows changes while it is on and the page is visible. @param includes returns whether the view may include a tenant */
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
