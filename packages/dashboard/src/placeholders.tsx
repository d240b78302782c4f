// The placeholders for data that is loading, does not exist or could not be read.
import type { ApiError } from './api.ts'

/** Shows that there is no data. */
export const Empty = ({ text }: { text: string }) => <p class="empty">{text}</p>

/** Replaces a plot that would be empty. */
export const NothingToPlot = ({ title, text }: { title: string; text: string }) => (
  <figure class="plot-card card" aria-label={title}>
    <h2>{title}</h2>
    <Empty text={text} />
  </figure>
)

/** Reserves the space of content that is loading, so that the layout does not shift. */
export const Placeholder = ({ kind }: { kind: 'cards' | 'plot' | 'table' }) => (
  <div class={`placeholder ${kind}`} aria-hidden="true" />
)

interface FailureProps {
  error: ApiError
  /** The part that could not be loaded, as the subject of a sentence. Without it, only the error is shown. */
  what?: string
  /** The time of the data that is shown nevertheless, in words. */
  shownOf?: string
  retry: () => void
}

/**
 * Says why data could not be loaded, with a button that asks again. The frame of the page reports that the token has
 * ended. Data that is temporarily unavailable is not a failure: `useAnswer` asks for it again.
 */
export function Failure({ error, what, shownOf, retry }: FailureProps) {
  if (error.kind === 'token') return null
  const waits = error.kind === 'unavailable'
  return (
    <div class={`${shownOf || waits ? 'warning' : 'error-summary'} failure`} role={waits ? 'status' : 'alert'}>
      <p>
        {what && (shownOf || !waits) && (
          <strong>
            {what} {shownOf ? `are of ${shownOf}` : 'could not be loaded'}.{' '}
          </strong>
        )}
        {error.message}
        {waits && ' The dashboard tries again by itself.'}
      </p>
      <button type="button" class="secondary small" onClick={retry}>
        Try again
      </button>
    </div>
  )
}
