/** The two forms of these tests: the long one measures on a machine without other work, the short one runs in `.ci/run`. */

/** True for the short form. Other work slows it down, so its limits are wider, and it compares no speeds. */
export const isShort = process.env.FAULTS === 'short'

/** The longest that a call may take: its deadline of 4.8 s, and the timers of two processes; in milliseconds. */
export const callLimit = isShort ? 8_000 : 5_000

/** The time after a fault until all calls succeed, in milliseconds. */
export const recoveryLimit = isShort ? 4_000 : 2_000
