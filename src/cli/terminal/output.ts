/** Prints the output of commands, as tables for people and as JSON for programs. */
import Table from 'cli-table3'
import { InvalidArgumentError, Option } from 'commander'
import { parseIdentifier } from '../../domain/value/identifier.ts'
import { toJsonLine } from '../../json-line.ts'

/** The option of every command whose result a program can read. */
export const jsonOption = () => new Option('--json', 'print JSON').default(false)

/**
 * Returns a parser for an option whose value is a whole number.
 *
 * @param message the message of the error for any other text, with an example
 */
export const readNumber = (pattern: RegExp, message: string) => (text: string) => {
  if (!pattern.test(text)) throw new InvalidArgumentError(message)
  return Number(text)
}

export const readSeconds = readNumber(/^\d{1,6}$/, 'It must be a whole number of seconds, for example 60.')

/** Reads the id of a record. @throws InvalidArgumentError */
export function readId(text: string): number {
  const id = parseIdentifier(text)
  if (id === null) throw new InvalidArgumentError('Give the id of a record, a whole number such as 7.')
  return id
}

/** Tables have no borders. Two spaces separate the columns, so that people and `awk` can read the tables. */
const plain = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '', 'bottom-left': '' },
  ...{ 'bottom-right': '', left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ' },
}

/** Prints rows as a table. The keys of the first row are the headings. */
export function printTable(rows: readonly Readonly<Record<string, string>>[]): void {
  const [first = {}] = rows
  const table = new Table({
    head: Object.keys(first).map(heading => heading.toUpperCase()),
    chars: plain,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  })
  table.push(...rows.map(row => Object.values(row)))
  const lines = table.toString().split('\n')
  console.log(lines.map(line => line.trimEnd()).join('\n'))
}

/** Prints the properties of one record as a table with one row per property. */
export const printFacts = (facts: Readonly<Record<string, string>>): void =>
  printTable(Object.entries(facts).map(([property, value]) => ({ property, value })))

/**
 * Prints a list: as JSON for a program, or as a table for a person.
 *
 * @param none the sentence for a person when the list is empty
 */
export function printList<Item>(
  json: boolean,
  items: readonly Item[],
  toJson: (item: Item) => object,
  toRow: (item: Item) => Readonly<Record<string, string>>,
  none: string,
): void {
  if (json) console.log(toJsonLine(items.map(toJson)))
  else if (items.length === 0) console.log(none)
  else printTable(items.map(toRow))
}

/** Returns a text without control characters and direction marks, which a terminal would execute. */
export const withoutControls = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')

/** Returns a number with its noun: `1 row`, `2 rows`. */
export const formatQuantity = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** Prints the result of a command: as JSON for a program, or as a sentence for a person. */
export function printResult(json: boolean, result: object, sentence: string): void {
  console.log(json ? toJsonLine(result) : sentence)
}

/** Prints which transactions hold a lock that the command tries to get. */
export const onBlocked = (holders: string) =>
  console.error(`Waiting for a lock that is held by ${holders}. Others go first meanwhile.`)
