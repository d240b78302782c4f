/** Reasons: the problems of a start, of a running service, and of its database, with their remedies. */
import { errors, reasonList } from './reason-list.ts'

/** An `error` makes requests or changes of records fail. A `warning` may lead to failures later. */
type Level = 'error' | 'warning'

/**
 * A problem and its remedy. Callers of `/readyz` can read both texts, so the texts contain no secret and no value of a
 * record.
 */
export interface Reason {
  code: ReasonCode
  level: Level
  message: string
  /** A statement of SQL comes after a colon, at the end of the text. */
  action: string
}

export type ReasonCode = keyof typeof reasonList

type NamesIn<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never

/** The names of the facts of a reason. */
type FactsOf<Code extends ReasonCode> = NamesIn<(typeof reasonList)[Code]>

/** The codes whose texts need no facts. */
type PlainCode = { [Code in ReasonCode]: [FactsOf<Code>] extends [never] ? Code : never }[ReasonCode]

/** Makes a reason of the list. @param facts the values for the names in its texts */
export function reason(code: PlainCode): Reason
export function reason<Code extends ReasonCode>(code: Code, facts: Record<FactsOf<Code>, string | number>): Reason
export function reason(code: ReasonCode, facts: Record<string, string | number> = {}): Reason {
  const fill = (text: string) => text.replace(/\{(\w+)\}/g, (_, name: string) => String(facts[name]))
  const [message = '', action = ''] = reasonList[code].split(/\n */).map(fill)
  return { code, level: code in errors ? 'error' : 'warning', message, action }
}

/** Returns the line for people: the code, the problem and the remedy. */
export const describeReason = ({ code, message, action }: Reason): string => `${code}: ${message} ${action}`

/** An error with reasons of the list, which ends the program or a connection. */
export class ReasonError extends Error {
  override readonly name: string = 'ReasonError'
  readonly reasons: readonly Reason[]

  constructor(reasons: Reason | readonly Reason[], options?: ErrorOptions) {
    const all = [reasons].flat()
    super(all.map(describeReason).join('\n'), options)
    this.reasons = all
  }
}
