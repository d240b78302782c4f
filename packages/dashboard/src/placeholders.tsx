// Placeholders for data that is loading, does not exist or could not be read.
import type { Answer } from './use-answer.ts'

/** Shows a sentence in place of missing data. */
export const Empty = ({ text }: { text: string }) => <p class="empty">{text}</p>

/** A sentence that replaces a plot without data. */
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

/** Shows why the value of a field is invalid. Shows nothing when `text` is null. */
export const FieldError = ({ id, text }: { id?: string; text: string | null }) =>
  text && (
    <p class="field-error" id={id} role="alert">
      {text}
    </p>
  )

/** Shows sentences that the viewer must read. Shows nothing for an empty list. */
export const Warning = ({ sentences }: { sentences: readonly string[] }) =>
  sentences.length > 0 && (
    <div class="warning" role="status">
      {sentences.map(sentence => (
        <p key={sentence}>{sentence}</p>
      ))}
    </div>
  )

interface FailureProps {
  answer: Pick<Answer<unknown, unknown>, 'error' | 'reload'>
  /** The part that could not be loaded, as the subject of a sentence. Without this text, only the error is shown. */
  what?: string
  /** The time, as text, of the older data that the page still shows. */
  shownOf?: string
}

/**
 * Says why data could not be loaded, with a button that requests it again. Shows nothing after a success, nor when the
 * token has ended, which the page itself reports. Temporarily unavailable data is shown as a status, not as a failure,
 * because `useAnswer` requests it again.
 */
export function Failure({ answer: { error, reload }, what, shownOf }: FailureProps) {
  if (error === null || error.kind === 'token') return null
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
      <button type="button" class="secondary small" onClick={reload}>
        Try again
      </button>
    </div>
  )
}
