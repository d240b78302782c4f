import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { createLive, type Live, type LiveState } from './live.ts'

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
