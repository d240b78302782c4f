/** The reasons of paused endpoints in words, for pages, commands and `doctor`. */
import type { PauseReason } from './endpoint.ts'

/** The reasons, each as the end of a sentence that begins with *is paused since …*. */
export const pauseReasons: Record<PauseReason, string> = {
  administrator: 'by an administrator',
  failing: 'after five days without a success',
  gone: 'because the receiver answered 410: it wants no more events',
}
