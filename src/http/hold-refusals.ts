/** The least and the most time for which a refusal is held, in milliseconds: callers do not all come back at once. */
const holdMs = { from: 250, to: 750 }

/** The most refusals that are held at a time. Each keeps a connection and some kilobytes. */
const maxHeld = 20_000

/**
 * Makes a function that holds a refusal before it is sent. A caller that repeats at once then costs two refusals a second
 * instead of hundreds, which would use up the processor.
 *
 * @returns a function that runs `send` after 250 to 750 ms, or at once when too many refusals are held
 */
export function createRefusalHold(): (send: () => void) => void {
  let held = 0
  return send => {
    if (held >= maxHeld) {
      send()
      return
    }
    held++
    setTimeout(
      () => {
        held--
        send()
      },
      holdMs.from + Math.floor(Math.random() * (holdMs.to - holdMs.from)),
    )
  }
}
