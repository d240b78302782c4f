// The notices of the session: the remaining rate limit, and the errors of fields that the token may not read.
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Listener, Rate } from './api.ts'
import { formatCount } from './format.ts'
import { DashboardTenantPath } from './operations.ts'
import { Warning } from './placeholders.tsx'

type SessionListener = Omit<Listener, 'onEnd'>

/** Returns the current notices of a session, and the listener that receives the reports of its requests. */
export function useNotices(): { notices: ComponentChildren; rateLeft: ComponentChildren; listener: SessionListener } {
  const [rate, setRate] = useState<Rate | null>(null)
  const [waitsUntil, setWaitsUntil] = useState<number | null>(null)
  const [fieldErrors, setFieldErrors] = useState<Record<string, readonly string[]>>({})
  const listener = useMemo(
    () => ({
      onWait: setWaitsUntil,
      onRate: setRate,
      onFieldErrors: (name: string, messages: readonly string[]) => {
        // The overview itself reports a missing tenant, so no second notice is needed.
        if (name === DashboardTenantPath.name) return
        setFieldErrors(before => (before[name]?.length || messages.length ? { ...before, [name]: messages } : before))
      },
    }),
    [],
  )
  const messages = [...new Set(Object.values(fieldErrors).flat())]
  const notices = (
    <>
      {waitsUntil !== null && <Waiting until={waitsUntil} />}
      <Warning sentences={messages} />
    </>
  )
  return { notices, rateLeft: rate && <RateLeft rate={rate} />, listener }
}

const RateLeft = ({ rate: { cost, limit, remaining } }: { rate: Rate }) => (
  <footer class="rate hint">
    {cost !== null && `The last answer counted as ${cost === 1 ? 'one operation' : `${cost} operations`}; `}
    {formatCount(remaining)} of {formatCount(limit)} operations of this minute are left.
  </footer>
)

/** Shows the seconds until the next request. Screen readers read only the first part, once and not each second. */
function Waiting({ until }: { until: number }) {
  const left = () => Math.max(0, Math.ceil((until - Date.now()) / 1000))
  const [seconds, setSeconds] = useState(left)
  useEffect(() => {
    setSeconds(left())
    const timer = setInterval(() => setSeconds(left()), 1000)
    return () => clearInterval(timer)
  }, [until])
  return (
    <p class="warning">
      <span role="status">The rate of this token is used up. The dashboard waits, and goes on by itself</span>
      <span aria-hidden="true"> in {seconds} s</span>.
    </p>
  )
}
