/**
 * The tests of faults have two forms: the long form measures on a machine without other work, the short form runs in
 * `.ci/run`.
 */

/** True for the short form. Other work slows this form down, so its limits are wider, and it compares no speeds. */
export const isShort = process.env.FAULTS === 'short'

/** The maximum time of a call, in milliseconds: the deadline of 4.8 s, and the delay of the timers in two processes. */
export const callLimit = isShort ? 8_000 : 5_000

/** The maximum time from the end of a fault until all calls succeed, in milliseconds. */
export const recoveryLimit = isShort ? 4_000 : 2_000
