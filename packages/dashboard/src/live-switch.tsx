import { formatTime } from './format.ts'
import type { LiveState } from './live.ts'
import { useView } from './use-view.ts'

interface LiveSwitchProps {
  state: LiveState
  timeZone: string
}

/** Says when the figures move. */
function describeState({ kind, at = 0 }: LiveState, timeZone: string): string {
  switch (kind) {
    case 'updated':
      return `updated ${formatTime(at, timeZone)}`
    case 'next':
      return `next update ${formatTime(at, timeZone)}`
    case 'costly':
      return 'too costly to follow'
    case 'connecting':
      return 'connecting again …'
    case 'following':
      return ''
  }
}

/** The switch that lets the figures follow the changes. Its words are no live region: they change often. */
export function LiveSwitch({ state, timeZone }: LiveSwitchProps) {
  const { view, go } = useView()
  return (
    <p class="live">
      <input
        type="checkbox"
        role="switch"
        aria-checked={view.isLive}
        id="live"
        checked={view.isLive}
        onChange={event => go({ isLive: event.currentTarget.checked }, 'replace')}
      />
      <label for="live">Live</label>
      {view.isLive && <span class="hint">{describeState(state, timeZone)}</span>}
    </p>
  )
}
