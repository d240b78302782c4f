/**
 * Returns the name of an operation in a caller's document, for logs and traces, when it looks like a name and not like a
 * secret or a reference: at most 40 characters, of which at most two are digits, without the prefix of our secrets, which
 * are longer.
 */
export const safeName = (name: string | undefined): string | undefined =>
  name !== undefined && /^(?!.*vg[wr]_)(?!(?:\D*\d){3})[A-Za-z_]\w{0,39}$/.test(name) ? name : undefined
